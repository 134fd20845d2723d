import { describe, expect, it, test } from "vitest";

import {
  type DeviceMemory,
  emptyMemory,
  HOLE_TTL_MS,
  holeKeepers,
  holesNow,
  keptHoles,
  modbusLinks,
  NO_HOLES,
  restoredHoles,
} from "../../../src/acquisition/modbus/driver.ts";
import type { ModbusProfile } from "../../../src/domain/profile.ts";
import { HOUR_MS } from "../../../src/domain/time.ts";
import { openIdentity } from "../../../src/store/identity/identity.ts";
import { inlineIdentity } from "../../../simulators/virtual/store.ts";
import { silentLog } from "../../support/silent-log.ts";
import { temporaryFolder } from "../../support/temporary.ts";
import { pattern } from "./fake-modbus.ts";
import { never, readGroup, values } from "../driver-calls.ts";
import { modbusBed, registers } from "./modbus-bed.ts";
import { point, profileOf } from "../../support/profiles.ts";

const bed = modbusBed();

/** Two tags on each side of address 2, which is a hole. */
const POINTS = [...registers(2), ...registers(2, 3)];
const RIGHT = POINTS.map(({ address }) => pattern(3, address));
const HOLE = { holding: [[2, 2]] };
const FIRMWARE_AT = 10;

/** Returns a clock that only the test moves. */
function handMono(): { now: number; readonly mono: () => number } {
  const clock = { now: 5000, mono: () => clock.now };
  return clock;
}

/** Adds a tag for the firmware version. */
function withFirmware() {
  const profile = profileOf([...POINTS, point({ address: FIRMWARE_AT })]);
  const tags = profile.tags.map((tag) =>
    tag.point.address === FIRMWARE_AT ? { ...tag, role: "firmware_version" as const } : tag,
  );
  return { ...profile, tags };
}

/** Starts a device whose register 2 is a hole and whose firmware version is a number. */
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

test("the driver skips a learned hole (rejected address) for 24 h, then tries the whole block and learns the hole again", async () => {
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

test("the driver forgets a hole (rejected address) after 24 h if the device accepts that address by then", async () => {
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

test("the driver uses learned holes (rejected addresses) only with the firmware version that rejected them", async () => {
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

test("the driver remembers the holes (rejected addresses) of at most four firmware versions", async () => {
  const { state, requests } = firmwareBed();
  const memory = emptyMemory();
  for (state.firmware = 1; state.firmware < 20; state.firmware++) await requests(memory);
  expect(new Set(memory.holes.ranges.map((range) => range.firmware)).size).toBeLessThanOrEqual(4);
});

const WALL = Date.UTC(2026, 2, 2);

/** Runs an agent several times with the same data folder, each time in a boot of its own. */
function gateway(profile: ModbusProfile) {
  const { plc } = bed();
  plc.holes = (_, address) => address === 2;
  const folder = temporaryFolder();
  const life = async (now: { readonly mono: number; readonly wall: number }): Promise<number> => {
    const file = openIdentity(folder, () => "11111111-1111-4111-8111-111111111111");
    const keeperOf = await holeKeepers({ identity: inlineIdentity(file), log: silentLog }, [{ config: { id: "b" } }]);
    const { makeDriver } = modbusLinks(() => now)({ host: "127.0.0.1", port: plc.port }, profile, keeperOf("b"));
    const driver = makeDriver();
    await driver.open(never);
    plc.requests.length = 0;
    expect(values(await readGroup(driver, "g"))).toEqual(RIGHT);
    await driver.close();
    file.close();
    return plc.requests.length;
  };
  return { life };
}

describe("a learned hole (rejected address)", () => {
  it("is skipped for 24 h, even after a restart of the agent or the machine", async () => {
    const profile = profileOf(POINTS);
    const { life } = gateway(profile);
    const first = await life({ mono: 5 * HOUR_MS, wall: WALL });
    const later = await life({ mono: 1000, wall: WALL + HOUR_MS });
    expect({ first, later }).toEqual({ first: 3, later: 2 });
    expect(await life({ mono: 1000, wall: WALL + HOLE_TTL_MS - 1 })).toBe(2);
    // The block is tried as a whole once, and the hole is learned again.
    expect(await life({ mono: 1000, wall: WALL + HOLE_TTL_MS })).toBe(3);
    expect(await life({ mono: 1000, wall: WALL + HOLE_TTL_MS + HOUR_MS })).toBe(2);
  });
});

describe("stored holes (rejected addresses)", () => {
  const memory = restoredHoles(
    {
      version: 1,
      device: "here",
      firmware: "2",
      ranges: [
        { firmware: "1", table: "holding", first: 5, last: 4, learned_at: WALL },
        { firmware: "2", table: "coil", first: 7, last: 9, learned_at: WALL - HOUR_MS },
      ],
    },
    "here",
    { mono: 100, wall: WALL },
  );

  it("are restored with their firmware version and their age", () => {
    expect(holesNow(memory)).toEqual({ coil: [[7, 9]] });
    const kept = keptHoles(memory, "here", { mono: 200, wall: WALL + 100 });
    expect(kept.ranges.map(({ learned_at }) => learned_at)).toEqual([WALL, WALL - HOUR_MS]);
    expect(restoredHoles(JSON.parse(JSON.stringify(kept)), "here", { mono: 100, wall: WALL })).toEqual(memory);
  });

  it("are ignored if they belong to another device or are damaged", () => {
    const kept = keptHoles(memory, "here", { mono: 0, wall: WALL });
    expect(restoredHoles(kept, "there", { mono: 0, wall: WALL })).toBe(NO_HOLES);
    const odd = [undefined, null, 7, "x", [], {}, { ...kept, version: 2 }, { ...kept, ranges: 3 }];
    for (const value of odd) expect(restoredHoles(value, "here", { mono: 0, wall: WALL })).toBe(NO_HOLES);
    const ranges = [{ firmware: "2", table: "desk", first: 1, last: 2, learned_at: 0 }, null, { table: "coil" }];
    expect(holesNow(restoredHoles({ ...kept, ranges }, "here", { mono: 0, wall: WALL }))).toEqual({});
  });

  it("count from the present time if their stored time is in the future", () => {
    const kept = keptHoles(memory, "here", { mono: 100, wall: WALL });
    const restored = restoredHoles(kept, "here", { mono: 50, wall: 0 });
    expect(keptHoles(restored, "here", { mono: 50, wall: 0 }).ranges.map(({ learned_at }) => learned_at)).toEqual([
      0, 0,
    ]);
  });
});
