import { expect, it } from "vitest";
import {
  type AckedBatch,
  type Acking,
  heardAck,
  outcomeOf,
  type Waiting,
  windowAfter,
} from "../../../src/delivery/mqtt/acks.ts";
import type { Placed } from "../../../src/domain/record.ts";
import { hashOf } from "../../../src/contract/hash.ts";
import { createWaiters } from "../../../src/domain/waiters.ts";
import { reading, T0 } from "../../support/records.ts";
import { virtualClock } from "../../../simulators/virtual/clock.ts";

const records = [5, 6].map((seq): Placed => ({ ...reading(seq * 1000, "mode", seq), seq, time: T0 + seq * 1000 }));

/** What an ack brings to a batch that waits for one. */
function heard(change: Record<string, unknown>): Pick<Acking, "window" | "takes"> & {
  times: number[];
  settled: AckedBatch[];
} {
  const clock = virtualClock({ wall: T0 });
  const times: number[] = [];
  const settled: AckedBatch[] = [];
  const settle = (outcome: AckedBatch): void => void settled.push(outcome);
  const outcome: Waiting["outcome"] = (ack, alone) => outcomeOf(ack, { stream: "s", records }, alone);
  const waiting = createWaiters<Waiting>();
  waiting.add({ outcome, sent: clock.mono(), settle });
  const acking: Acking = { waiting, window: 2, takes: ["before"] };
  const service_time = {
    heard: ({ time }: { time: number }) => void times.push(time),
    verdict: () => ({ synced: false, offset_ms: null }),
  };
  const ack = {
    st: "s",
    s0: 5,
    n: 2,
    hash: hashOf(records),
    server_time: T0,
    window: 3,
    takes: ["chunk/1"],
    ...change,
  };
  heardAck({ clock, service_time }, acking, Buffer.from(JSON.stringify(ack)));
  return { window: acking.window, takes: acking.takes, times, settled };
}

it("time, window and what the service takes are heard from an ack whose hash is of what was sent", () => {
  expect(heard({})).toMatchObject({ window: 3, takes: ["chunk/1"], times: [T0], settled: [{ kind: "acked" }] });
});

it.each([
  ["another hash", { hash: "x" }],
  ["all rejected, and the hash of nothing", { hash: hashOf([]), reject: [5, 6].map((seq) => ({ seq, reason: "no" })) }],
  ["a conflict at the first record", { hash: hashOf([]), conflict: 5 }],
  ["another stream", { st: "other" }],
  ["another batch", { s0: 4 }],
  ["an error", { error: "generation" }],
])("none of them is heard from one with %s", (_, change) => {
  expect(heard(change)).toMatchObject({ window: 2, takes: ["before"], times: [] });
});

it("the last one says what the service takes: one that says nothing of it takes nothing of it", () => {
  expect(heard({ takes: undefined }).takes).toEqual([]);
});

it("an ack of another stream settles nothing", () => {
  expect(heard({ st: "other" }).settled).toEqual([]);
});

it.each([
  [null, 2],
  [0, 1],
  [1, 1],
  [3, 3],
  [1_000_000, 4],
])("a window of %s lets %i batches be under way: one always", (said, window) => {
  expect(windowAfter(2, said)).toBe(window);
});
