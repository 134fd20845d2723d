import { KIND, type LogRecord, type Placed } from "../../domain/record.ts";
import type { RowSizes } from "../../domain/storage.ts";
import type { Seq, StreamId } from "../../domain/units.ts";
import { StoreDamaged } from "../open.ts";
import type { ContextRecords, NextChunk, NextChunks, StreamInfo } from "../port.ts";
import { bodyOf, hasContext } from "./chunk.ts";
import { ifWhole, type LogRow, seqsOfLog, unpackFact, unpackLog } from "./rows.ts";
import type { ReadStatements, Statements } from "./statements.ts";

/** Maximum number of log rows for one answer, and number of rows fetched at a time. One chunk usually suffices for an answer. */
const READ_ROWS = 64;
const PAGE_ROWS = 4;
/** Maximum number of attempts if a read finds only damaged rows. The rows are repaired after each attempt. */
const MOST_TRIES = 3;

/** A request for records up to `last`. */
interface Ask {
  readonly from: Seq;
  readonly limit: number;
  readonly last: Seq;
}

/** Returns a function that reads records in seq order and calls `mendAt` if it finds damage. */
export function recordReader(
  sql: Statements,
  mendAt: (info: StreamInfo, seq: Seq) => void,
): (info: StreamInfo, ask: Ask) => readonly Placed[] {
  const unpack = rememberingLast();
  const gather = (info: StreamInfo, ask: Ask) => {
    const { rows, isEnd } = rowsFor(sql, info.stream, ask);
    let isDamaged = false;
    const wholeOf = <R, V>(found: readonly R[], unpackOne: (row: R) => V): V[] => {
      const whole = found.map((row) => ifWhole(unpackOne, row)).filter((value) => value !== undefined);
      isDamaged ||= whole.length < found.length;
      return whole;
    };
    const log = wholeOf(rows, unpack).flatMap((records) => firstOf(records, ask));
    // Leaves facts after the last row for the next answer, unless it is the log's last row and no further answer could have them.
    const to = isEnd ? info.newest_seq : (rows.at(-1)?.last_seq ?? 0);
    const facts = wholeOf(sql.factsFrom.all({ stream: info.stream, from: ask.from, to, rows: ask.limit }), unpackFact);
    const merged: Placed[] = [...log, ...facts];
    const given = merged.sort((a, b) => a.seq - b.seq).slice(0, ask.limit);
    // Expects every record unless it was evicted or noted as lost, because a damaged inner page of the database hides whole rows.
    const expected = (given.at(-1)?.seq ?? ask.last) - ask.from + 1;
    if (ask.from >= info.oldest_seq && given.length < expected) isDamaged = true;
    // Without a found record, `isHidden` means that the rows are out of order: some row should hold a record up to `last`. A first row that
    // begins after `last` is no fault. The records up to `last` were then deleted, and that row waits for a clock sync.
    const isHidden = !isEnd && info.oldest_seq <= ask.last && (rows[0]?.first_seq ?? 0) <= ask.last;
    return { given, isDamaged, isHidden };
  };
  return (info, ask) => {
    if (ask.from > ask.last) return [];
    for (let tries = 1; ; tries += 1) {
      const { given, isDamaged, isHidden } = gather(info, ask);
      if (isDamaged) mendAt(info, Math.max(ask.from, info.oldest_seq));
      if (given.length > 0 || (!isDamaged && !isHidden)) return given;
      if (tries < MOST_TRIES) continue;
      if (isHidden) throw new StoreDamaged(`the store is damaged: its rows are out of order at seq ${ask.from}`);
      return [];
    }
  };
}

/** Returns the requested records of a row. */
function firstOf(records: readonly Placed<LogRecord>[], { from, limit, last }: Ask): readonly Placed<LogRecord>[] {
  const begin = records.findIndex(({ seq }) => seq >= from);
  return begin < 0 ? [] : records.slice(begin, begin + limit).filter(({ seq }) => seq <= last);
}

/** Returns rows, beginning with the one that holds `from`, until they hold as many seqs as requested. */
function rowsFor(sql: Statements, stream: StreamId, { from, limit }: Ask): { rows: LogRow[]; isEnd: boolean } {
  const rows: LogRow[] = [];
  let next = from;
  let seqs = 0;
  while (rows.length < READ_ROWS) {
    const page = sql.logRowsFrom.all({ stream, from: next, rows: PAGE_ROWS });
    const isEnd = page.length < PAGE_ROWS;
    // Drops the page's first row if it ends before the page's first seq. This happens if the records in between were deleted.
    const fresh = page.filter(({ last_seq }) => last_seq >= next);
    for (const row of fresh) {
      // Stops before rows that aren't needed yet, because unpacking such a chunk would cost more than the whole answer.
      if (seqs >= limit) return { rows, isEnd: false };
      rows.push(row);
      seqs += row.last_seq - Math.max(row.first_seq, next) + 1;
      next = row.last_seq + 1;
    }
    if (isEnd || fresh.length === 0) return { rows, isEnd };
  }
  return { rows, isEnd: false };
}

/** Caches the last unpacked row, because a chunk is requested several times in turn, once for each batch. */
function rememberingLast(): (row: LogRow) => Placed<LogRecord>[] {
  let last: { readonly of: string; readonly records: Placed<LogRecord>[] } | null = null;
  return (row) => {
    const of = `${row.stream_id} ${row.first_seq} ${row.crc}`;
    if (last?.of !== of) last = { of, records: unpackLog(row) };
    return last.records;
  };
}

/** Maximum number of log rows searched for one answer. Only their heads are read, which takes some milliseconds. */
const MOST_ROWS = 256;
/** Number of rows fetched at a time in a search for context records. */
const ROWS_AT_ONCE = 32;

/** Finds context records (parameters and clock records) without unpacking the rows between them. */
export function contextRecordsIn(
  sql: ReadStatements,
  { stream, sendable_seq }: StreamInfo,
  ask: Stretch,
): ContextRecords {
  const end = Math.min(ask.end, sendable_seq);
  let next = ask.from;
  for (let searched = 0; searched < MOST_ROWS && next <= end; searched += ROWS_AT_ONCE) {
    const page = sql.logRowsFrom.all({ stream, from: next, rows: ROWS_AT_ONCE });
    for (const row of page.filter(({ last_seq }) => last_seq >= next)) {
      const found = isPacked(row) && hasContext(row.packed) ? firstContextRecords(row, { from: next, end }) : [];
      const last = found.at(-1);
      if (last !== undefined) return { records: found, looked_to: last.seq };
      next = row.last_seq + 1;
    }
    if (page.length < ROWS_AT_ONCE) return { records: [], looked_to: end };
  }
  return { records: [], looked_to: Math.min(next - 1, end) };
}

/** Returns the first consecutive context records of a row; none if the row is damaged, because the reader of all records reports that. */
function firstContextRecords(row: LogRow, { from, end }: Stretch): Placed<LogRecord>[] {
  const records = (ifWhole(unpackLog, row) ?? []).filter(
    ({ kind, seq }) => (kind === KIND.clock || kind === KIND.parameters) && seq >= from && seq <= end,
  );
  const broken = records.findIndex(({ seq }, index) => index > 0 && seq !== (records[index - 1]?.seq ?? 0) + 1);
  return broken < 0 ? records : records.slice(0, broken);
}

/** Returns the first seq of each range that a gap record reports in the row at `seq`; none if the row is damaged. */
export function gapsAt(sql: Statements, stream: StreamId, seq: Seq): readonly Seq[] {
  const row = sql.logRow.get({ stream, seq });
  const records = row === undefined ? [] : (ifWhole(unpackLog, row) ?? []);
  return records.flatMap((record) => (record.kind === KIND.gap ? [record.value.from] : []));
}

/** Maximum number of facts sent with one row. Only a faulty booth makes more. */
const MOST_FACTS = 1_000;
/** Number of chunks per call. Fewer calls are better, because each one wakes another thread twice. */
const CHUNKS_AT_ONCE = 8;

interface ChunkStore {
  readonly sql: Statements;
  readonly sizes: RowSizes;
}

interface Stretch {
  readonly from: Seq;
  readonly end: Seq;
}

export function chunksIn(store: ChunkStore, info: StreamInfo, ask: Stretch): NextChunks {
  const end = Math.min(ask.end, info.sendable_seq);
  const first = chunkIn(store, info.stream, { from: ask.from, end });
  const chunks: [NextChunk, ...NextChunk[]] = [first];
  for (let last = first; last.chunk !== null && last.to < end && chunks.length < CHUNKS_AT_ONCE; chunks.push(last))
    last = chunkIn(store, info.stream, { from: last.to + 1, end });
  return chunks;
}

/**
 * Returns the next row, which begins at a seq, with the facts before it and all facts up to the following row. Some rows must be read
 * record by record, so that missing records are found and reported: rows with parameters or clock records, short rows, damaged rows, and
 * rows with a hole that facts don't fill.
 */
function chunkIn({ sql, sizes }: ChunkStore, stream: StreamId, { from, end }: Stretch): NextChunk {
  const mayBeChunk = (row: LogRow): boolean =>
    row.last_seq - row.first_seq + 1 >= sizes.least_chunk_records && isPacked(row) && !hasContext(row.packed);
  const rowsAfter = (rows: number): LogRow[] =>
    sql.logRowsFrom.all({ stream, from, rows }).filter(({ last_seq }) => last_seq >= from);
  const row = sql.logRow.get({ stream, seq: from }) ?? rowsAfter(2)[0];
  const next = row && sql.rowBehind.get({ stream, seq: row.first_seq });
  const isFirst = row !== undefined && next !== undefined && row.first_seq >= from && next.first_seq <= end + 1;
  if (!isFirst || !mayBeChunk(row)) {
    // Searches some rows ahead, so that short rows are sent together.
    const ahead = rowsAfter(ROWS_AT_ONCE);
    const later = ahead.find((one, index) => (index > 0 || one.first_seq > from) && mayBeChunk(one));
    // Counts `ROWS_AT_ONCE - 1` rows as a full page, because the page may have begun with one row before `from`.
    const searched = ahead.length < ROWS_AT_ONCE - 1 ? end : (ahead.at(-1)?.last_seq ?? end);
    return { chunk: null, to: Math.min(end, later === undefined ? searched : later.first_seq - 1) };
  }
  const to = next.first_seq - 1;
  const held = ifWhole(seqsOfLog, row)?.reduce((sum, [first, last]) => sum + last - first + 1, 0) ?? 0;
  const facts = sql.factsFrom.all({ stream, from, to, rows: MOST_FACTS + 1 });
  const whole = facts.flatMap((fact) => ifWhole(unpackFact, fact) ?? []);
  if (facts.length > MOST_FACTS || held + whole.length !== to - from + 1) return { chunk: null, to };
  const { first_seq, boot, mono0, t0, packed } = row;
  // Copies the body, because its memory is transferred to another thread.
  return { chunk: { from, to, first_seq, boot, mono0, t0, body: new Uint8Array(bodyOf(packed)), facts: whole }, to };
}

/** Returns whether the row's body is bytes. A flipped bit may have changed the type of the cell. */
function isPacked({ packed }: { readonly packed: unknown }): boolean {
  return packed instanceof Uint8Array;
}
