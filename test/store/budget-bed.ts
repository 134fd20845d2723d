import { statSync } from "node:fs";
import type { StoreBudget } from "../../src/domain/storage.ts";
import type { LogRecord } from "../../src/domain/record.ts";
import { openStoreFile, storePath } from "../../src/store/open.ts";
import { createWriter, type Writer } from "../../src/store/thread/writer.ts";
import { countingFold } from "./busy-log.ts";
import { clockRecord, reading } from "../support/records.ts";
import { allRecords } from "../support/store.ts";
import { memoryFolder } from "../support/temporary.ts";

export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;
export const BUDGET: StoreBudget = { max_bytes: 4_000_000, max_age_ms: 30 * DAY };
export const FACT_EVERY = 200;

export interface Bed {
  readonly folder: string;
  readonly budget: StoreBudget;
  writer: Writer;
  stream: string;
  take: number;
}

export function openBudgeted(folder: string, budget: StoreBudget): Writer {
  const fold = countingFold(FACT_EVERY);
  return createWriter({ db: openStoreFile(folder), fold, now: () => 0, wall: () => 0, uuid: () => "s-1", budget });
}

/** Makes a bed whose clock is unconfirmed. */
export function unsynced(budget: StoreBudget): Bed {
  const folder = memoryFolder();
  const writer = openBudgeted(folder, budget);
  return { folder, budget, writer, stream: writer.openStream("booth-1").stream, take: 0 };
}

export function restart(one: Bed): void {
  one.writer.close();
  one.writer = openBudgeted(one.folder, one.budget);
  one.writer.openStream("booth-1");
}

export function bed(budget = BUDGET): Bed {
  const one = unsynced(budget);
  commit(one, [clockRecord(0)]);
  return one;
}

export function commit(one: Bed, records: readonly LogRecord[]): void {
  one.writer.ingest(one.stream, records, ++one.take);
}

/**
 * Commits an hour with a value each half minute. The values follow no pattern, so they compress no better than measured
 * ones.
 */
export function hour(one: Bed, index: number): void {
  commit(
    one,
    Array.from({ length: 120 }, (_, i) =>
      reading(index * HOUR + i * 30_000, `tag_${i % 12}`, (index * 7_919 + i * i * 104_729) % 1_009),
    ),
  );
}

/** Returns the size of the database and its WAL. */
export function bytesOf(folder: string): number {
  return [storePath(folder), `${storePath(folder)}-wal`].reduce((sum, path) => sum + statSync(path).size, 0);
}

export interface Kept {
  readonly log: Set<number>;
  readonly facts: Set<number>;
  readonly gaps: { from: number; to: number }[];
}

export function keptIn(one: Bed): Kept {
  const kept: Kept = { log: new Set(), facts: new Set(), gaps: [] };
  for (const { seq, kind, value } of allRecords(one.writer, one.stream)) {
    (kind === "m" ? kept.facts : kept.log).add(seq);
    if (kind === "g") kept.gaps.push(value);
  }
  return kept;
}

/** Returns the seqs that are neither stored nor declared as dropped. */
export function lostIn(one: Bed, { log, facts, gaps }: Kept): readonly number[] {
  const all = Array.from({ length: one.writer.info(one.stream).newest_seq }, (_, index) => index + 1);
  return all.filter(
    (seq) => !log.has(seq) && !facts.has(seq) && !gaps.some(({ from, to }) => seq >= from && seq <= to),
  );
}
