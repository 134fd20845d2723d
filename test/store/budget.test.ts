import { statSync } from "node:fs";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { hoursToFull, type StoreBudget } from "../../src/core/storage.ts";
import type { LogRecord } from "../../src/core/types/record.ts";
import { openStoreFile, storePath } from "../../src/store/open.ts";
import { createWriter, type Writer } from "../../src/store/writer.ts";
import { countingFold } from "../support/busy-log.ts";
import { clockRecord, reading } from "../support/records.ts";
import { memoryFolder } from "../support/temporary.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const BUDGET: StoreBudget = { max_bytes: 4_000_000, max_age_ms: 30 * DAY };
const FACT_EVERY = 50;

interface Bed {
  readonly folder: string;
  readonly budget: StoreBudget;
  writer: Writer;
  stream: string;
  take: number;
}

function open(folder: string, budget: StoreBudget): Writer {
  const fold = countingFold(FACT_EVERY);
  return createWriter({ db: openStoreFile(folder), fold, now: () => 0, wall: () => 0, uuid: () => "s-1", budget });
}

function bed(budget = BUDGET): Bed {
  const folder = memoryFolder();
  const writer = open(folder, budget);
  const one = { folder, budget, writer, stream: writer.openStream("booth-1").stream, take: 0 };
  commit(one, [clockRecord(0)]);
  return one;
}

function commit(one: Bed, records: readonly LogRecord[]): void {
  one.writer.ingest(one.stream, records, ++one.take);
}

/** An hour's commit: a value each half minute. */
function hour(one: Bed, index: number): void {
  commit(
    one,
    Array.from({ length: 120 }, (_, i) => reading(index * HOUR + i * 30_000, `tag_${(i % 12).toString()}`, index + i)),
  );
}

/** Database and WAL. */
function bytesOf(folder: string): number {
  return [storePath(folder), `${storePath(folder)}-wal`].reduce((sum, path) => sum + statSync(path).size, 0);
}

interface Kept {
  readonly log: Set<number>;
  readonly facts: Set<number>;
  readonly gaps: { from: number; to: number }[];
}

function keptIn(one: Bed): Kept {
  const kept: Kept = { log: new Set(), facts: new Set(), gaps: [] };
  const { newest_seq } = one.writer.info(one.stream);
  for (let from = 1; from <= newest_seq;) {
    const records = one.writer.read(one.stream, from, 5_000);
    for (const { seq, kind, value } of records) {
      (kind === "m" ? kept.facts : kept.log).add(seq);
      if (kind === "g") kept.gaps.push(value);
    }
    from = (records.at(-1)?.seq ?? newest_seq) + 1;
  }
  return kept;
}

describe("a store with a budget", () => {
  it("keeps within it over a busy year, half of it without the service, and declares exactly what is missing", () => {
    const one = bed();
    const acksUntil = 180 * 24;
    let acked = 0;
    let largest = 0;
    for (let index = 0; index < 365 * 24; index += 1) {
      hour(one, index);
      if (index < acksUntil) acked = one.writer.ack(one.stream, one.writer.info(one.stream).newest_seq).acked_seq;
      largest = Math.max(largest, bytesOf(one.folder));
    }
    const { newest_seq, oldest_seq } = one.writer.info(one.stream);
    const { log, facts, gaps } = keptIn(one);
    expect(largest).toBeLessThanOrEqual(BUDGET.max_bytes);
    expect(largest).toBeGreaterThan(BUDGET.max_bytes / 2);
    const declared = new Set<number>();
    for (const { from, to } of gaps) for (let seq = from; seq <= to; seq += 1) declared.add(seq);
    const wrong: number[] = [];
    for (let seq = acked + 1; seq <= newest_seq; seq += 1) {
      const isThere = log.has(seq) || facts.has(seq);
      if (!isThere && !declared.has(seq)) wrong.push(seq);
      if (log.has(seq) && declared.has(seq)) wrong.push(seq);
    }
    expect(wrong).toEqual([]);
    expect([...declared].every((seq) => seq > acked && seq < oldest_seq)).toBe(true);
    expect(declared.size).toBe(oldest_seq - 1 - acked);
    // Facts outlive the readings they were made from: all of the half year that nobody has yet.
    expect([...facts].filter((seq) => seq > acked && seq < oldest_seq).length).toBeGreaterThan(8_000);
    one.writer.close();
  });

  it("drops what was acked before anything else, without a gap record", () => {
    const one = bed({ max_bytes: 400_000, max_age_ms: 10 * 365 * DAY });
    for (let index = 0; index < 1_500; index += 1) {
      hour(one, index);
      one.writer.ack(one.stream, one.writer.info(one.stream).newest_seq);
    }
    expect(one.writer.info(one.stream).oldest_seq).toBeGreaterThan(1);
    expect(keptIn(one).gaps).toEqual([]);
    one.writer.close();
  });

  it("drops acked records by their age, others not", () => {
    const one = bed({ max_bytes: 64_000_000, max_age_ms: DAY });
    for (let index = 0; index < 240; index += 1) hour(one, index);
    expect(one.writer.info(one.stream).oldest_seq).toBe(1);
    const half = 120 * 120;
    one.writer.ack(one.stream, half);
    hour(one, 240);
    const { oldest_seq } = one.writer.info(one.stream);
    // Chunks go whole.
    expect(oldest_seq).toBeGreaterThan(half - 4_200);
    expect(oldest_seq).toBeLessThanOrEqual(half + 1);
    expect(keptIn(one).gaps).toEqual([]);
    one.writer.close();
  });

  it("starts again after rows were given up with the same state, folding nothing that is gone", () => {
    const budget = { ...BUDGET, max_bytes: 400_000 };
    const one = bed(budget);
    for (let index = 0; index < 1_000; index += 1) hour(one, index);
    const [info, state] = [one.writer.info(one.stream), structuredClone(one.writer.state(one.stream))];
    expect(info.oldest_seq).toBeGreaterThan(1);
    const copy = memoryFolder();
    // As a crash leaves it: what a close would save is missing.
    new Database(storePath(one.folder), { readonly: true }).prepare("VACUUM INTO ?").run(storePath(copy));
    const again = open(copy, budget);
    again.openStream("booth-1");
    expect(again.info(one.stream)).toEqual(info);
    expect(again.state(one.stream)).toEqual(state);
    again.close();
    one.writer.close();
  });

  it("tells how long it can go on without the service", () => {
    const fill = { max_bytes: 1_000, used_bytes: 500, kept: 100, unacked: 50, kept_ms: 10 * HOUR };
    expect(hoursToFull(fill)).toBe(15);
    expect(hoursToFull({ ...fill, unacked: 0 })).toBe(20);
    expect(hoursToFull({ ...fill, used_bytes: 2_000, unacked: 100 })).toBe(0);
    expect(hoursToFull({ ...fill, kept_ms: HOUR - 1 })).toBeNull();
    expect(hoursToFull({ ...fill, kept: 0 })).toBeNull();
  });
});
