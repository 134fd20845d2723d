import { type Db, row, rows, run } from "../db.ts";
import { WRITERS } from "./settings.ts";
import { DAY_MS } from "../../../../src/domain/time.ts";

/**
 * The held range of a stream, in its row: `held` is a set of ranges, independent of how the records are stored. It
 * stays the same when segments are compacted, taken apart, or dropped for their age.
 */

/** Thirty days of records go into one partition, which retention drops whole. */
const BUCKET_MS = 30 * 86_400_000;
/** Partitions are made for times that a booth's records can have; those of clocks that were never set lie beside them, in one. */
const BUCKETS_BACK = 40;
const BUCKETS_AHEAD = 2;
/** Bucket of records with impossible times, such as the first days of 1970. */
export const OTHER_BUCKET = -1;

export function holdsAny(db: Db, id: number, [from, to]: readonly [number, number]): boolean {
  const sql = "SELECT 1 FROM streams WHERE id = ? AND held && int8range(?, ?, '[]')";
  return row(db, sql, id, from, to) !== undefined;
}

/** The newest seq; 0: none. */
export function newest(db: Db, id: number): number {
  return (
    row<{ newest: number }>(db, "SELECT coalesce(upper(held) - 1, 0) AS newest FROM streams WHERE id = ?", id)
      ?.newest ?? 0
  );
}

/** The last of those that follow on `from` without a hole. */
export function upTo(db: Db, id: number, from: number): number {
  const sql = `SELECT upper(one) - 1 AS last FROM streams, unnest(held) AS one WHERE id = ? AND one @> ?::bigint`;
  return row<{ last: number }>(db, sql, id, from + 1)?.last ?? from;
}

/** Which of from..to are held. */
export function within(db: Db, id: number, [from, to]: readonly [number, number]): [from: number, to: number][] {
  const sql = `SELECT lower(one) AS first, upper(one) - 1 AS last
    FROM streams, unnest(held * int8multirange(int8range(?, ?, '[]'))) AS one WHERE id = ?`;
  return rows<{ first: number; last: number }>(db, sql, from, to, id).map(({ first, last }) => [first, last]);
}

export function add(db: Db, id: number, ranges: readonly (readonly [from: number, to: number])[]): void {
  if (ranges.length === 0) return;
  run(db, "UPDATE streams SET held = held + ?::int8multirange WHERE id = ?", multirange(ranges), id);
}

/** As PostgreSQL reads it. */
export function multirange(ranges: readonly (readonly [from: number, to: number])[]): string {
  return `{${ranges.map(([from, to]) => `[${from},${to}]`).join(",")}}`;
}

/**
 * First number of the daily partitions for arriving messages. Such a partition is empty once its day is compacted,
 * and is then dropped.
 */
export const RAW_BUCKETS = 1_000_000;

export function isRaw(bucket: number): boolean {
  return bucket >= RAW_BUCKETS;
}

/** Returns the partition for arriving records of that time. */
export function rawBucketOf(time: number, now: number): number {
  return bucketOf(time, now) === OTHER_BUCKET ? OTHER_BUCKET : RAW_BUCKETS + Math.floor(time / DAY_MS);
}

/** The partition for records of that time. */
export function bucketOf(time: number, now: number): number {
  const bucket = Math.floor(time / BUCKET_MS);
  const today = Math.floor(now / BUCKET_MS);
  return bucket > today + BUCKETS_AHEAD || bucket < today - BUCKETS_BACK ? OTHER_BUCKET : bucket;
}

/** The same partition, made where it isn't there yet. */
export function bucketFor(db: Db, bucket: number): number {
  const isThere = "SELECT 1 FROM pg_class WHERE relname = ?";
  if (bucket === OTHER_BUCKET || row(db, isThere, `segments_${bucket}`) !== undefined) return bucket;
  db.exec(`SELECT pg_advisory_xact_lock(${WRITERS})`);
  for (const statement of bucketStatements(bucket)) db.exec(statement);
  return bucket;
}

/** Returns the statements that create a partition unless it exists. Run by one program at a time. */
export function bucketStatements(bucket: number): string[] {
  const name = `segments_${bucket}`;
  const parts = Array.from({ length: STREAM_PARTS }, (_, nth) => {
    const of = `FOR VALUES WITH (MODULUS ${STREAM_PARTS}, REMAINDER ${nth})`;
    return `CREATE TABLE IF NOT EXISTS ${name}_${nth} PARTITION OF ${name} ${of}`;
  });
  const span = `FOR VALUES FROM (${bucket}) TO (${bucket + 1})`;
  return [`CREATE TABLE IF NOT EXISTS ${name} PARTITION OF segments ${span} PARTITION BY HASH (stream_no)`, ...parts];
}

/** Number of parts that can be inserted into and vacuumed in parallel. */
const STREAM_PARTS = 4;
