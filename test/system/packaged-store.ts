import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import Database from "better-sqlite3";
import { type Db, inSnapshot, rows } from "../../simulators/service/storage/db.ts";
import { sqliteDb } from "../../simulators/service/storage/sqlite.ts";
import { recordsOf, type StoredRecord } from "../../simulators/service/ingest/records.ts";
import { findStream } from "../../simulators/service/ingest/streams.ts";
import type { StoreBudget } from "../../src/domain/storage.ts";
import type { LogRecord } from "../../src/domain/record.ts";
import type { EpochMs, Milliseconds, Seq } from "../../src/domain/units.ts";
import { fileBudget } from "../../src/store/retention/budget.ts";
import { deriveFold } from "../../src/store/facts/fold.ts";
import { openStoreFile } from "../../src/store/open.ts";
import { createWriter } from "../../src/store/thread/writer.ts";
import type { Container } from "./container.ts";
import { ownRecords } from "../support/store.ts";
import { STATE, UNIT } from "./packaged-site.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { memoryFolder, temporaryFolder } from "../support/temporary.ts";

/** The store of a packaged agent, and what the service holds of it. */

/** Polled each second: a loop that waits for a disk of 2 s would leave 3 s at least. */
const FAST_GROUP = "fast";
const LONGEST_INTERVAL_MS = 2_500;
/** Uptime is read to a hundredth of a second, and the service's word for the time comes with a round trip. */
const CLOCK_TOLERANCE_MS = 500;

/** A folder of ours with the store as it is now. */
export function copyOfStore(box: Container): string {
  box.sh("rm -rf /root/backup && mkdir /root/backup && booth-gateway store backup /root/backup/store.db");
  const folder = join(temporaryFolder(), "backup");
  cpSync(box.inside("/root/backup"), folder, { recursive: true });
  return folder;
}

/** Stretches of the fast group's polls, in the log from one seq to another, in which a poll was left out. */
export function leftOut(folder: string, from: Seq, to: Seq): number {
  const coverage = ownRecords(folder).records.filter(({ seq }) => seq >= from && seq <= to);
  return coverage.filter(
    ({ kind, tag, value }) => kind === "h" && tag === FAST_GROUP && value.max_interval_ms > LONGEST_INTERVAL_MS,
  ).length;
}

/** Of a boot's records in the log: those before an instant of its elapsed time, stretches of polls that end behind it, wrong times. */
export function aroundUptime(
  folder: string,
  { boot, mono, began }: { readonly boot: string; readonly mono: Milliseconds; readonly began: EpochMs },
): { readonly before: number; readonly behind: number; readonly wrong: number } {
  const own = ownRecords(folder).records.filter((record) => record.boot === boot);
  return {
    before: own.filter((record) => record.mono < mono).length,
    behind: own.filter(({ kind, value }) => kind === "h" && value.to > mono).length,
    wrong: own.filter((record) => Math.abs(record.time - record.mono - began) > CLOCK_TOLERANCE_MS).length,
  };
}

/** Database and write-ahead log. */
export function bytesOf(box: Container): number {
  return ["store.db", "store.db-wal"].reduce((sum, name) => sum + statSync(box.inside(join(STATE, name))).size, 0);
}

/** Files of the store, gone as if somebody had removed them. */
export function removeStore(box: Container): number {
  const files = readdirSync(box.inside(STATE)).filter((name) => name.startsWith("store.db"));
  for (const name of files) rmSync(join(box.inside(STATE), name));
  return files.length;
}

/** Where only the service vouched for the time it is off by half an answer's way at most. */
const VOUCHED_MS = 4_000;

function storedBy(db: Db, stream: string): StoredRecord[] {
  return inSnapshot(db, () => {
    const found = findStream(db, stream);
    return found === undefined ? [] : [...recordsOf(db, found, {})];
  });
}

/** Records of the stream that the service has put outside of those instants. */
export function heldOutside(data: string, stream: string, [from, to]: readonly [EpochMs, EpochMs]): number {
  const db = sqliteDb(new Database(join(data, "service.db"), { readonly: true }));
  try {
    const times = storedBy(db, stream).map(([, , , , time]) => time);
    return times.filter((time) => time < from - VOUCHED_MS || time > to + VOUCHED_MS).length;
  } finally {
    db.close();
  }
}

/** Does something with the store while the agent is stopped, in a folder of ours, and puts it back. The agent runs on. */
export function onStoppedStore(box: Container, change: (folder: string) => void): void {
  box.sh(`systemctl stop ${UNIT}`);
  const folder = memoryFolder();
  const theirs = join(box.inside(STATE), "store.db");
  const ours = join(folder, "store.db");
  // A stop that was cut short leaves the newest in the write-ahead log.
  const ahead = existsSync(`${theirs}-wal`);
  cpSync(theirs, ours);
  if (ahead) cpSync(`${theirs}-wal`, `${ours}-wal`);
  inStore(folder, []);
  change(folder);
  // Its owner stays.
  writeFileSync(theirs, readFileSync(ours));
  if (ahead) writeFileSync(`${theirs}-wal`, "");
  box.sh(`systemctl start --no-block ${UNIT}`);
}

/** Carries the statements out in the folder's store. */
export function inStore(folder: string, statements: readonly string[]): void {
  const db = new Database(join(folder, "store.db"));
  for (const statement of statements) db.exec(statement);
  db.pragma("wal_checkpoint(TRUNCATE)");
  db.close();
}

const NEVER_OLD: StoreBudget = { max_bytes: 1e9, max_age_ms: 3_650 * 86_400_000 };
const TEXTS_PER_COMMIT = 20;
const TEXT_BYTES = 900;

/**
 * Readings that nobody else has, in the folder's store, until the agent must make room under that budget: texts, which nothing
 * makes smaller, each with a checksum behind it. Gives the seq of the newest.
 */
export function fillWithTexts(folder: string, max_bytes: number): Seq {
  const db = openStoreFile(folder);
  const writer = createWriter({
    db,
    fold: deriveFold,
    now: () => 0,
    wall: () => 0,
    uuid: () => "none",
    budget: NEVER_OLD,
  });
  const file = fileBudget(db, { ...NEVER_OLD, max_bytes });
  const { high, most } = file.limits();
  const { stream, newest_seq, last_take } = writer.openStream("booth-1");
  const [last] = writer.read(stream, newest_seq, 1);
  if (last === undefined) throw new Error("the store holds nothing yet");
  const random = seededRandom(8);
  for (let commit = 1; file.usedPages() < (high + most) / 2; commit += 1) {
    const mono = last.mono + commit;
    const at = last.at + commit;
    const texts = Array.from({ length: TEXTS_PER_COMMIT }, (_, index): LogRecord => {
      const value = withSum(Buffer.from(random.bytes(TEXT_BYTES)).toString("base64url"));
      return { kind: "r", boot: last.boot, mono, at, tag: `text_${index}`, value, quality: "good" };
    });
    writer.ingest(stream, texts, last_take + commit);
  }
  const filled = writer.info(stream).newest_seq;
  writer.close();
  return filled;
}

const SUM_CHARS = 8;
const withSum = (text: string): string => text + crc32(text).toString(16).padStart(SUM_CHARS, "0");

const PART_BYTES = 100;

/** Flips a bit of the row that holds that reading, in the file itself. Gives how many records the row has. */
export function rotRow(folder: string, seq: Seq): number {
  const path = join(folder, "store.db");
  const { packed, records } = rowOf(path, seq);
  const bytes = readFileSync(path);
  // Of its texts, which are random: what stands at its end is the same in all rows. One of the parts lies in one page. Pages that are
  // free may hold the row as well: those change nothing.
  const parts = [1, 2, 3, 4].map((nth) => packed.subarray(nth * PART_BYTES, (nth + 1) * PART_BYTES));
  for (const part of parts) {
    for (let at = bytes.indexOf(part); at >= 0; at = bytes.indexOf(part, at + 1)) {
      bytes[at] = (bytes[at] ?? 0) ^ 1;
      writeFileSync(path, bytes);
      if (!rowOf(path, seq).packed.equals(packed)) return records;
    }
  }
  throw new Error(`the file doesn't show where record ${seq} is`);
}

function rowOf(path: string, seq: Seq): { readonly packed: Buffer; readonly records: number } {
  const db = new Database(path, { readonly: true });
  try {
    const sql = "SELECT packed, last_seq - first_seq + 1 AS records FROM log WHERE first_seq <= ? AND last_seq >= ?";
    const row = db.prepare<[Seq, Seq], { packed: Buffer; records: number }>(sql).get(seq, seq);
    if (row === undefined) throw new Error(`no row holds record ${seq}`);
    return row;
  } finally {
    db.close();
  }
}

/** What the service makes of a stream: seqs missing without a word, those declared missing by reason, texts that aren't as written. */
export interface Accounted {
  readonly silent: number;
  readonly declared: Readonly<Record<string, number>>;
  readonly spoilt: number;
  readonly texts: number;
}

export function accountedAt(data: string, stream: string): Accounted {
  const db = sqliteDb(new Database(join(data, "service.db"), { readonly: true }));
  try {
    const of = "stream_no = (SELECT id FROM streams WHERE stream_id = ?)";
    const held = storedBy(db, stream);
    const gaps = rows<Gap>(db, `SELECT from_seq, to_seq, reason FROM seq_gaps WHERE ${of}`, stream);
    const seqs = new Set(held.map(([, , , , , , , seq]) => seq));
    const missing = Array.from({ length: Math.max(...seqs) }, (_, index) => index + 1).filter((seq) => !seqs.has(seq));
    const reasons = missing.map((seq) => gaps.find(({ from_seq, to_seq }) => from_seq <= seq && seq <= to_seq)?.reason);
    const texts = held.flatMap(([kind, , , , , value]) => (kind === "r" && value.length > TEXT_BYTES ? [value] : []));
    const declared: Record<string, number> = {};
    for (const reason of reasons) if (reason !== undefined) declared[reason] = (declared[reason] ?? 0) + 1;
    return {
      silent: reasons.filter((reason) => reason === undefined).length,
      declared,
      spoilt: texts
        .map((text) => JSON.parse(text) as string)
        .filter((text) => withSum(text.slice(0, -SUM_CHARS)) !== text).length,
      texts: texts.length,
    };
  } finally {
    db.close();
  }
}

interface Gap {
  readonly from_seq: Seq;
  readonly to_seq: Seq;
  readonly reason: string;
}
