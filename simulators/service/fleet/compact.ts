import { isDeepStrictEqual } from "node:util";
import { type Db, inTransaction, row, rows, run } from "../storage/db.ts";
import { MAX_RECORDS } from "../ingest/chunk.ts";
import { messageOf } from "../ingest/pack.ts";
import { recordsIn, type StoredRecord } from "../ingest/kept.ts";
import { bucketFor, bucketOf, isRaw, RAW_BUCKETS } from "../storage/postgres/held.ts";
import { DAY_MS } from "../../../src/domain/time.ts";

/** A day is left to settle so long: what was late comes mostly within it. */
const SETTLES_MS = 2 * 3_600_000;
/**
 * Age from which records of the current day are compacted: nothing late is inserted among them, but they may be
 * offered again.
 */
const OFFERED_AGAIN_MS = 15 * 60_000;
/** Segments that are made one in a transaction: it holds the stream, and batches of it wait. */
const MOST_SEGMENTS = 4_000;

interface Raw {
  readonly from_seq: number;
  readonly to_seq: number;
  readonly bucket: number;
  readonly boot: number;
  readonly first_mono: number;
  readonly last_mono: number;
  readonly end_mono: number;
  readonly offset_ms: number;
  readonly received_at: number;
  readonly message: Uint8Array;
}

interface Compacted {
  readonly segments: number;
  readonly into: number;
  readonly bytes: number;
  readonly into_bytes: number;
}

/**
 * Returns the booth's streams with more settled records than one segment holds. Each fold reads two days, and the
 * current day is most of them.
 */
export function settledStreams(db: Db, boothId: string, now: number): string[] {
  const sql = `SELECT s.stream_id FROM streams s JOIN segments g ON g.stream_no = s.id
    WHERE s.booth_id = ? AND g.bucket >= ? AND g.received_at < ?
    GROUP BY s.stream_id HAVING sum(g.to_seq - g.from_seq + 1) > ?`;
  const found = rows<{ stream_id: string }>(db, sql, boothId, RAW_BUCKETS, now - OFFERED_AGAIN_MS, MAX_RECORDS);
  return found.map(({ stream_id }) => stream_id);
}

/** Streams that have segments of days that are over, as they came. */
export function rawStreams(db: Db, now: number): string[] {
  const sql = `SELECT DISTINCT s.stream_id FROM segments g JOIN streams s ON s.id = g.stream_no
    WHERE g.bucket >= ? AND g.bucket < ? ORDER BY s.stream_id`;
  return rows<{ stream_id: string }>(db, sql, RAW_BUCKETS, lastRaw(now)).map(({ stream_id }) => stream_id);
}

/** Days before it are over. */
function lastRaw(now: number): number {
  return RAW_BUCKETS + Math.floor((now - SETTLES_MS) / DAY_MS);
}

/**
 * Compacts a stream's segments: those of finished days into one for each MAX_RECORDS, and those of the current day
 * that fill one. Runs in one transaction that keeps `held`, the stream's version, the records and their seqs. Records
 * that the chunk format can't hold stay as they arrived.
 */
export function compactStream(db: Db, streamId: string, now: number): Compacted {
  const done = { segments: 0, into: 0, bytes: 0, into_bytes: 0 };
  for (;;) {
    const found = db.transaction("apart", () => compactSome(db, streamId, now));
    done.segments += found.segments;
    done.into += found.into;
    done.bytes += found.bytes;
    done.into_bytes += found.into_bytes;
    if (found.segments === 0) return done;
  }
}

interface Owner {
  readonly id: number;
  readonly stream_id: string;
  readonly gateway_id: string;
  readonly generation: number;
}

function compactSome(db: Db, streamId: string, now: number): Compacted {
  const lock = "SELECT id, stream_id, gateway_id, generation FROM streams WHERE stream_id = ? FOR UPDATE SKIP LOCKED";
  const stream = row<Owner>(db, lock, streamId);
  if (stream === undefined) return { segments: 0, into: 0, bytes: 0, into_bytes: 0 };
  const sql = `SELECT from_seq, to_seq, bucket, boot, first_mono, last_mono, end_mono, offset_ms, received_at, message FROM segments
    WHERE stream_no = ? AND bucket >= ? AND (bucket < ? OR received_at < ?) ORDER BY from_seq LIMIT ${MOST_SEGMENTS}`;
  const raws = rows<Raw>(db, sql, stream.id, RAW_BUCKETS, lastRaw(now), now - OFFERED_AGAIN_MS);
  const sizes = { segments: 0, into: 0, bytes: 0, into_bytes: 0 };
  const isOver = ({ bucket }: Raw): boolean => bucket < lastRaw(now);
  const going = [...groupsOf(raws.filter((raw) => !isOver(raw)))].filter(({ is_full }) => is_full);
  for (const group of [...groupsOf(raws.filter(isOver)), ...going]) {
    sizes.segments += group.raws.length;
    const drop = "DELETE FROM segments WHERE stream_no = ? AND from_seq = ? AND bucket = ?";
    for (const { from_seq, bucket, message } of group.raws) {
      run(db, drop, stream.id, from_seq, bucket);
      sizes.bytes += message.byteLength;
    }
    for (const kept of packed(stream, group) ?? group.raws) {
      insert(db, stream, { kept, now });
      sizes.into += 1;
      sizes.into_bytes += kept.message.byteLength;
    }
  }
  return sizes;
}

interface Group {
  readonly raws: Raw[];
  readonly records: StoredRecord[];
  /** The next one has no room in it. */
  is_full: boolean;
}

/** Neighbors of one boot and one clock, each MAX_RECORDS at most: nothing is between two of them but what isn't held or is a row. */
function* groupsOf(raws: readonly Raw[]): Generator<Group> {
  const empty = (): Group => ({ raws: [], records: [], is_full: false });
  let group = empty();
  for (const raw of raws) {
    const records = recordsIn(raw.message);
    const last = group.raws.at(-1);
    const follows = last?.boot === raw.boot && last.offset_ms === raw.offset_ms && last.to_seq + 1 === raw.from_seq;
    const seqs = raw.to_seq - (group.raws[0]?.from_seq ?? raw.from_seq) + 1;
    group.is_full = follows && (group.records.length + records.length > MAX_RECORDS || seqs > MAX_RECORDS);
    if ((!follows || group.is_full) && group.raws.length > 0) {
      yield group;
      group = empty();
    }
    group.raws.push(raw);
    group.records.push(...records);
  }
  if (group.raws.length > 0) yield group;
}

/** Packs all records into one segment; undefined if the packed segment would differ. */
function packed(stream: Owner, { raws, records }: Group): Raw[] | undefined {
  const first = raws[0];
  const last = raws.at(-1);
  if (first === undefined || last === undefined) return undefined;
  const whose = { gw: stream.gateway_id, gen: stream.generation, st: stream.stream_id };
  const read = records.map(([kind, tag, boot, mono, time, value, quality, seq]) => {
    return { seq, kind, tag, boot, mono, time, value: JSON.parse(value) as unknown, quality };
  });
  const message = messageOf({ ...whose, from: first.from_seq, to: last.to_seq }, read);
  if (message === undefined) return undefined;
  const isSame = isDeepStrictEqual(recordsIn(message), records);
  const isSmaller = message.byteLength < raws.reduce((sum, raw) => sum + raw.message.byteLength, 0);
  if (!isSame || !isSmaller) return undefined;
  const reach = {
    first_mono: Math.min(...raws.map((raw) => raw.first_mono)),
    last_mono: Math.max(...raws.map((raw) => raw.last_mono)),
    end_mono: Math.max(...raws.map((raw) => raw.end_mono)),
  };
  return [{ ...last, ...reach, from_seq: first.from_seq, to_seq: last.to_seq, message }];
}

function insert(db: Db, stream: Owner, { kept, now }: { readonly kept: Raw; readonly now: number }): void {
  const { from_seq, to_seq, boot, first_mono, last_mono, end_mono, offset_ms, received_at, message } = kept;
  const sql = `INSERT INTO segments (stream_no, from_seq, to_seq, bucket, boot, first_mono, last_mono, end_mono, offset_ms, received_at, message)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
  const bucket = bucketFor(db, bucketOf(last_mono + offset_ms, now));
  const when = [boot, first_mono, last_mono, end_mono, offset_ms, received_at] as const;
  run(db, sql, stream.id, from_seq, to_seq, bucket, ...when, message);
}

/** Partitions of raw days that are over and hold nothing any more; answers how many went. */
export function dropEmptied(db: Db, now: number): number {
  return inTransaction(db, () => {
    const sql = `SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
      WHERE i.inhparent = 'segments'::regclass ORDER BY c.relname`;
    let dropped = 0;
    for (const { name } of rows<{ name: string }>(db, sql)) {
      const bucket = Number(name.slice("segments_".length));
      if (!isRaw(bucket) || bucket >= lastRaw(now)) continue;
      const holds = (): boolean => row(db, `SELECT 1 FROM ${name} LIMIT 1`) !== undefined;
      if (holds()) continue;
      run(db, `LOCK TABLE ${name} IN ACCESS EXCLUSIVE MODE`);
      if (holds()) continue;
      db.exec(`DROP TABLE ${name}`);
      dropped += 1;
    }
    return dropped;
  });
}

/** Drops what is older than so many days, thirty days at a time, and the rows beside it; `held` stays: it was held. Answers how many partitions went. */
export function retain(db: Db, days: number, now: number): number {
  return inTransaction(db, () => {
    const oldest = now - days * DAY_MS;
    const sql = `SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'segments'::regclass`;
    let dropped = 0;
    for (const { name } of rows<{ name: string }>(db, sql)) {
      const bucket = Number(name.slice("segments_".length));
      const isOld = isRaw(bucket) ? (bucket - RAW_BUCKETS + 1) * DAY_MS <= oldest : bucketOf(oldest, now) > bucket;
      if (Number.isNaN(bucket) || bucket < 0 || !isOld) continue;
      db.exec(`DROP TABLE ${name}`);
      dropped += 1;
    }
    // Keeps the records that figures always need: parameters, filter events, withdrawals.
    const rest = "DELETE FROM records WHERE time < ? AND kind IN ('r', 'h', 'e', 'm', 'c', 'd', 'i', 'g')";
    run(db, rest, bucketOf(oldest, now) * BUCKET_DAYS * DAY_MS);
    if (dropped > 0) run(db, "UPDATE streams SET version = version + 1");
    return dropped;
  });
}

const BUCKET_DAYS = 30;
