import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { LogRecord, Placed } from "../../src/core/types/record.ts";
import { openReader } from "../../src/store/reader.ts";
import { openStoreFile, storePath } from "../../src/store/open.ts";
import { createWriter, type Writer } from "../../src/store/writer.ts";
import { countingFold } from "./busy-log.ts";
import { clockRecord, reading } from "./records.ts";
import { seededRandom } from "./virtual-site.ts";

const FOLD = countingFold(40);

/** What became of flips. Every flip is one of them, but `wrong` counts values and missing records. */
export interface Rot {
  readonly flips: number;
  /** All was there. */
  harmless: number;
  /** Rows were taken out, and a gap record says which. */
  quarantined: number;
  /** SQLite or the store refused the file, saying so. */
  refused: number;
  /** Values that were never written, and records that are missing without a word. */
  wrong: number;
  readonly examples: string[];
}

function open(folder: string): Writer {
  return createWriter({ db: openStoreFile(folder), fold: FOLD, now: () => 0, wall: () => 0, uuid: () => "s-1" });
}

function all(writer: Writer): readonly Placed[] {
  const records: Placed[] = [];
  for (;;) {
    const more = writer.read("s-1", (records.at(-1)?.seq ?? 0) + 1, 1_000);
    if (more.length === 0) return records;
    records.push(...more);
  }
}

/** A store of some thousand records, flipped in one bit per copy. */
export function rot(folder: string, flips: number, seed: number): Rot {
  const whole = join(folder, "whole");
  mkdirSync(whole);
  const writer = open(whole);
  writer.openStream("booth-1");
  writer.ingest("s-1", [clockRecord(0)], 1);
  for (let take = 2; take < 120; take += 1) {
    writer.ingest("s-1", minute(take), take);
  }
  const truth = new Map(all(writer).map((record) => [record.seq, JSON.stringify(record)]));
  writer.close();
  const bytes = readFileSync(storePath(whole));
  const random = seededRandom(seed);
  const result: Rot = { flips, harmless: 0, quarantined: 0, refused: 0, wrong: 0, examples: [] };
  for (let flip = 0; flip < flips; flip += 1) {
    const copy = join(folder, `flip-${flip.toString()}`);
    mkdirSync(copy);
    copyFileSync(storePath(whole), storePath(copy));
    const at = Math.floor(random.next() * bytes.length);
    const bit = Math.floor(random.next() * 8);
    const spoilt = Buffer.from(bytes);
    spoilt[at] = (spoilt[at] ?? 0) ^ (1 << bit);
    writeFileSync(storePath(copy), spoilt);
    judge(result, { copy, truth, what: `byte ${at.toString()} bit ${bit.toString()}` });
  }
  return result;
}

function minute(take: number): LogRecord[] {
  return Array.from({ length: 30 }, (_, i) =>
    reading(take * 60_000 + i * 2_000, `tag_${(i % 9).toString()}`, take + i),
  );
}

interface Case {
  readonly copy: string;
  readonly truth: ReadonlyMap<number, string>;
  readonly what: string;
}

function judge(result: Rot, { copy, truth, what }: Case): void {
  let writer: Writer | null = null;
  try {
    writer = open(copy);
    writer.openStream("booth-1");
    all(writer);
    writer.ingest("s-1", minute(500), 500);
    const told = all(writer);
    const problems = problemsIn(told, truth);
    if (problems.length > 0) {
      result.wrong += problems.length;
      result.examples.push(`${what}: ${problems[0] ?? ""} (${problems.length.toString()})`);
    }
    const reader = openReader(copy, FOLD);
    for (const record of reader.log("s-1", { start: 0, end: Number.MAX_SAFE_INTEGER })) {
      const original = truth.get(record.seq);
      if (original !== undefined && original !== JSON.stringify(record)) result.wrong += 1;
    }
    reader.close();
    if (told.some(({ kind }) => kind === "g")) result.quarantined += 1;
    else result.harmless += 1;
  } catch (error) {
    if (!(error instanceof Error && "code" in error) && !String(error).includes("damaged")) {
      result.wrong += 1;
      result.examples.push(`${what}: ${String(error)}`);
    }
    result.refused += 1;
  } finally {
    writer?.close();
  }
}

function problemsIn(told: readonly Placed[], truth: ReadonlyMap<number, string>): string[] {
  const problems: string[] = [];
  const bySeq = new Map(told.map((record) => [record.seq, JSON.stringify(record)]));
  const declared = new Set<number>();
  for (const record of told) {
    if (record.kind !== "g") continue;
    for (let seq = record.value.from; seq <= record.value.to; seq += 1) declared.add(seq);
  }
  for (const [seq, original] of truth) {
    const found = bySeq.get(seq);
    if (found === undefined && !declared.has(seq)) problems.push(`seq ${seq.toString()} is missing without a word`);
    if (found !== undefined && found !== original) problems.push(`seq ${seq.toString()} is ${found}, was ${original}`);
  }
  return problems;
}
