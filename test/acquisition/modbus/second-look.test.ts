import { describe, expect, test } from "vitest";

import { emptyMemory } from "../../../src/acquisition/modbus/driver.ts";
import { readGroup, values } from "../driver-calls.ts";
import { modbusBed } from "./modbus-bed.ts";
import { point, profileOf } from "../../support/profiles.ts";

const bed = modbusBed();

/** A counter in registers 0 and 1, high word first, and a plain register. */
const POINTS = [point({ type: "uint32" }), point({ address: 2 })];
const made = profileOf(POINTS);
const profile = {
  ...made,
  tags: made.tags.map((tag, i) =>
    i === 0 ? { ...tag, counter: { step: 1, modulus: 2 ** 32, max_rate_per_h: 3600, retained: true } } : tag,
  ),
};

describe("a 32-bit counter whose low half overflows", () => {
  test("is read a second time in the same poll after a torn read, and has no value if the two reads differ", async () => {
    const { driverFor, plc } = bed();
    const words = [0, 0xffff, 7];
    plc.memory = (_, address) => words[address] ?? 0;
    const driver = await driverFor(POINTS, { profile });
    expect(values(await readGroup(driver, "g"))).toEqual([65_535, 7]);
    words.splice(0, 3, 1, 0, 8);
    let asked = 0;
    plc.script = () => {
      if (++asked === 1) words[1] = 0;
      return undefined;
    };
    words[1] = 0xffff;
    const samples = await readGroup(driver, "g");
    expect(asked).toBe(2);
    expect(samples[0]).toMatchObject({ value: null, quality: "bad", reason: "torn" });
    expect(samples[1]?.value).toBe(8);
    expect(values(await readGroup(driver, "g"))).toEqual([65_536, 8]);
    expect(asked).toBe(3);
  });

  test("is read a second time after a fall, even on a new connection, and accepted if both reads agree", async () => {
    const { driverFor, plc } = bed();
    const memory = emptyMemory();
    let count = 65_535;
    plc.memory = (_, address) => (address === 0 ? count >>> 16 : count & 0xffff);
    await readGroup(await driverFor(POINTS, { profile, memory }), "g");
    count = 3;
    plc.requests.length = 0;
    const next = await driverFor(POINTS, { profile, memory });
    expect(values(await readGroup(next, "g"))[0]).toBe(3);
    expect(plc.requests.length).toBe(2);
    await readGroup(next, "g");
    expect(plc.requests.length).toBe(3);
  });
});

test("a block whose registers suddenly all read zero has no values for two polls, and then the value zero", async () => {
  const { driverFor, plc } = bed();
  const points = Array.from({ length: 10 }, (_, address) => point({ address }));
  const driver = await driverFor(points);
  plc.memory = (_, address) => address + 1;
  await readGroup(driver, "g");
  plc.memory = () => 0;
  for (let i = 0; i < 2; i++) {
    const samples = await readGroup(driver, "g");
    expect(samples.every(({ value, reason }) => value === null && reason === "all_zero")).toBe(true);
  }
  expect(values(await readGroup(driver, "g"))).toEqual(points.map(() => 0));
});
