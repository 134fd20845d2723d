import { afterEach, describe, expect, test } from "vitest";
import { setTimeout as delay } from "node:timers/promises";

import { startModbusServer } from "../../../simulators/plc/modbus-server.ts";
import { goodManners } from "../../../simulators/plc/manners.ts";
import type { Device } from "../../../simulators/plc/modbus-frames.ts";
import { startRtuTcp } from "../../../simulators/plc/rtu-server.ts";
import { modbusLinks } from "../../../src/acquisition/modbus/driver.ts";
import type { Driver } from "../../../src/acquisition/port.ts";
import { failure, never, readGroup, values } from "../driver-calls.ts";
import { registers } from "./modbus-bed.ts";
import { profileOf } from "../../support/profiles.ts";

/** Several units on one connection. */

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** Makes a unit whose register a holds 100 x id + a. */
function unit(id: number): Device {
  return {
    image: { read: ({ address, count }) => Array.from({ length: count }, (_, i) => 100 * id + address + i) },
    max_registers: 125,
    max_bits: 2000,
    manners: goodManners(),
    answered_at: -Infinity,
  };
}

const time = {
  now: () => performance.now(),
  sleep: (ms: number, signal?: AbortSignal) => delay(ms, undefined, signal ? { signal } : {}),
};

async function served(framing: "tcp" | "rtu", units: ReadonlyMap<number, Device>) {
  const deviceOf = (id: number): Device | null => units.get(id) ?? null;
  const server =
    framing === "rtu"
      ? await startRtuTcp({ ...time, deviceOf }, 0)
      : await startModbusServer({ ...time, deviceOf, device: unit(0), link: () => "up" }, 0);
  ends.push(() => server.close());
  const wayTo = modbusLinks(() => ({ mono: performance.now(), wall: Date.now() }));
  const wholeWay = (unit_id: number, answer_timeout_ms = 3000) => {
    const address = { host: "127.0.0.1", port: server.port, framing };
    return wayTo({ ...address, unit_id, answer_timeout_ms }, profileOf(registers(3)));
  };
  const way = (unit_id: number, answer_timeout_ms?: number): (() => Driver) => {
    const { makeDriver } = wholeWay(unit_id, answer_timeout_ms);
    return () => {
      const driver = makeDriver();
      ends.push(() => driver.close());
      return driver;
    };
  };
  return { server, way, askOver: wholeWay(1).shared.ask };
}

/** A request for two holding registers from 0 on. */
const READ = Uint8Array.of(3, 0, 0, 0, 2);

const expected = (id: number): readonly number[] => [0, 1, 2].map((address) => 100 * id + address);

describe.each(["tcp", "rtu"] as const)("booths that share one connection (%s)", (framing) => {
  const units = new Map([1, 2, 3].map((id) => [id, unit(id)]));

  test("each read their own unit over that connection", async () => {
    const { server, way } = await served(framing, units);
    const drivers = [1, 2, 3].map((id) => way(id)());
    for (const driver of drivers) await driver.open(never);
    for (let round = 0; round < 20; round++) {
      for (const [i, driver] of drivers.entries())
        expect(values(await readGroup(driver, "g"))).toEqual(expected(i + 1));
    }
    expect(server.counts.connections).toBe(1);
  });

  test("keep the connection open if one booth closes its driver", async () => {
    const { server, way } = await served(framing, units);
    const first = way(1)();
    const second = way(2)();
    for (const driver of [first, second]) await driver.open(never);
    await readGroup(first, "g");
    await first.close();
    expect(values(await readGroup(second, "g"))).toEqual(expected(2));
    expect(server.counts.connections).toBe(1);
  });

  test("let a diagnostic tool read between polls, but not write", async () => {
    const { server, way, askOver } = await served(framing, units);
    const driver = way(2)();
    await driver.open(never);
    for (let round = 0; round < 10; round++) {
      expect([...(await askOver({ unit: 3, pdu: READ }, 3_000))]).toEqual([
        3,
        4,
        300 >> 8,
        300 & 0xff,
        301 >> 8,
        301 & 0xff,
      ]);
      expect(values(await readGroup(driver, "g"))).toEqual(expected(2));
    }
    const write = Uint8Array.of(6, 0, 0, 0, 1);
    expect((await failure(askOver({ unit: 2, pdu: write }, 3_000))).kind).toBe("config");
    expect(values(await readGroup(driver, "g"))).toEqual(expected(2));
    expect(server.counts).toMatchObject({ connections: 1, writes: 0 });
  });

  test("reopen the connection after a diagnostic tool's read gets no answer", async () => {
    const { server, way, askOver } = await served(framing, units);
    const open = way(1);
    const driver = open();
    await driver.open(never);
    expect((await failure(askOver({ unit: 9, pdu: READ }, 100))).kind).toBe("timeout");
    expect((await failure(readGroup(driver, "g"))).kind).toBe("closed");
    await driver.close();
    const again = open();
    await again.open(never);
    expect(values(await readGroup(again, "g"))).toEqual(expected(1));
    expect(server.counts.connections).toBe(2);
  });

  test("reopen the connection after a silent unit ended the connection", async () => {
    const { server, way } = await served(framing, units);
    const open = way(1);
    const dead = way(9, 100);
    const living = open();
    const silent = dead();
    for (const driver of [living, silent]) await driver.open(never);
    expect(values(await readGroup(living, "g"))).toEqual(expected(1));
    expect((await failure(readGroup(silent, "g"))).kind).toBe("timeout");
    expect((await failure(readGroup(living, "g"))).kind).toBe("closed");
    await living.close();
    const again = open();
    await again.open(never);
    expect(values(await readGroup(again, "g"))).toEqual(expected(1));
    expect(server.counts.connections).toBe(2);
  });
});

test("a poll over RTU never takes a late answer to a diagnostic tool's request for its own answer", async () => {
  const units = new Map([1, 2].map((id) => [id, unit(id)]));
  const { way, askOver } = await served("rtu", units);
  const slow = units.get(1);
  if (slow === undefined) throw new Error("no unit 1");
  for (let round = 0; round < 2; round++) {
    slow.manners.delay_ms = 300;
    expect((await failure(askOver({ unit: 1, pdu: READ }, 100))).kind).toBe("timeout");
    expect((await failure(askOver({ unit: 1, pdu: READ }, 100))).kind).toBe("busy");
    slow.manners.delay_ms = 0;
    for (const id of [2, 1]) {
      const driver = way(id)();
      await driver.open(never);
      expect(values(await readGroup(driver, "g"))).toEqual(expected(id));
      await driver.close();
    }
  }
});
