import fc from "fast-check";
import { expect, it } from "vitest";
import { batchOf } from "../../src/contract/telemetry.ts";
import { cutBatches } from "../../src/delivery/rules/sending.ts";
import { laneReaders } from "../../src/delivery/sender.ts";
import type { Placed } from "../../src/domain/record.ts";
import type { Store, StreamInfo } from "../../src/store/port.ts";

/** Limit of a batch before gzip. Half of it is a reserve, because the size is estimated. */
const LIMIT_BYTES = 128 * 1024;

function reading(seq: number, change: Partial<Placed> = {}): Placed {
  const place = { seq, boot: "b1", mono: seq * 1_000, at: seq, time: seq * 1_000 };
  return { kind: "r", tag: "mode", quality: "good", value: seq % 7, ...place, ...change } as Placed;
}

const readings = (from: number, count: number) => Array.from({ length: count }, (_, index) => reading(from + index));

it("cutBatches keeps every record once and in order, and each batch has no gap, one boot and one clock offset", () => {
  const step = fc.record({
    hole: fc.nat(2),
    boot: fc.constantFrom("a", "b"),
    shift: fc.constantFrom(0, 0, 0, 500),
    size: fc.nat(4000),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      let seq = 0;
      let shift = 0;
      const records = steps.map((one) => {
        seq += 1 + (one.hole === 2 ? 1 : 0);
        shift += one.shift;
        return reading(seq, { boot: one.boot, time: seq * 1000 + shift, value: "x".repeat(one.size) });
      });
      const batches = cutBatches(records);
      expect(batches.flat()).toEqual(records);
      for (const batch of batches) {
        const [first] = batch;
        batch.forEach((one, index) => {
          expect(one.seq).toBe((first?.seq ?? 0) + index);
          expect(one.boot).toBe(first?.boot);
          expect(one.time - one.mono).toBe((first?.time ?? 0) - (first?.mono ?? 0));
        });
        const wire = batchOf({ gateway_id: "gw-1", generation: 1, stream: "s" }, batch, 0);
        expect(batch.length === 1 || JSON.stringify(wire).length <= LIMIT_BYTES / 2).toBe(true);
      }
    }),
  );
});

/** Makes a reader of a log whose store returns at most `most()` records at a time, as with many small rows. */
function readerOf(
  log: readonly Placed[],
  most: () => number = () => Infinity,
  oldest_seq = 1,
): ReturnType<typeof laneReaders>["backlog"] {
  const read: Store["read"] = (_, from, limit) => {
    const found = log.filter(({ seq }) => seq >= from);
    return Promise.resolve(found.slice(0, Math.min(limit, most())));
  };
  const info = { stream: "stream-1", oldest_seq } as StreamInfo;
  return laneReaders({ read } as Store, () => info).backlog;
}

async function batchesOf(reader: ReturnType<typeof readerOf>, end: number): Promise<(readonly Placed[])[]> {
  const batches: (readonly Placed[])[] = [];
  for (let after = 0; after < end;) {
    const { batch, from, to } = await reader(after, end);
    expect(from).toBe(after + 1);
    batches.push(batch);
    after = to;
  }
  return batches;
}

it("the log reader returns the same batches as cutBatches does for the whole log at once", async () => {
  const log = readings(1, 20_000);
  const batches = await batchesOf(readerOf(log), log.length);
  expect(batches.map(({ length }) => length)).toEqual(cutBatches(log).map(({ length }) => length));
});

it("the log reader returns each record once and in order, whatever number of records the store returns per read", async () => {
  const log = readings(1, 6_000);
  const stories = fc.record({
    most: fc.array(fc.integer({ min: 1, max: 1_500 }), { minLength: 1 }),
    ends: fc.array(fc.integer({ min: 1, max: 6_000 }), { minLength: 1, maxLength: 3 }),
  });
  await fc.assert(
    fc.asyncProperty(stories, async ({ most, ends }) => {
      let count = 0;
      const reader = readerOf(log, () => most[count++ % most.length] ?? 1);
      const end = Math.max(...ends);
      const seqs: number[] = [];
      for (let turn = 0; seqs.length < end; turn += 1) {
        const upTo = Math.max(seqs.length + 1, ends[turn % ends.length] ?? end);
        const { batch } = await reader(seqs.length, Math.min(end, upTo));
        seqs.push(...batch.map(({ seq }) => seq));
      }
      expect(seqs).toEqual(Array.from({ length: end }, (_, index) => index + 1));
    }),
    { numRuns: 30 },
  );
});

it.each([
  ["as many as fit", null],
  ["a few", 8],
])("the log reader returns no records for a range that the full store dropped, when it reads %s", async (_, most) => {
  const reader = readerOf(readings(301, 100), undefined, 301);
  expect(await reader(50, 200, most)).toEqual({ batch: [], from: 51, to: 200 });
  expect((await reader(200, 310, most)).batch[0]?.seq).toBe(301);
});

it("the log reader rejects a read if records are missing that the store did not drop", async () => {
  expect(await readerOf([], undefined, 201)(50, 200)).toEqual({ batch: [], from: 51, to: 200 });
  await expect(readerOf([], undefined, 200)(50, 200)).rejects.toThrow("no record from seq 51 on");
});

it("the log reader starts at the requested record, even if it has already read further", async () => {
  const reader = readerOf(readings(1, 9_000));
  const { to } = await reader(0, 9_000);
  await reader(to, 9_000);
  for (const [after, end] of [
    [100, 4_000],
    [50, 60],
    [to, 9_000],
  ] as const) {
    const { batch, from } = await reader(after, end);
    expect([batch[0]?.seq, from]).toEqual([after + 1, after + 1]);
    expect(batch.at(-1)?.seq).toBeLessThanOrEqual(end);
  }
});
