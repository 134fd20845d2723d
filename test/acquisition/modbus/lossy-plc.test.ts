import { describe, expect, onTestFinished, test } from "vitest";

import { tcpProxy } from "../../../simulators/network/tcp-proxy.ts";
import type { ModbusPoint } from "../../../src/domain/profile.ts";
import type { Driver } from "../../../src/acquisition/port.ts";
import { type DeviceMemory, emptyMemory, holesNow } from "../../../src/acquisition/modbus/driver.ts";
import { modbusLine } from "../../../src/acquisition/modbus/wire.ts";
import { LinkError } from "../../../src/domain/link-error.ts";
import type { Sample } from "../../../src/domain/taken.ts";
import { type FakeModbus, type FakeScript, frame, pattern, usualAnswer } from "./fake-modbus.ts";
import { until } from "../../support/eventually.ts";
import { FOUR_BLOCKS, isHole, SPARSE } from "./lossy-bed.ts";
import { ANSWER_MS, failure, readGroup, values } from "../driver-calls.ts";
import { modbusBed, registers } from "./modbus-bed.ts";
import { seededRandom } from "../../support/seeded-random.ts";

/** A PLC on a lossy line. Losses are deterministic, by the count of requests or from a seeded random source. */

const bed = modbusBed();

/** Replaces the answer of every nth request. */
function everyNth(nth: number, instead: FakeScript): FakeScript {
  let count = 0;
  return (...asked) => (++count % nth === 0 ? instead(...asked) : undefined);
}

/**
 * Replaces the answer of every nth request for points in several blocks, but not of a repeated request; the next
 * request gets the fault instead. A machine that stalls for longer than a learned deadline causes a repetition too, and
 * a second fault would then lose the value.
 */
function everyNthAnew(nth: number, instead: FakeScript): FakeScript {
  let count = 0;
  let before: number | null = null;
  return (...asked) => {
    const repeated = asked[0].address === before;
    before = asked[0].address;
    if (++count % nth !== 0) return undefined;
    if (!repeated) return instead(...asked);
    count--;
    return undefined;
  };
}

const silence: FakeScript = () => "silence";

/** Returns an answer to another request. */
const wrongId: FakeScript = (request, usual) => [
  frame({ ...request, transaction: request.transaction + 7 }, [...usual.subarray(7)]),
];

function sparse(plc: FakeModbus): void {
  plc.holes = (_, address) => isHole(SPARSE, address);
}

/** Polls like the link loop: a driver that failed is closed and replaced. */
async function polled(
  count: number,
  points: readonly ModbusPoint[],
  memory: DeviceMemory,
): Promise<{ readonly polls: readonly (readonly Sample[])[]; readonly failed: number }> {
  const { driverFor } = bed();
  const polls: (readonly Sample[])[] = [];
  let failed = 0;
  let driver: Driver | null = null;
  while (polls.length + failed < count) {
    driver ??= await driverFor(points, { memory });
    const samples = await readGroup(driver, "g").catch((error: unknown) => error as LinkError);
    if (!(samples instanceof LinkError)) {
      polls.push(samples);
      continue;
    }
    await driver.close();
    driver = null;
    if (samples.kind !== "closed") failed++;
  }
  return { polls, failed };
}

function wrongIn(polls: readonly (readonly Sample[])[], points: readonly ModbusPoint[]): readonly Sample[] {
  return polls.flatMap((samples) =>
    samples.filter(({ quality, value }, i) => quality === "good" && value !== pattern(3, points[i]?.address ?? 0)),
  );
}

const goodIn = (polls: readonly (readonly Sample[])[]): number =>
  polls.flat().filter(({ quality }) => quality === "good").length;

describe("a PLC with sparse registers", () => {
  test("returns every value in the first poll and keeps its learned holes, even if every 20th reply is lost", async () => {
    const { plc } = bed();
    sparse(plc);
    plc.script = everyNthAnew(20, silence);
    const memory = emptyMemory();
    const { polls, failed } = await polled(1, SPARSE, memory);
    expect({ failed, good: goodIn(polls) }).toEqual({ failed: 0, good: SPARSE.length });
    expect(plc.requests.length).toBeGreaterThan(20);
    plc.requests.length = 0;
    plc.script = null;
    await polled(1, SPARSE, memory);
    expect(plc.requests.length).toBeLessThan(20);
  });

  test("returns the values read so far and keeps its learned holes, even if the connection closes during a poll", async () => {
    const { plc, driverFor } = bed();
    sparse(plc);
    const memory = emptyMemory();
    const driver = await driverFor(SPARSE, { memory });
    let count = 0;
    plc.script = () => (++count > 16 ? "close" : undefined);
    const samples = await readGroup(driver, "g");
    const good = samples.filter(({ quality }) => quality === "good");
    expect(good.length).toBeGreaterThan(0);
    expect(samples.filter(({ reason }) => reason === "no_answer").length).toBeGreaterThan(0);
    expect(good.length + samples.filter(({ reason }) => reason === "no_answer").length).toBe(SPARSE.length);
    expect(holesNow(memory.holes).holding?.length).toBeGreaterThan(0);
  });
});

test("a block whose answer is lost or wrong twice gets bad samples with the reason, and other blocks stay good", async () => {
  const { plc, driverFor } = bed();
  const driver = await driverFor(FOUR_BLOCKS);
  await readGroup(driver, "g");
  for (const [script, reason] of [
    [silence, "no_answer"],
    [wrongId, "wrong_answer"],
  ] as const) {
    plc.requests.length = 0;
    plc.script = (...asked) => (asked[0].address === 1000 ? script(...asked) : undefined);
    const samples = await readGroup(driver, "g");
    expect(samples.map((sample) => sample.reason ?? sample.value)).toEqual(
      FOUR_BLOCKS.map(({ address }) => (address >= 1000 && address < 2000 ? reason : pattern(3, address))),
    );
    expect(plc.requests.map(({ address }) => address)).toEqual([0, 1000, 1000, 2000, 3000]);
  }
  expect(driver.requests?.()).toEqual({ asked: 14, missed: 4 });
});

test("the driver repeats a request after the learned deadline, which is shorter than the configured timeout", async () => {
  const { plc, driverFor } = bed();
  const driver = await driverFor(registers(1), { timeouts: { connect_ms: ANSWER_MS, answer_ms: 3_600_000 } });
  await readGroup(driver, "g");
  plc.script = everyNth(2, silence);
  for (let i = 0; i < 4; i++) expect(values(await readGroup(driver, "g"))).toEqual([pattern(3, 0)]);
});

test("the driver waits for the configured timeout if a device becomes slower than its learned deadline", async () => {
  const { plc, driverFor } = bed();
  const driver = await driverFor(registers(1));
  await readGroup(driver, "g");
  plc.script = (_, usual, socket) => {
    setTimeout(() => socket.write(usual), 200);
    return "silence";
  };
  expect(values(await readGroup(driver, "g"))).toEqual([pattern(3, 0)]);
  plc.requests.length = 0;
  expect(values(await readGroup(driver, "g"))).toEqual([pattern(3, 0)]);
  expect(plc.requests.length).toBe(1);
});

test("a device that refuses a new connection is retried with growing delays", async () => {
  const { plc, driverFor } = bed();
  const proxy = await tcpProxy({ target: { port: plc.port } });
  onTestFinished(() => proxy.close());
  const driver = await driverFor(registers(1), { line: modbusLine({ host: "127.0.0.1", port: proxy.port }) });
  await readGroup(driver, "g");
  plc.script = () => {
    // The device still has the old connection open.
    proxy.faults.refuse = true;
    plc.script = null;
    return "silence";
  };
  const reading = readGroup(driver, "g");
  await until(() => proxy.connections.refused >= 2, "two refusals");
  proxy.faults.refuse = false;
  expect(values(await reading)).toEqual([pattern(3, 0)]);
  expect(proxy.connections.refused).toBeLessThanOrEqual(3);
});

test("the driver sends six requests to a silent device before the first timeout, and then one request per attempt", async () => {
  const { plc, driverFor } = bed();
  const memory = emptyMemory();
  const timeouts = { connect_ms: ANSWER_MS, answer_ms: 150 };
  const driver = await driverFor(FOUR_BLOCKS, { memory, timeouts });
  await readGroup(driver, "g");
  plc.requests.length = 0;
  plc.script = silence;
  expect((await failure(readGroup(driver, "g"))).kind).toBe("timeout");
  expect(plc.requests.length).toBe(6);
  await driver.close();
  plc.requests.length = 0;
  const next = await driverFor(FOUR_BLOCKS, { memory, timeouts });
  expect((await failure(readGroup(next, "g"))).kind).toBe("timeout");
  expect(plc.requests.length).toBe(1);
});

describe.each([
  ["in four requests", FOUR_BLOCKS],
  ["in a sparse map", SPARSE],
])("60 tags read %s", (_, points) => {
  test.each([1])("have no wrong value if answers are lost, late, doubled or have wrong ids (seed %i)", async (seed) => {
    const { plc } = bed();
    if (points === SPARSE) sparse(plc);
    const random = seededRandom(seed);
    const held: (() => void)[] = [];
    plc.script = (request, usual, socket) => {
      const dice = random.next();
      // Delayed answers are sent before another answer, or instead of it, on any open connection.
      for (const release of held.splice(0)) release();
      if (dice < 0.05) return "silence";
      if (dice < 0.08) {
        held.push(() => {
          if (!socket.destroyed) socket.write(usual);
        });
        return "silence";
      }
      if (dice < 0.12) return [frame({ ...request, transaction: request.transaction + 7 }, [...usual.subarray(7)])];
      if (dice < 0.13) return [usual, usual];
      if (dice < 0.14)
        return [usualAnswer({ memory: () => 0xdead, holes: () => false }, { ...request, count: request.count + 1 })];
      return undefined;
    };
    const { polls, failed } = await polled(8, points, emptyMemory());
    expect(wrongIn(polls, points)).toEqual([]);
    expect(failed).toBeLessThanOrEqual(1);
    expect(goodIn(polls)).toBeGreaterThan(0.9 * points.length * polls.length);
  });

  test("all have good values if every 5th answer has a wrong transaction id", async () => {
    const { plc } = bed();
    if (points === SPARSE) sparse(plc);
    plc.script = everyNthAnew(5, wrongId);
    const { polls, failed } = await polled(10, points, emptyMemory());
    expect({ wrong: wrongIn(polls, points), failed, good: goodIn(polls) }).toEqual({
      wrong: [],
      failed: 0,
      good: 10 * points.length,
    });
  });
});
