import { expect, it } from "vitest";
import { openEndOf } from "../../src/derivation/fold.ts";
import type { Writer } from "../../src/store/thread/writer.ts";
import { T0 } from "../support/booth.ts";
import { clockedEntries, type ClockedLife, areTrue, codeAt, modelStages } from "../support/clocked.ts";
import { recordFault } from "../support/faults.ts";
import { PLAIN } from "../support/parameters.ts";
import { casesOf, seedOf } from "../support/seed.ts";
import { ingestEntries, writerIn } from "../support/store.ts";
import { memoryFolder } from "../support/temporary.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

const POLL_MS = 10_000;
const LENGTH_MS = 80 * MINUTE_MS;
const POINTS = casesOf(100);
const SEED = seedOf("test/store/clock-points.long");
const STAGES = modelStages(LENGTH_MS);

/** A boot that lasts from `from` to `to` in true time. */
interface Boot extends Pick<ClockedLife, "boot" | "wall" | "kernel" | "service"> {
  readonly from: number;
  readonly to: number;
}

/** Plays the boots as a booth of its own, with a commit per minute. */
function live(
  writer: Writer,
  name: string,
  boots: readonly Boot[],
): { readonly stream: string; readonly logged: number } {
  const { stream } = writer.openStream(name);
  let take = 0;
  let logged = 0;
  const counted: Writer = {
    ...writer,
    ingest(...args) {
      logged += args[1].length;
      return writer.ingest(...args);
    },
  };
  for (const { from, to, ...clocks } of boots) {
    const life = { ...clocks, parameters: PLAIN, poll_ms: POLL_MS, length_ms: to - from };
    const entries = clockedEntries({ ...life, mode: (ms) => codeAt(STAGES, from + ms) }, take);
    take = entries.at(-1)?.take ?? take;
    ingestEntries(counted, entries, { booth: name, sizes: [60] });
  }
  return { stream, logged };
}

interface Span {
  readonly mode: string;
  readonly start: number;
  readonly end: number;
}

function spansOf(writer: Writer, stream: string, until: number): Span[] {
  const facts = writer.read(stream, 1, 100_000).flatMap((record) => (record.kind === "m" ? [record.value] : []));
  return [...facts, ...openEndOf(writer.state(stream), T0 + until).stages];
}

function isTrue(spans: readonly Span[], from: number, to: number): boolean {
  return areTrue(spans, STAGES, { from: T0 + from, to: T0 + to, poll_ms: POLL_MS });
}

interface Count {
  lost: number;
  doubled: number;
  wrong: number;
}

/** Counts records and time that are missing or doubled. */
function countRecords(count: Count, writer: Writer, { stream, logged }: { stream: string; logged: number }): void {
  const records = writer.read(stream, 1, 100_000);
  const seqs = new Set(records.map(({ seq }) => seq));
  count.doubled += records.length - seqs.size;
  count.lost += Math.abs(logged - records.filter(({ kind }) => "rhpt".includes(kind)).length);
}

function tile(spans: readonly Span[]): boolean {
  return spans.every(({ start, end }, index) => end >= start && (spans[index + 1]?.start ?? end) === end);
}

function tell(fault: string, count: Count): void {
  const passed = count.lost + count.doubled + count.wrong === 0;
  recordFault({ row: 37, fault, injected: POINTS, ...count, passed });
  expect(count).toEqual({ lost: 0, doubled: 0, wrong: 0 });
}

it("after a boot in 1970 and a clock sync at any moment, every reading gets its true time", () => {
  const writer = writerIn(memoryFolder());
  const random = seededRandom(SEED);
  const count: Count = { lost: 0, doubled: 0, wrong: 0 };
  for (let point = 0; point < POINTS; point += 1) {
    const wall0 = Math.floor(random.next() * 60_000);
    const syncAt = Math.floor(random.next() * LENGTH_MS);
    const byKernel = random.next() < 0.5;
    const clocks = byKernel
      ? {
          wall: (ms: number) => (ms < syncAt ? wall0 : T0) + ms,
          kernel: (ms: number) => ms >= syncAt,
          service: () => null,
        }
      : { wall: (ms: number) => wall0 + ms, kernel: () => false, service: (ms: number) => (ms < syncAt ? null : T0) };
    const lived = live(writer, `booth-${point}`, [{ boot: "a", from: 0, to: LENGTH_MS, ...clocks }]);
    countRecords(count, writer, lived);
    const spans = spansOf(writer, lived.stream, LENGTH_MS);
    if (!isTrue(spans, 0, LENGTH_MS) || !tile(spans) || spans[0]?.start !== T0) count.wrong += 1;
  }
  writer.close();
  tell("1970 at boot, put right at random points by kernel or service", count);
});

/** Draws the ends and starts of boots, away from the model's own borders, which are known only to within a poll. */
function cuts(polls: (low: number, high: number) => number): {
  cut: number;
  lost: { from: number; to: number };
  back: number;
} {
  for (;;) {
    const cut = polls(6, 150);
    const from = cut + polls(1, 20);
    const to = from + polls(6, 150);
    const back = to + polls(1, 20);
    const isClear = STAGES.every(({ start }) => [cut, back].every((at) => Math.abs(start - T0 - at) > 2 * POLL_MS));
    if (isClear) return { cut, lost: { from, to }, back };
  }
}

it("a boot without time between two boots with time loses and duplicates no record, and leaves the other boots' times right", () => {
  const writer = writerIn(memoryFolder());
  const random = seededRandom(SEED + 1);
  const count: Count = { lost: 0, doubled: 0, wrong: 0 };
  const right = (from: number) => ({ wall: (ms: number) => T0 + from + ms, kernel: () => true, service: () => null });
  const polls = (low: number, high: number): number => POLL_MS * Math.floor(low + random.next() * (high - low));
  for (let point = 0; point < POINTS; point += 1) {
    const { cut, lost, back } = cuts(polls);
    const wall0 = Math.floor(random.next() * 60_000);
    const lived = live(writer, `booth-${point}`, [
      { boot: "a", from: 0, to: cut, ...right(0) },
      { boot: "b", ...lost, wall: (ms) => wall0 + ms, kernel: () => false, service: () => null },
      { boot: "c", from: back, to: LENGTH_MS, ...right(back) },
    ]);
    countRecords(count, writer, lived);
    const spans = spansOf(writer, lived.stream, LENGTH_MS);
    const seen = spans.reduce((sum, { mode, start, end }) => sum + (mode === "no_data" ? 0 : end - start), 0);
    const most = LENGTH_MS - (back - lost.to) - (lost.from - cut);
    // Two borders of the lost boot are known to within a poll each. A gap up to the bridge is filled.
    const isKept = seen >= most - 2 * POLL_MS && seen <= LENGTH_MS;
    const ok = isTrue(spans, 0, cut - POLL_MS) && isTrue(spans, back + POLL_MS, LENGTH_MS) && tile(spans) && isKept;
    if (!ok) count.wrong += 1;
  }
  writer.close();
  tell("a boot that never learns the time, between two that do, at random points", count);
});
