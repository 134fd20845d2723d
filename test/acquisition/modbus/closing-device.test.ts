import { describe, expect, onTestFinished, test, vi } from "vitest";

import { emptyMemory, modbusDriver } from "../../../src/acquisition/modbus/driver.ts";
import { modbusExchange } from "../../../src/acquisition/modbus/tool-line.ts";
import { modbusLine } from "../../../src/acquisition/modbus/wire.ts";
import type { Driver } from "../../../src/acquisition/port.ts";
import { point, profileOf } from "../../support/profiles.ts";
import { ANSWER_MS, failure, never, readGroup, values } from "../driver-calls.ts";
import { type FakeModbus, pattern } from "./fake-modbus.ts";
import { runLink } from "./link-run.ts";
import { systemClock } from "./lossy-bed.ts";
import { modbusBed } from "./modbus-bed.ts";

const bed = modbusBed();

/** Three blocks that are too far apart for a single request. */
const POINTS = [0, 1000, 2000].map((address) => point({ address }));
const RIGHT = POINTS.map(({ address }) => pattern(3, address));
const TIMES = { connect_ms: ANSWER_MS, answer_ms: ANSWER_MS };

/** Closes each connection, in order or with a reset, after this many answers. */
function closeAfter(plc: FakeModbus, answers: number, how: "close" | "reset" = "close"): void {
  const counts = new WeakMap<object, number>();
  plc.script = (_request, usual, socket) => {
    const count = (counts.get(socket) ?? 0) + 1;
    counts.set(socket, count);
    if (count < answers) return undefined;
    socket.write(usual, () => (how === "close" ? socket.end() : setImmediate(() => socket.resetAndDestroy())));
    return "silence";
  };
}

async function polls(driver: Driver, count: number): Promise<readonly unknown[]> {
  const read: unknown[] = [];
  for (let i = 0; i < count; i++) read.push(values(await readGroup(driver, "g")));
  return read;
}

const times = (count: number): readonly unknown[] => Array.from({ length: count }, () => RIGHT);

describe("a device that closes the connection after a complete answer", () => {
  test.each([1, 2, 3])(
    "loses no value, even in the first poll, if the device closes the connection after %i answers",
    async (answers) => {
      const { plc, driverFor } = bed();
      closeAfter(plc, answers);
      const memory = emptyMemory();
      let driver = await driverFor(POINTS, { memory });
      // Like the link's owner, opens a new connection if the old one ended between polls.
      const read: unknown[] = [];
      while (read.length < 10) {
        const values = await polls(driver, 1).catch(() => null);
        if (values === null) driver = await driverFor(POINTS, { memory });
        else read.push(...values);
      }
      expect(read).toEqual(times(10));
      expect(driver.notes?.().map(({ kind }) => kind)).toEqual(["closes"]);
      // At most two requests are lost until the driver knows the limit. Then each connection is used for as many requests
      // as the device answers.
      expect(plc.requests.length).toBeLessThanOrEqual(30 + 2);
      expect(plc.accepted()).toBeLessThanOrEqual(Math.ceil(30 / answers) + 3);
      expect(driver.renewals?.()).toBeLessThanOrEqual(2);
    },
  );

  test.each(["close", "reset"] as const)(
    "never changes the link's state if it ends connections with a %s",
    async (how) => {
      const { plc } = bed();
      closeAfter(plc, 1, how);
      const line = modbusLine({ host: "127.0.0.1", port: plc.port });
      const memory = emptyMemory();
      let answered = 0;
      let failed = 0;
      const link = runLink(
        {
          groups: { g: { poll_interval_ms: 20 } },
          makeDriver: () => modbusDriver({ line, profile: profileOf(POINTS), memory, timeouts: TIMES }),
          intake: {
            answered: (read) => {
              expect(values(read.get("g") ?? [])).toEqual(RIGHT);
              answered += 1;
              return null;
            },
            unanswered: () => void (failed += 1),
          },
        },
        { clock: systemClock, probe_ms: () => ANSWER_MS, seed: 1 },
      );
      onTestFinished(() => link.stop());
      await vi.waitFor(() => expect(answered).toBeGreaterThan(20), { timeout: ANSWER_MS, interval: 10 });
      expect(link.states.map(({ kind }) => kind)).toEqual(["up"]);
      expect(failed).toBe(0);
    },
  );

  test("can be read by two booths that share its address", async () => {
    const { plc } = bed();
    closeAfter(plc, 1);
    const line = modbusLine({ host: "127.0.0.1", port: plc.port });
    const booths = [1, 2].map((unitId) => ({ unitId, memory: emptyMemory(), driver: null as Driver | null }));
    const read: unknown[] = [];
    for (let turn = 0; turn < 20; turn++) {
      const booth = booths[turn % 2];
      if (booth === undefined) continue;
      if (booth.driver === null) {
        const { unitId, memory } = booth;
        booth.driver = modbusDriver({ line, unitId, memory, profile: profileOf(POINTS), timeouts: TIMES });
        await booth.driver.open(never);
      }
      const got = await polls(booth.driver, 1).catch((error: unknown) => {
        expect(error).toMatchObject({ kind: "closed" });
        return null;
      });
      if (got !== null) read.push(...got);
      else {
        await booth.driver.close();
        booth.driver = null;
      }
    }
    // Each booth finds its connection closed a few times until the driver knows the device.
    expect(read.length).toBeGreaterThan(14);
    expect(read).toEqual(times(read.length));
    for (const { driver } of booths) await driver?.close();
  });

  test("is polled over a single connection once it keeps connections open", async () => {
    const { plc, driverFor } = bed();
    closeAfter(plc, 1);
    const memory = emptyMemory();
    const driver = await driverFor(POINTS, { memory });
    await polls(driver, 2);
    plc.script = null;
    // The next connection but one is left open, to find out whether the device still closes it.
    memory.answering.closing.ended = -1;
    await polls(driver, 2);
    expect(driver.notes?.()).toEqual([]);
    const accepted = plc.accepted();
    expect(await polls(driver, 5)).toEqual(times(5));
    expect(plc.accepted()).toBe(accepted);
  });

  test("makes reads fail with the reason refused once the device is switched off", async () => {
    const { plc, driverFor } = bed();
    closeAfter(plc, 1);
    const driver = await driverFor(POINTS);
    await polls(driver, 3);
    await plc.stop();
    expect((await failure(readGroup(driver, "g"))).kind).toBe("refused");
  });

  test("answers a diagnostic tool that requests one register after the other", async () => {
    const { plc } = bed();
    closeAfter(plc, 1);
    const exchange = modbusExchange(modbusLine({ host: "127.0.0.1", port: plc.port }), TIMES);
    onTestFinished(() => exchange.close());
    await exchange.open();
    for (let address = 0; address < 10; address++) {
      const answer = await exchange.registers(1, { table: "holding", address, count: 1 });
      expect(answer).toEqual({ kind: "words", words: [pattern(3, address)] });
    }
    exchange.close();
    expect((await failure(exchange.registers(1, { table: "holding", address: 0, count: 1 }))).kind).toBe("closed");
  });
});

test("a device that closes the connection before it answers does not count as a device that closes after each answer", async () => {
  const { plc, driverFor } = bed();
  plc.script = ({ address }) => (address === 1000 ? "close" : undefined);
  const driver = await driverFor(POINTS);
  await readGroup(driver, "g").catch(() => undefined);
  expect(driver.notes?.()).toEqual([]);
});

test("the driver still receives the answer to a pending request after an abort, and then closes the connection", async () => {
  const { plc } = bed();
  const owner = new AbortController();
  const held: (() => void)[] = [];
  let end = "";
  plc.script = (_request, usual, socket) => {
    socket.on("end", () => (end ||= "in order")).on("error", () => (end ||= "reset"));
    held.push(() => void socket.write(usual));
    return "silence";
  };
  const line = modbusLine({ host: "127.0.0.1", port: plc.port });
  const driver = modbusDriver({ line, profile: profileOf([point({ address: 0 })]), timeouts: TIMES });
  await driver.open(owner.signal);
  const read = readGroup(driver, "g");
  await vi.waitFor(() => expect(held.length).toBe(1), { timeout: ANSWER_MS, interval: 1 });
  owner.abort();
  held[0]?.();
  expect(values(await read)).toEqual([pattern(3, 0)]);
  expect((await failure(readGroup(driver, "g"))).kind).toBe("closed");
  await vi.waitFor(() => expect(end).toBe("in order"), { timeout: ANSWER_MS, interval: 1 });
  await driver.close();
});

test("the driver rejects an unanswered request with the reason closed soon after an abort", async () => {
  const { plc } = bed();
  plc.script = () => "silence";
  const owner = new AbortController();
  const line = modbusLine({ host: "127.0.0.1", port: plc.port });
  const driver = modbusDriver({ line, profile: profileOf([point({ address: 0 })]), timeouts: TIMES });
  await driver.open(owner.signal);
  const read = failure(readGroup(driver, "g"));
  owner.abort();
  expect((await read).kind).toBe("closed");
  await driver.close();
});
