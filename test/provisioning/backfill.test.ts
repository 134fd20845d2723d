import { expect, it } from "vitest";
import { virtualClock } from "../../simulators/virtual/clock.ts";
import type { Resent, ResendOrder } from "../../src/delivery/port.ts";
import { mergeRanges, type SeqRange } from "../../src/domain/command.ts";
import { createSignal } from "../../src/domain/signal.ts";
import { backfill } from "../../src/provisioning/commands/backfill.ts";
import type { BoundBooth } from "../../src/provisioning/context.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

/** A resend gathers the backfills of this time. */
const GATHER_MS = 2_000;

/** Makes a booth whose resends the test ends, in the order of their start. */
function resending() {
  const clock = virtualClock({ wall: 0, mono: 0 });
  const begun: { readonly order: ResendOrder; readonly end: () => void; readonly signal: AbortSignal }[] = [];
  const resend = (order: ResendOrder, signal: AbortSignal): Promise<readonly Resent[]> =>
    new Promise((resolve, reject) => {
      const sums = order.wanted.map((ranges) => ({ records: ranges.length, batches: 1, missing: 0, refused: 0 }));
      begun.push({ order, signal, end: () => resolve(sums) });
      signal.addEventListener("abort", () => reject(new Error("ended")));
    });
  const binding = {
    waiting_backfills: [],
    resending: null,
    lacking: null as object | null,
    backfills: new Map<string, unknown>(),
  };
  const log = { warn: () => undefined };
  const gateway = { clock, log, resend, news: createSignal(clock) };
  const booth = { state: {}, binding, gateway } as unknown as BoundBooth;
  const stop = new AbortController();
  const order = (
    ranges: readonly SeqRange[],
    { digest = null as string | null, minutes = 60, stream_id = "s", lacks = null as number | null } = {},
  ) => {
    const call = {
      id: "id",
      expires_at: minutes * MINUTE_MS,
      resumed: false,
      order: { type: "backfill" as const, serial: "A", stream_id, ranges, digest, lacks },
    };
    return backfill(booth, { call, now: 0 }, stop.signal).catch((error: unknown) => String(error));
  };
  return { clock, begun, binding, order };
}

const range = (from: number, to: number): SeqRange => ({ from, to });

it("a booth runs one resend at a time, and combines backfill commands that arrive in the meantime into the next resend", async () => {
  const { clock, begun, order } = resending();
  const all = Array.from({ length: 3 }, (_, at) => order([range(1, 100 + at)]));
  await clock.run(GATHER_MS);
  all.push(...Array.from({ length: 15 }, (_, at) => order([range(1, 100 + at)])));
  await clock.run(GATHER_MS);
  expect(begun).toHaveLength(1);
  begun[0]?.end();
  await clock.run(GATHER_MS);
  expect(begun.map((one) => one.order.wanted.length)).toEqual([3, 15]);
  begun[1]?.end();
  expect(await Promise.all(all)).toEqual(all.map(() => ({ records: 1, batches: 1, missing: 0, refused: 0 })));
  expect(begun).toHaveLength(2);
});

it("a backfill command fails when it expires, and a resend ends when the last of its backfill commands expires", async () => {
  const { clock, begun, order } = resending();
  const first = order([range(1, 9)], { minutes: 1 });
  await clock.run(GATHER_MS);
  const second = order([range(1, 9)], { minutes: 2 });
  const third = order([range(1, 9)], { minutes: 3 });
  await clock.run(MINUTE_MS);
  expect(await first).toContain("it wasn't sent to its end in time");
  expect(begun[0]?.signal.aborted).toBe(true);
  await clock.run(MINUTE_MS);
  expect(await second).toContain("it wasn't sent to its end in time");
  expect(begun[1]?.signal.aborted).toBe(false);
  begun[1]?.end();
  expect(await third).toMatchObject({ records: 1 });
});

it("a backfill command for another stream of the booth waits for the running resend, and then gets a separate resend", async () => {
  const { clock, begun, order } = resending();
  const all = [order([range(1, 2)]), order([range(3, 4)], { stream_id: "old" }), order([range(5, 6)])];
  for (const at of [0, 1]) {
    await clock.run(GATHER_MS);
    begun[at]?.end();
  }
  await Promise.all(all);
  expect(begun.map((one) => one.order.stream)).toEqual(["s", "old"]);
});

it("a digest (record comparison) answer without ranges waits for no resend, and at most 64 unread answers are kept", async () => {
  const { clock, begun, binding, order } = resending();
  void order([range(1, 2)]);
  await clock.run(GATHER_MS);
  for (let at = 0; at < 100; at += 1) await order([], { digest: at.toString() });
  expect(begun).toHaveLength(1);
  expect([...binding.backfills.keys()]).toEqual(Array.from({ length: 64 }, (_, at) => (at + 36).toString()));
});

it("mergeRanges merges overlapping ranges, but not ranges that only touch", () => {
  expect(mergeRanges([range(5, 9), range(1, 6), range(10, 12), range(11, 11), range(1, 6)])).toEqual([
    range(1, 9),
    range(10, 12),
  ]);
  expect(mergeRanges(Array.from({ length: 1_000 }, () => range(1, 7)))).toEqual([range(1, 7)]);
});

it("a backfill of records that the service has lost shows its progress until it ends", async () => {
  const { clock, begun, binding, order } = resending();
  const whole = order([range(21, 50)], { lacks: 30 });
  const other = order([range(1, 5)]);
  expect(binding.lacking).toEqual({ records: 30, resent: 0, since: 0 });
  await clock.run(GATHER_MS);
  begun[0]?.order.progress?.(0, 12);
  begun[0]?.order.progress?.(1, 5);
  expect(binding.lacking).toEqual({ records: 30, resent: 12, since: 0 });
  begun[0]?.end();
  await Promise.all([whole, other]);
  expect(binding.lacking).toBeNull();
});
