import { ANY_NUMBER, ANY_TEXT, type Db, each, row, rows, run, type SqlValue } from "../storage/db.ts";
import type { Content } from "./canonical.ts";
import * as heldRanges from "../storage/postgres/held.ts";
import { MAX_RECORDS } from "./chunk.ts";
import { isOf, type Kept, seqsIn, type StoredRecord, told, type Wanted } from "./kept.ts";
import { knownNumber, nameNumbers, namesByNumber } from "./names.ts";

export type { StoredRecord } from "./kept.ts";

/**
 * The stored records of a stream: rows and segments. A segment is a chunk's message as it arrived. It holds the
 * records of its body, and every seq of from..to counts as held: the message's facts are rows as well. All readers of
 * records use this file, which covers both.
 */
export interface StreamKey {
  readonly id: number;
  readonly gateway_id: string;
}

/**
 * Yields records in seq order. Read to the end without a pause: a segment that is taken apart meanwhile would be
 * missed.
 */
export function recordsOf(db: Db, stream: StreamKey, wanted: Wanted): IterableIterator<StoredRecord> {
  const found = namedRows(db, stream, wanted);
  const segments = segmentsOf(db, stream, wanted);
  if (segments.length === 0) return found;
  return merged(found, segments, { seqOf: ([, , , , , , , seq]) => seq, open: (one) => unpacked(db, one, wanted) });
}

function* namedRows(db: Db, stream: StreamKey, wanted: Wanted): Generator<StoredRecord, undefined> {
  type Row = [kind: string, tag: number, boot: number, ...rest: [number, number, string, string, number]];
  const nameOf = namesByNumber(db);
  const columns = "kind, tag, boot, mono, time, value, quality, seq";
  for (const [kind, number, boot, ...rest] of rowsOf<Row>(db, stream, { wanted, columns })) {
    const tag = nameOf(number);
    if (isOf({ kind, tag }, wanted)) yield [kind, tag, nameOf(boot), ...rest];
  }
}

/** A reading as stored; `value` is canonical JSON. */
type StoredReading = [tag: string, time: number, value: string, quality: string, seq: number];

/** Readings in the same way. */
export function readingsOf(
  db: Db,
  stream: StreamKey,
  { tags, times }: Pick<Wanted, "tags" | "times">,
): IterableIterator<StoredReading> {
  const wanted: Wanted = { kinds: ["r"], ...(tags && { tags }), ...(times && { times }) };
  const columns = "(SELECT name FROM names WHERE id = tag), time, value, quality, seq";
  const found = rowsOf<StoredReading>(db, stream, { wanted, columns });
  const segments = segmentsOf(db, stream, wanted);
  if (segments.length === 0) return found;
  const open = (segment: Segment): StoredReading[] =>
    Array.from(unpacked(db, segment, wanted), ([, tag, , , time, value, quality, seq]): StoredReading => {
      return [tag, time, value, quality, seq];
    });
  return merged(found, segments, { seqOf: ([, , , , seq]) => seq, open });
}

interface Merging<T> {
  readonly seqOf: (record: T) => number;
  readonly open: (segment: Segment) => Iterable<T>;
}

/** Rows and what segments hold, both in seq order. */
function* merged<T>(
  found: IterableIterator<T>,
  segments: readonly Segment[],
  { seqOf, open }: Merging<T>,
): Generator<T, undefined> {
  let next = found.next();
  try {
    for (const segment of segments) {
      for (const record of open(segment)) {
        const seq = seqOf(record);
        for (; next.done !== true && seqOf(next.value) < seq; next = found.next()) yield next.value;
        yield record;
      }
    }
    for (; next.done !== true; next = found.next()) yield next.value;
  } finally {
    found.return?.();
  }
}

/** The rows of a stream. */
const OF = `gateway_id = ${ANY_TEXT} AND stream_no = ${ANY_NUMBER}`;

function rowsOf<T extends readonly SqlValue[]>(
  db: Db,
  stream: StreamKey,
  { wanted, columns }: { readonly wanted: Wanted; readonly columns: string },
): IterableIterator<T> {
  const { kinds, tags, seqs, times } = wanted;
  const numbers = tags?.map((tag) => knownNumber(db, tag)).filter((number) => number !== undefined);
  const oneOf = (list: readonly unknown[]): string =>
    list.length === 0 ? "(NULL)" : `(${list.map(() => "?").join(", ")})`;
  const conditions = [
    OF,
    ...(seqs === undefined ? [] : ["seq BETWEEN ? AND ?"]),
    ...(kinds === undefined ? [] : [`kind IN ${oneOf(kinds)}`]),
    ...(times === undefined ? [] : ["time >= ? AND time < ?"]),
    ...(numbers === undefined ? [] : [`tag IN ${oneOf(numbers)}`]),
  ];
  const sql = `SELECT ${columns} FROM records WHERE ${conditions.join(" AND ")} ORDER BY seq`;
  const span = times === undefined ? [] : [times.start, times.end];
  const values = [...(seqs ?? []), ...(kinds ?? []), ...span, ...(numbers ?? [])];
  return each<T>(db, sql, stream.gateway_id, stream.id, ...values);
}

/** At most MAX_RECORDS long, and none has a seq of another one. */
interface Segment {
  readonly stream_no: number;
  readonly from_seq: number;
  readonly to_seq: number;
}

function segmentsOf(db: Db, stream: StreamKey, { seqs, times }: Wanted): Segment[] {
  const [from, to] = seqs ?? [0, Number.MAX_SAFE_INTEGER];
  const sql = `SELECT stream_no, from_seq, to_seq FROM segments
    WHERE stream_no = ${ANY_NUMBER} AND from_seq BETWEEN ${ANY_NUMBER} AND ${ANY_NUMBER} AND to_seq >= ?
    AND last_mono + offset_ms >= ? AND first_mono + offset_ms < ? ORDER BY from_seq`;
  const { start, end } = times ?? { start: -Number.MAX_VALUE, end: Number.MAX_VALUE };
  return rows<Segment>(db, sql, stream.id, from - MAX_RECORDS, to, from, start, end);
}

function messageOf(db: Db, { stream_no, from_seq }: Segment): Uint8Array {
  const sql = "SELECT message FROM segments WHERE stream_no = ? AND from_seq = ?";
  const found = row<{ message: Uint8Array }>(db, sql, stream_no, from_seq);
  if (found === undefined) throw new Error(`segment ${from_seq} of stream ${stream_no} is gone while it is read`);
  return found.message;
}

function* unpacked(db: Db, segment: Segment, wanted: Wanted): Generator<StoredRecord, undefined> {
  const { seqs, times } = wanted;
  for (const record of told(messageOf(db, segment), wanted)) {
    const [kind, tag, , , time, , , seq] = record;
    if (!isOf({ kind, tag }, wanted)) continue;
    if (seqs !== undefined && (seq < seqs[0] || seq > seqs[1])) continue;
    if (times !== undefined && (time < times.start || time >= times.end)) continue;
    yield record;
  }
}

/** Returns the content of the records stored in a range, in seq order. */
export function storedRange(
  db: Db,
  stream: StreamKey,
  seqs: readonly [from: number, to: number],
): (Content & { seq: number })[] {
  return Array.from(recordsOf(db, stream, { seqs }), ([kind, tag, boot, mono, , value, quality, seq]) => ({
    seq,
    kind,
    tag,
    boot,
    mono,
    value,
    quality,
  }));
}

/** Returns the stored seqs of a stream as ranges in order. Those of segments are read from their bodies. */
export function heldSeqs(db: Db, stream: StreamKey): [from: number, to: number][] {
  const sql = "SELECT seq FROM records WHERE gateway_id = ? AND stream_no = ? ORDER BY seq";
  const rowSeqs = each<[number]>(db, sql, stream.gateway_id, stream.id);
  const found = rangesOf(Array.from(rowSeqs, ([seq]) => seq));
  for (const segment of segmentsOf(db, stream, {})) {
    for (const range of seqsIn(messageOf(db, segment))) found.push(range);
  }
  found.sort(([one], [other]) => one - other);
  const ranges: [number, number][] = [];
  for (const range of found) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === range[0] - 1) last[1] = range[1];
    else ranges.push(range);
  }
  return ranges;
}

/** Whether anything is held of from..to. */
export function holdsAny(db: Db, stream: StreamKey, [from, to]: readonly [number, number]): boolean {
  if (db.engine === "postgres") return heldRanges.holdsAny(db, stream.id, [from, to]);
  const sql = `SELECT 1 FROM records WHERE ${OF} AND seq BETWEEN ${ANY_NUMBER} AND ${ANY_NUMBER} LIMIT 1`;
  if (row(db, sql, stream.gateway_id, stream.id, from, to) !== undefined) return true;
  return segmentsOf(db, stream, { seqs: [from, to] }).length > 0;
}

/** Returns the newest stored seq, even after gaps; 0: none. */
export function newestSeq(db: Db, stream: StreamKey): number {
  if (db.engine === "postgres") return heldRanges.newest(db, stream.id);
  const sql = `SELECT max(coalesce((SELECT max(seq) FROM records WHERE ${OF}), 0),
    coalesce((SELECT to_seq FROM segments WHERE stream_no = ${ANY_NUMBER} ORDER BY from_seq DESC LIMIT 1), 0)) AS newest`;
  return row<{ newest: number }>(db, sql, stream.gateway_id, stream.id, stream.id)?.newest ?? 0;
}

/** Returns the last record of the unbroken sequence that starts at `from`. */
export function heldUpTo(db: Db, stream: StreamKey, from: number): number {
  if (db.engine === "postgres") return heldRanges.upTo(db, stream.id, from);
  let held = from;
  for (;;) {
    const next = Math.max(endOfSegment(db, stream, held), endOfRows(db, stream, held));
    if (next === held) return held;
    held = next;
  }
}

function endOfSegment(db: Db, stream: StreamKey, from: number): number {
  const sql = `SELECT to_seq FROM segments WHERE stream_no = ${ANY_NUMBER} AND from_seq <= ${ANY_NUMBER} ORDER BY from_seq DESC LIMIT 1`;
  return Math.max(from, row<{ to_seq: number }>(db, sql, stream.id, from + 1)?.to_seq ?? from);
}

function endOfRows(db: Db, stream: StreamKey, from: number): number {
  const of = "FROM records AS r WHERE gateway_id = ? AND stream_no = ?";
  const place = [stream.gateway_id, stream.id] as const;
  if (row(db, `SELECT seq ${of} AND seq = ?`, ...place, from + 1) === undefined) return from;
  const sql = `SELECT seq ${of} AND seq > ? AND NOT EXISTS (SELECT 1 FROM records AS next
    WHERE next.gateway_id = r.gateway_id AND next.stream_no = r.stream_no AND next.seq = r.seq + 1) ORDER BY seq LIMIT 1`;
  return row<{ seq: number }>(db, sql, ...place, from)?.seq ?? from;
}

/** When the newest reading of a stream was taken. */
export function newestReadingAt(db: Db, stream: StreamKey): number | undefined {
  const sql =
    "SELECT seq, time FROM records WHERE gateway_id = ? AND stream_no = ? AND kind = 'r' ORDER BY seq DESC LIMIT 1";
  const newest = row<{ seq: number; time: number }>(db, sql, stream.gateway_id, stream.id);
  const newestFirst =
    "SELECT stream_no, from_seq, to_seq FROM segments WHERE stream_no = ? AND from_seq < ? ORDER BY from_seq DESC LIMIT 1";
  for (let before = Number.MAX_SAFE_INTEGER; ;) {
    const segment = row<Segment>(db, newestFirst, stream.id, before);
    if (segment === undefined || (newest !== undefined && newest.seq > segment.to_seq)) return newest?.time;
    const last = [...unpacked(db, segment, { kinds: ["r"] })].at(-1);
    if (last !== undefined) return last[4];
    before = segment.from_seq;
  }
}

/** A record to be stored as a row; `value` is canonical JSON. */
interface NewRow extends Content {
  readonly seq: number;
  readonly time: number;
}

interface Storing {
  readonly nowMs: number;
  readonly numberOf: (name: string) => number;
}

export interface Inserting extends Storing {
  readonly record: NewRow;
}

export function insertRow(db: Db, stream: StreamKey, { record, nowMs, numberOf }: Inserting): void {
  const { seq, kind, tag, boot, mono, time, value, quality } = record;
  const sql =
    "INSERT INTO records (gateway_id, stream_no, seq, kind, tag, boot, mono, time, value, quality, received_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
  const content = [kind, numberOf(tag), numberOf(boot), mono, time, value, quality] as const;
  run(db, sql, stream.gateway_id, stream.id, seq, ...content, nowMs);
}

export function deleteRow(db: Db, stream: StreamKey, seq: number): void {
  run(db, "DELETE FROM records WHERE gateway_id = ? AND stream_no = ? AND seq = ?", stream.gateway_id, stream.id, seq);
}

/**
 * Stores a message for its records that may stay packed. Returns the message as read back. The caller inserts the other
 * records.
 */
export function keepSegment(db: Db, stream: StreamKey, kept: Kept & Storing): Uint8Array {
  const { nowMs, numberOf, from, to, boot, first_mono, last_mono, end_mono, offset_ms, message } = kept;
  const when = [numberOf(boot), first_mono, last_mono, end_mono, offset_ms, nowMs] as const;
  const columns = "stream_no, from_seq, to_seq, boot, first_mono, last_mono, end_mono, offset_ms, received_at, message";
  const values = [stream.id, from, to, ...when, message] as const;
  if (db.engine === "postgres") {
    const sql = `INSERT INTO segments (${columns}, bucket) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
    run(db, sql, ...values, heldRanges.bucketFor(db, heldRanges.rawBucketOf(last_mono + offset_ms, nowMs)));
  } else run(db, `INSERT INTO segments (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, ...values);
  return messageOf(db, { stream_no: stream.id, from_seq: from, to_seq: to });
}

/**
 * Returns whether a seq of the range counts as held. PostgreSQL's retention drops records but keeps them counted as
 * held.
 */
export function heldOf(db: Db, stream: StreamKey, seqs: readonly [from: number, to: number]): (seq: number) => boolean {
  if (db.engine === "sqlite") return () => false;
  const ranges = heldRanges.within(db, stream.id, seqs);
  return (seq) => ranges.some(([from, to]) => from <= seq && seq <= to);
}

/** Returns which of from..to are held, as ranges in order. They may overlap. */
export function heldWithin(
  db: Db,
  stream: StreamKey,
  [from, to]: readonly [number, number],
): [from: number, to: number][] {
  if (db.engine === "postgres") return heldRanges.within(db, stream.id, [from, to]);
  const sql = `SELECT seq FROM records WHERE ${OF} AND seq BETWEEN ${ANY_NUMBER} AND ${ANY_NUMBER} ORDER BY seq`;
  const inRows = Array.from(each<[number]>(db, sql, stream.gateway_id, stream.id, from, to), ([seq]) => seq);
  const segments = segmentsOf(db, stream, { seqs: [from, to] });
  return [...rangesOf(inRows), ...segments.map(({ from_seq, to_seq }): [number, number] => [from_seq, to_seq])].sort(
    ([one], [other]) => one - other,
  );
}

/** Marks seqs as held. PostgreSQL stores that in the stream's row; SQLite looks it up. */
export function noteHeld(db: Db, stream: StreamKey, ranges: readonly (readonly [from: number, to: number])[]): void {
  if (db.engine === "postgres") heldRanges.add(db, stream.id, ranges);
}

/** Seqs in order, as ranges. */
export function rangesOf(seqs: readonly number[]): [from: number, to: number][] {
  const ranges: [number, number][] = [];
  for (const seq of seqs) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === seq - 1) last[1] = seq;
    else ranges.push([seq, seq]);
  }
  return ranges;
}

/** Converts the segments that overlap from..to into rows, whose records can be changed one by one. */
export function takeApart(db: Db, stream: StreamKey, seqs: readonly [from: number, to: number]): void {
  const numberOf = nameNumbers(db);
  for (const segment of segmentsOf(db, stream, { seqs })) {
    const records = [...unpacked(db, segment, {})];
    const sql = "DELETE FROM segments WHERE stream_no = ? AND from_seq = ? RETURNING received_at";
    const nowMs = row<{ received_at: number }>(db, sql, segment.stream_no, segment.from_seq)?.received_at ?? 0;
    for (const [kind, tag, boot, mono, time, value, quality, seq] of records) {
      insertRow(db, stream, { record: { kind, tag, boot, mono, time, value, quality, seq }, nowMs, numberOf });
    }
  }
}
