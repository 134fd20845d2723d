import fc from "fast-check";
import { expect, it } from "vitest";
import { laneReaders } from "../../src/delivery/lane-reader.ts";
import type { Placed } from "../../src/domain/record.ts";
import type { Store, StreamInfo } from "../../src/store/port.ts";
import { cutBatches } from "../../src/delivery/lane-reader.ts";

const STREAM = "stream-1";

function reading(seq: number): Placed {
  const place = { seq, boot: "b1", mono: seq * 1_000, at: seq, time: seq * 1_000 };
  return { kind: "r", tag: "mode", quality: "good", value: seq % 7, ...place };
}

/** A log whose store answers with so many records at most, as it does where they stand in many small rows. */
function readerOf(
  log: readonly Placed[],
  most: () => number,
  oldest_seq = 1,
): ReturnType<typeof laneReaders>["backlog"] {
  const read: Store["read"] = (_, from, limit) => {
    const behind = log.filter(({ seq }) => seq >= from);
    return Promise.resolve(behind.slice(0, Math.min(limit, most())));
  };
  const info = { stream: STREAM, oldest_seq } as StreamInfo;
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

it("what waits goes in batches as full as if all of it had been read at once, but for the last", async () => {
  const log = Array.from({ length: 20_000 }, (_, index) => reading(index + 1));
  const sizes = (
    await batchesOf(
      readerOf(log, () => Infinity),
      log.length,
    )
  ).map((batch) => batch.length);
  expect(sizes).toEqual(cutBatches(log).map((batch) => batch.length));
});

it("however much the store gives at a time, each record goes once and in order, up to the end that was asked for", async () => {
  const log = Array.from({ length: 6_000 }, (_, index) => reading(index + 1));
  const ways = fc.record({
    most: fc.array(fc.integer({ min: 1, max: 1_500 }), { minLength: 1 }),
    end: fc.integer({ min: 1, max: 6_000 }),
  });
  await fc.assert(
    fc.asyncProperty(ways, async ({ most, end }) => {
      let count = 0;
      const reader = readerOf(log, () => most[count++ % most.length] ?? 1);
      const sent = (await batchesOf(reader, end)).flat();
      expect(sent.map(({ seq }) => seq)).toEqual(Array.from({ length: end }, (_, index) => index + 1));
    }),
    { numRuns: 30 },
  );
});

it.each([
  ["as many as fit", null],
  ["a few", 8],
])("of a stretch that a full store gave up nothing goes, where it has what comes after: %s", async (_, most) => {
  const behind = Array.from({ length: 100 }, (_, index) => reading(301 + index));
  const reader = readerOf(behind, () => Infinity, 301);
  expect(await reader(50, 200, most)).toEqual({ batch: [], from: 51, to: 200 });
  expect((await reader(200, 310, most)).batch[0]?.seq).toBe(301);
});

it("where all that can be sent was given up nothing goes; a record that should be there and isn't ends the session", async () => {
  const emptied = readerOf([], () => Infinity, 201);
  expect(await emptied(50, 200)).toEqual({ batch: [], from: 51, to: 200 });
  const holed = readerOf([], () => Infinity, 200);
  await expect(holed(50, 200)).rejects.toThrow("no record from seq 51 on");
});

it("asked again for what lies before the batches that it has ready, it begins there", async () => {
  const log = Array.from({ length: 9_000 }, (_, index) => reading(index + 1));
  const reader = readerOf(log, () => Infinity);
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
