import { expect, test } from "vitest";

import { type DeviceMemory, emptyMemory, HOLE_TTL_MS, holesNow } from "../../../src/acquisition/modbus/driver.ts";
import { pattern } from "./fake-modbus.ts";
import { readGroup, values } from "../driver-calls.ts";
import { modbusBed, registers } from "./modbus-bed.ts";
import { point, profileOf } from "../../support/profiles.ts";

const bed = modbusBed();

/** Two tags on each side of address 2, which is a hole. */
const POINTS = [...registers(2), ...registers(2, 3)];
const RIGHT = POINTS.map(({ address }) => pattern(3, address));
const HOLE = { holding: [[2, 2]] };
const FIRMWARE_AT = 10;

/** A clock that only the test moves. */
function handMono(): { now: number; readonly mono: () => number } {
  const clock = { now: 5000, mono: () => clock.now };
  return clock;
}

/** The same with a tag for the firmware version. */
function withFirmware() {
  const profile = profileOf([...POINTS, point({ address: FIRMWARE_AT })]);
  const tags = profile.tags.map((tag) =>
    tag.point.address === FIRMWARE_AT ? { ...tag, role: "firmware_version" as const } : tag,
  );
  return { ...profile, tags };
}

/** A device whose register 2 is a hole, and whose firmware version is a number. */
function firmwareBed() {
  const { driverFor, plc } = bed();
  const state = { firmware: 1, hole: true };
  plc.holes = (_, address) => state.hole && address === 2;
  plc.memory = (code, address) => (address === FIRMWARE_AT ? state.firmware : pattern(code, address));
  const profile = withFirmware();
  const requests = async (memory: DeviceMemory): Promise<number> => {
    const driver = await driverFor(POINTS, { memory, profile });
    plc.requests.length = 0;
    expect(values(await readGroup(driver, "g")).slice(0, 4)).toEqual(RIGHT);
    await driver.close();
    return plc.requests.length;
  };
  return { state, requests };
}

test("a hole is believed for 24 h; then its block is tried as a whole once, and the hole is learned again if that fails", async () => {
  const { driverFor, plc } = bed();
  plc.holes = (_, address) => address === 2;
  const clock = handMono();
  const memory = emptyMemory();
  const driver = await driverFor(POINTS, { memory, mono: clock.mono });
  const requestsOfPoll = async (): Promise<number> => {
    plc.requests.length = 0;
    expect(values(await readGroup(driver, "g"))).toEqual(RIGHT);
    return plc.requests.length;
  };
  expect(await requestsOfPoll()).toBe(3);
  clock.now += HOLE_TTL_MS - 1;
  expect(await requestsOfPoll()).toBe(2);
  clock.now += 1;
  expect(await requestsOfPoll()).toBe(3);
  expect(await requestsOfPoll()).toBe(2);
  clock.now += HOLE_TTL_MS - 1;
  expect(await requestsOfPoll()).toBe(2);
});

test("a hole that no longer exists is forgotten after 24 h, and the block takes one request from then on", async () => {
  const { driverFor, plc } = bed();
  plc.holes = (_, address) => address === 2;
  const clock = handMono();
  const memory = emptyMemory();
  const driver = await driverFor(POINTS, { memory, mono: clock.mono });
  await readGroup(driver, "g");
  expect(holesNow(memory.holes)).toEqual(HOLE);
  plc.holes = () => false;
  clock.now += HOLE_TTL_MS;
  for (let poll = 0; poll < 2; poll++) {
    plc.requests.length = 0;
    expect(values(await readGroup(driver, "g"))).toEqual(RIGHT);
    expect(plc.requests.length).toBe(1);
  }
  expect(holesNow(memory.holes)).toEqual({});
});

test("the time for which a hole is believed is an option", async () => {
  const { driverFor, plc } = bed();
  plc.holes = (_, address) => address === 2;
  const clock = handMono();
  const driver = await driverFor(POINTS, { mono: clock.mono, hole_ttl_ms: 1000 });
  await readGroup(driver, "g");
  clock.now += 1000;
  plc.requests.length = 0;
  expect(values(await readGroup(driver, "g"))).toEqual(RIGHT);
  expect(plc.requests.length).toBe(3);
});

test("holes of one firmware version don't apply to another, and apply again when the first version is back", async () => {
  const { state, requests } = firmwareBed();
  const memory = emptyMemory();
  expect(await requests(memory)).toBe(5); // learned before the version was read, so it belongs to this version
  expect(memory.holes.firmware).toBe("1");
  expect(await requests(memory)).toBe(2);
  state.firmware = 2;
  state.hole = false;
  expect(await requests(memory)).toBe(2); // read by the old plan, whose answer shows the version
  expect(holesNow(memory.holes)).toEqual({});
  expect(await requests(memory)).toBe(1);
  state.firmware = 1;
  expect(await requests(memory)).toBe(1);
  expect(holesNow(memory.holes)).toEqual(HOLE);
  state.hole = true;
  expect(await requests(memory)).toBe(2);
});

test("two devices with the same profile have separate memories", async () => {
  const { state, requests } = firmwareBed();
  const one = emptyMemory();
  const other = emptyMemory();
  await requests(one);
  state.hole = false;
  expect(await requests(other)).toBe(1);
  expect(holesNow(one.holes)).toEqual(HOLE);
  expect(holesNow(other.holes)).toEqual({});
});

test("a firmware text that changes all the time costs no memory", async () => {
  const { state, requests } = firmwareBed();
  const memory = emptyMemory();
  for (state.firmware = 1; state.firmware < 20; state.firmware++) await requests(memory);
  expect(new Set(memory.holes.ranges.map((range) => range.firmware)).size).toBeLessThanOrEqual(4);
});
