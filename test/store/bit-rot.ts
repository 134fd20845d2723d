import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { LogRecord, Placed } from "../../src/domain/record.ts";
import { storePath } from "../../src/store/open.ts";
import { openReader } from "../../src/store/reader.ts";
import type { Writer } from "../../src/store/thread/writer.ts";
import { allRecords, keptStoreIn } from "../support/store.ts";
import { countingFold } from "./busy-log.ts";
import { clockRecord, reading } from "../support/records.ts";
import { seededRandom } from "../support/seeded-random.ts";

const FOLD = countingFold(12);
const ALWAYS = { start: 0, end: Number.MAX_SAFE_INTEGER };

/** Counts of the results of flips. Each flip is one of the first four. `wrong` counts values and missing records. */
export interface Rot {
  readonly flips: number;
  /** The copy had all records. */
  harmless: number;
  /** Rows were removed, and a gap record names them. */
  quarantined: number;
  /** The file was set aside and salvaged into a new file. */
  salvaged: number;
  /** The store rejected the file with a message. */
  refused: number;
  /** Number of records that gap records declared lost, over all flips. */
  declared: number;
  /** Number of records that can't be read, over all flips. */
  lost: number;
  /** Number of values that were never written, and of records that are missing without a gap record. */
  wrong: number;
  readonly examples: string[];
}

interface Opened {
  readonly writer: Writer;
  readonly salvages: () => number;
}

function open(folder: string): Opened {
  let salvages = 0;
  let names = 0;
  const uuid = (): string => `s-${++names}`;
  const salvaged = (): void => void (salvages += 1);
  return { writer: keptStoreIn(folder, { fold: FOLD, uuid, salvaged }), salvages: () => salvages };
}

/** The files of a store with the write-ahead log, copied while the store is open, as after a kill. */
export interface StoreImage {
  readonly name: string;
  readonly bytes: Buffer;
}

/** Returns the counts before the first flip. */
export function emptyRot(flips: number): Rot {
  const none = { harmless: 0, quarantined: 0, salvaged: 0, refused: 0, declared: 0, lost: 0, wrong: 0 };
  return { flips, ...none, examples: [] };
}

/**
 * Makes a store of some thousand records, and flips one bit in each copy: in the database, or in its write-ahead log.
 */
export function rot(folder: string, flips: number, seed: number): Rot {
  const { images, truth } = filledStore(join(folder, "whole"), COMMITS);
  const random = seededRandom(seed);
  const result = emptyRot(flips);
  const size = images.reduce((sum, { bytes }) => sum + bytes.length, 0);
  for (let flip = 0; flip < flips; flip += 1) {
    const copy = join(folder, `flip-${flip}`);
    mkdirSync(copy);
    let at = Math.floor(random.next() * size);
    const bit = Math.floor(random.next() * 8);
    const hit = images.find(({ bytes }) => at < bytes.length || ((at -= bytes.length), false));
    for (const { name, bytes } of images)
      writeFileSync(join(copy, name), name === hit?.name ? flipped(bytes, at, bit) : bytes);
    judgeCopy(result, { copy, truth, what: `${hit?.name ?? ""} byte ${at} bit ${bit}` });
    rmSync(copy, { recursive: true });
  }
  return result;
}

function flipped(bytes: Buffer, at: number, bit: number): Buffer {
  const spoilt = Buffer.from(bytes);
  spoilt[at] = (spoilt[at] ?? 0) ^ (1 << bit);
  return spoilt;
}

/** Number of commits, each with 30 readings. */
const COMMITS = 120;
/** Number of last commits that are only in the write-ahead log. */
const IN_WAL = 8;

/** Makes a store of this many commits. Returns its files, and the records by seq. The folder must not exist. */
export function filledStore(
  whole: string,
  commits: number,
): {
  readonly images: readonly StoreImage[];
  readonly truth: ReadonlyMap<number, string>;
} {
  mkdirSync(whole);
  const first = open(whole).writer;
  first.openStream("booth-1");
  first.ingest("s-1", [clockRecord(0)], 1);
  for (let take = 2; take < commits - IN_WAL; take += 1) first.ingest("s-1", minute(take), take);
  first.close();
  const { writer } = open(whole);
  for (let take = commits - IN_WAL; take < commits; take += 1) writer.ingest("s-1", minute(take), take);
  const truth = new Map(allRecords(writer).map((record) => [record.seq, JSON.stringify(record)]));
  const images = ["", "-wal"].map((suffix) => {
    const path = storePath(whole) + suffix;
    return { name: `store.db${suffix}`, bytes: readFileSync(path) };
  });
  writer.close();
  return { images, truth };
}

function minute(take: number): LogRecord[] {
  return Array.from({ length: 30 }, (_, i) => reading(take * 60_000 + i * 2_000, `tag_${i % 9}`, take + i));
}

/** `copy`: the folder; `truth`: the written records by seq. */
export interface RotCase {
  readonly copy: string;
  readonly truth: ReadonlyMap<number, string>;
  readonly what: string;
}

/** Opens a damaged copy like an agent, and counts the result. */
export function judgeCopy(result: Rot, { copy, truth, what }: RotCase): void {
  const found = (problems: readonly string[]): void => {
    if (problems.length === 0) return;
    result.wrong += problems.length;
    result.examples.push(`${what}: ${problems[0] ?? ""} (${problems.length})`);
  };
  let opened: Opened | null = null;
  try {
    opened = open(copy);
    const { writer } = opened;
    writer.openStream("booth-1");
    while (writer.check());
    writer.ingest("s-1", minute(5_000), 5_000);
    const told = allRecords(writer);
    const declared = declaredBy(told);
    found(problemsIn(told, { truth, declared }));
    found(problemsInReports(copy, { truth, declared }));
    result.declared += declared.size;
    const seen = new Set(told.map(({ seq }) => seq));
    result.lost += [...truth.keys()].filter((seq) => !seen.has(seq)).length;
    if (opened.salvages() > 0) result.salvaged += 1;
    else if (declared.size > 0) result.quarantined += 1;
    else result.harmless += 1;
  } catch (error) {
    found([String(error)]);
    result.refused += 1;
  } finally {
    opened?.writer.close();
  }
}

interface Judged {
  readonly truth: ReadonlyMap<number, string>;
  readonly declared: ReadonlySet<number>;
}

function declaredBy(told: readonly Placed[]): Set<number> {
  const declared = new Set<number>();
  for (const record of told) {
    if (record.kind !== "g") continue;
    for (let seq = record.value.from; seq <= record.value.to; seq += 1) declared.add(seq);
  }
  return declared;
}

/** Returns the errors in the records for delivery. */
function problemsIn(told: readonly Placed[], { truth, declared }: Judged): string[] {
  const problems: string[] = [];
  const bySeq = new Map(told.map((record) => [record.seq, JSON.stringify(record)]));
  if (bySeq.size < told.length) problems.push("a seq is there twice");
  for (const [seq, original] of truth) {
    const found = bySeq.get(seq);
    if (found === undefined && !declared.has(seq)) problems.push(`seq ${seq} is missing without a word`);
    if (found !== undefined && found !== original) problems.push(`seq ${seq} is ${found}, was ${original}`);
  }
  return problems;
}

/** Returns the errors in the data for reports: every reading of the log, every fact by its time. */
function problemsInReports(folder: string, { truth, declared }: Judged): string[] {
  const reader = openReader(folder, FOLD);
  const told = [...reader.log("s-1", ALWAYS), ...reader.facts("s-1", "m", ALWAYS)] as Placed[];
  reader.close();
  return problemsIn(told, { truth, declared }).map((problem) => `report: ${problem}`);
}
