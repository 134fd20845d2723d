import { describe, expect, test } from "vitest";

import type { ModbusPoint } from "../../../src/domain/profile.ts";
import type { GroupSamples } from "../../../src/acquisition/port.ts";
import { emptyMemory, holesNow } from "../../../src/acquisition/modbus/driver.ts";
import type { LinkError } from "../../../src/domain/link-error.ts";
import { exception, pattern } from "./fake-modbus.ts";
import { ANSWER_MS, failure, readGroup, values } from "../driver-calls.ts";
import { modbusBed, registers } from "./modbus-bed.ts";
import { point, profileOf } from "../../support/profiles.ts";

const bed = modbusBed();

describe("the Modbus driver", () => {
  test("returns a good sample for every tag of the group in the profile's order, from all four tables", async () => {
    const { driverFor, plc } = bed();
    const points = [
      point({ address: 9 }),
      point({ table: "coil", address: 17, type: "bool" }),
      point({ table: "input", address: 3, type: "uint32" }),
      point({ table: "discrete", address: 2, type: "bool" }),
      point({ address: 2, type: "bool", bit: 3 }),
      point({ table: "coil", address: 0, type: "bool" }),
    ];
    const driver = await driverFor(points);
    const samples = await readGroup(driver, "g");
    expect(samples.map(({ tag }) => tag)).toEqual(["t0", "t1", "t2", "t3", "t4", "t5"]);
    expect(samples.every(({ quality }) => quality === "good")).toBe(true);
    expect(values(samples)).toEqual([
      pattern(3, 9),
      pattern(1, 17) === 1,
      pattern(4, 3) * 65_536 + pattern(4, 4),
      pattern(2, 2) === 1,
      ((pattern(3, 2) >> 3) & 1) === 1,
      pattern(1, 0) === 1,
    ]);
    expect(plc.requests.length).toBe(4);
  });

  test("sends no request if no group is to be read", async () => {
    const { driverFor, plc } = bed();
    const driver = await driverFor(registers(2));
    expect(await driver.read([])).toEqual(new Map());
    expect(plc.requests).toEqual([]);
  });

  test("accepts an answer that arrives byte by byte", async () => {
    const { driverFor, plc } = bed();
    plc.script = (_, usual, socket) => {
      socket.setNoDelay(true);
      return Array.from(usual, (byte) => Buffer.from([byte]));
    };
    const driver = await driverFor(registers(125));
    expect(values(await readGroup(driver, "g"))).toEqual(registers(125).map(({ address }) => pattern(3, address)));
  });

  test("rejects the next read with the reason closed after the device closed the idle connection", async () => {
    const { driverFor, plc } = bed();
    const driver = await driverFor(registers(1));
    await readGroup(driver, "g");
    plc.closeClients();
    let error: LinkError | null = null;
    const deadline = performance.now() + ANSWER_MS;
    while (error === null && performance.now() < deadline) {
      error = await readGroup(driver, "g").then(
        () => null,
        (reason: unknown) => reason as LinkError,
      );
    }
    expect(error?.kind).toBe("closed");
  });
});

describe("the Modbus driver with a device that rejects reads", () => {
  const COUNT = 9;
  for (let bad = 0; bad < COUNT; bad++) {
    test(`learns a hole (rejected address) at position ${bad} of a block, and loses only that tag's value`, async () => {
      const { driverFor, plc } = bed();
      plc.holes = (_, address) => address === bad;
      const memory = emptyMemory();
      const driver = await driverFor(registers(COUNT), { memory });
      const expected = registers(COUNT).map(({ address }) => (address === bad ? null : pattern(3, address)));
      const first = await readGroup(driver, "g");
      expect(values(first)).toEqual(expected);
      expect(first[bad]).toEqual({ tag: `t${bad}`, value: null, quality: "bad", reason: "exception_2" });
      expect(holesNow(memory.holes)).toEqual({ holding: [[bad, bad]] });
      plc.requests.length = 0;
      const second = await readGroup(driver, "g");
      expect(values(second)).toEqual(expected);
      expect(second[bad]?.reason).toBe("hole");
      expect(plc.requests.length).toBe(bad === 0 || bad === COUNT - 1 ? 1 : 2);
    });
  }

  test("learns a hole (rejected address) between tags and keeps it for the next driver", async () => {
    const { driverFor, plc } = bed();
    plc.holes = (_, address) => address === 5;
    const points = [...registers(5), ...registers(5, 6)];
    const memory = emptyMemory();
    const driver = await driverFor(points, { memory });
    expect(values(await readGroup(driver, "g"))).toEqual(points.map(({ address }) => pattern(3, address)));
    expect(holesNow(memory.holes)).toEqual({ holding: [[5, 5]] });
    plc.requests.length = 0;
    const next = await driverFor(points, { memory });
    expect(values(await readGroup(next, "g"))).toEqual(points.map(({ address }) => pattern(3, address)));
    expect(plc.requests.length).toBe(2);
  });

  test("learns the limit of a device that accepts at most 32 registers per request", async () => {
    const { driverFor, plc } = bed();
    plc.script = (request) => (request.count > 32 ? [exception(request, 3)] : undefined);
    const driver = await driverFor(registers(100));
    const expected = registers(100).map(({ address }) => pattern(3, address));
    for (let i = 0; i < 4; i++) expect(values(await readGroup(driver, "g"))).toEqual(expected);
    plc.requests.length = 0;
    await readGroup(driver, "g");
    expect(plc.requests.length).toBe(4);
  });

  test("reads a rejected tag again after the PLC accepts it", async () => {
    const { driverFor, plc } = bed();
    let lacking = true;
    plc.holes = (_, address) => lacking && address === 1;
    const memory = emptyMemory();
    const driver = await driverFor(registers(3), { memory });
    await readGroup(driver, "g");
    lacking = false;
    let reads = 0;
    while ((await readGroup(driver, "g"))[1]?.value === null && reads < 100) reads++;
    expect(reads).toBeLessThan(30);
    expect(holesNow(memory.holes)).toEqual({});
    plc.requests.length = 0;
    await readGroup(driver, "g");
    expect(plc.requests.length).toBe(1);
  });

  describe("in a read of several groups", () => {
    /** Registers of two groups in alternation, three of each. */
    const both = profileOf(registers(6));
    const mixed = {
      ...both,
      groups: { fast: { poll_interval_ms: 1_000 }, slow: { poll_interval_ms: 10_000 } },
      tags: both.tags.map((tag, i) => ({ ...tag, group: i % 2 === 0 ? "fast" : "slow" })),
    };
    const shown = (read: GroupSamples) =>
      [...read].map(([group, samples]) => [group, ...samples.map(({ tag, value, reason }) => [tag, value ?? reason])]);
    const right = (at: number): readonly [string, unknown] => [`t${at}`, pattern(3, at)];

    test("uses common requests, and returns each group's own samples", async () => {
      const { driverFor, plc } = bed();
      const driver = await driverFor([], { profile: mixed });
      const read = await driver.read(["fast", "slow"]);
      expect(plc.requests.length).toBe(1);
      expect(shown(read)).toEqual([
        ["fast", right(0), right(2), right(4)],
        ["slow", right(1), right(3), right(5)],
      ]);
      expect(shown(await driver.read(["slow"]))).toEqual([["slow", right(1), right(3), right(5)]]);
      expect((await failure(driver.read(["fast", "nope"]))).kind).toBe("config");
    });

    test("retries rejected tags after 20 reads of their group, and keeps requesting a group whose tags were all rejected", async () => {
      const { driverFor, plc } = bed();
      let lacking = true;
      plc.holes = (_, address) => lacking && address % 2 === 1;
      const driver = await driverFor([], { profile: mixed });
      const first = await driver.read(["fast", "slow"]);
      expect(first.get("fast")?.every(({ quality }) => quality === "good")).toBe(true);
      expect(first.get("slow")?.every(({ quality }) => quality === "bad")).toBe(true);
      plc.requests.length = 0;
      expect(shown(await driver.read(["slow"]))).toEqual([
        ["slow", ["t1", "exception_2"], ["t3", "hole"], ["t5", "hole"]],
      ]);
      expect(plc.requests.length).toBe(1);
      lacking = false;
      // 19 reads of the slow group after its first. Reads of the other group don't count.
      for (let i = 0; i < 50; i++) await driver.read(["fast"]);
      for (let i = 0; i < 18; i++) await driver.read(["slow"]);
      expect(shown(await driver.read(["slow"]))).toEqual([["slow", right(1), right(3), right(5)]]);
    });

    test("fails if the device is unreachable, even if the group has only rejected tags", async () => {
      const { driverFor, plc } = bed();
      plc.holes = (_, address) => address % 2 === 1;
      const driver = await driverFor([], { profile: mixed });
      await driver.read(["fast", "slow"]);
      await plc.stop();
      expect((await failure(driver.read(["slow"]))).kind).toMatch(/closed|reset|refused/);
    });
  });

  test("returns bad samples if the device rejects every register, and then sends one request per poll", async () => {
    const { driverFor, plc } = bed();
    plc.holes = () => true;
    const memory = emptyMemory();
    const driver = await driverFor(registers(60), { memory });
    const samples = await readGroup(driver, "g");
    expect(samples.every(({ quality, reason }) => quality === "bad" && reason === "exception_2")).toBe(true);
    expect(holesNow(memory.holes)).toEqual({});
    plc.requests.length = 0;
    await readGroup(driver, "g");
    expect(plc.requests.length).toBe(1);
    plc.holes = () => false;
    expect(values(await readGroup(driver, "g"))).toEqual(registers(60).map(({ address }) => pattern(3, address)));
  });

  for (const [code, kind] of [
    [6, "busy"],
    [10, "path"],
    [11, "path"],
  ] as const) {
    test(`rejects the whole read as ${kind} after exception ${code}`, async () => {
      const { driverFor, plc } = bed();
      plc.script = (request) => [exception(request, code)];
      const driver = await driverFor(registers(2));
      expect((await failure(readGroup(driver, "g"))).kind).toBe(kind);
    });
  }

  test("returns bad samples only for the block that is answered with exception 4", async () => {
    const { driverFor, plc } = bed();
    const points = [...registers(2), ...registers(2, 9000)];
    plc.script = (request) => (request.address === 9000 ? [exception(request, 4)] : undefined);
    const driver = await driverFor(points);
    const samples = await readGroup(driver, "g");
    expect(values(samples)).toEqual([pattern(3, 0), pattern(3, 1), null, null]);
    expect(samples[3]?.reason).toBe("exception_4");
    expect(values(await readGroup(driver, "g"))).toEqual(values(samples));
  });

  test("returns bad samples for all bits of a rejected register", async () => {
    const { driverFor, plc } = bed();
    plc.holes = (_, address) => address === 1;
    const bit = (address: number, n: number): ModbusPoint => point({ address, type: "bool", bit: n });
    const points = [bit(0, 0), bit(1, 0), bit(1, 1), bit(2, 5)];
    const driver = await driverFor(points);
    expect((await readGroup(driver, "g")).map(({ quality }) => quality)).toEqual(["good", "bad", "bad", "good"]);
  });
});
