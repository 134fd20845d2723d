import { KIND, type LogRecord, type Placed } from "../../domain/record.ts";
import type { RowSizes } from "../../domain/storage.ts";
import type { Seq, StreamId } from "../../domain/units.ts";
import { StoreDamaged } from "../open.ts";
import type { ContextRecords, NextChunk, NextChunks, StreamInfo } from "../port.ts";
import { bodyOf, hasContext } from "./chunk.ts";
import { ifWhole, type LogRow, seqsOfLog, unpackFact, unpackLog } from "./rows.ts";
import type { ReadStatements, Statements } from "./statements.ts";

/** Log rows looked at for one read, and how many are fetched at a time: a chunk alone holds more than most answers. */
const READ_ROWS = 64;
const PAGE_ROWS = 4;

type Ask = { readonly from: Seq; readonly limit: number };

/** Asks for no record after `last`. */
type BoundedAsk = Ask & { readonly last: Seq };

/** Returns a reader of records in seq order, and calls `mendAt` where it finds damage. */
export function recordReader(
  sql: Statements,
  mendAt: (info: StreamInfo, seq: Seq) => void,
): (info: StreamInfo, ask: BoundedAsk) => readonly Placed[] {
  const unpack = rememberingLast();
  const gather = (info: StreamInfo, ask: BoundedAsk, reach: Reach): readonly Placed[] => {
    const { rows, isEnd } = rowsFor(sql, { info, reach }, ask);
    const isDamaged = (): void => mendAt(info, Math.max(ask.from, info.oldest_seq));
    const log = wholeOf(rows, unpack, isDamaged)
      .flatMap((records) => firstOf(records, ask))
      .filter(({ seq }) => seq <= ask.last);
    // Facts after the last log row read belong to a later answer, unless there is no later log row.
    const to = isEnd ? info.newest_seq : (rows.at(-1)?.last_seq ?? 0);
    const facts = wholeOf(
      sql.factsFrom.all({ stream: info.stream, from: ask.from, to, rows: ask.limit }),
      unpackFact,
      isDamaged,
    );
    const merged: Placed[] = [...log, ...facts];
    const given = merged.sort((a, b) => a.seq - b.seq).slice(0, ask.limit);
    // A damaged inner page hides whole rows: what neither eviction nor an earlier find explains is noted as missing.
    const expected = (given.at(-1)?.seq ?? ask.last) - ask.from + 1;
    if (ask.from >= info.oldest_seq && given.length < expected) isDamaged();
    // Everything that could be sent may have been given up, and what stands there waits for a sync.
    if (given.length === 0 && !isEnd && reach === "pages" && info.oldest_seq <= ask.last) {
      throw new StoreDamaged(`the store is damaged: its rows are out of order at seq ${ask.from}`);
    }
    return given;
  };
  return (info, ask) => {
    if (ask.from > ask.last) return [];
    const near = gather(info, ask, "rows");
    // The rows that should do may be damaged: those behind them tell more.
    return near.length > 0 ? near : gather(info, ask, "pages");
  };
}

/** As many of a row's records as may be answered. They stand in seq order: a chunk is asked for several times in turn. */
function firstOf(records: readonly Placed<LogRecord>[], { from, limit }: Ask): readonly Placed<LogRecord>[] {
  const begin = records.findIndex(({ seq }) => seq >= from);
  return begin < 0 ? [] : records.slice(begin, begin + limit);
}

/** How far is looked: no further than the rows that should do, or whole pages of them. */
type Reach = "rows" | "pages";

/** Rows from the one that holds `from` on, until they have as many seqs as are asked for. */
function rowsFor(
  sql: Statements,
  { info: { stream }, reach }: { readonly info: StreamInfo; readonly reach: Reach },
  ask: Ask,
): { rows: readonly LogRow[]; isEnd: boolean } {
  const rows: LogRow[] = [];
  let next = ask.from;
  let seqs = 0;
  // A chunk alone mostly does, and each is some KB to be copied.
  let wanted = reach === "rows" ? 1 : PAGE_ROWS;
  while (seqs < ask.limit && rows.length < READ_ROWS) {
    const page = sql.logRowsFrom.all({ stream, from: next, rows: wanted });
    // The first page may begin with a row before `from`: what stood between was given up.
    const fresh = page.filter(({ last_seq }) => last_seq >= next);
    const isEnd = page.length < wanted;
    if (fresh.length === 0 && (isEnd || wanted === PAGE_ROWS)) return { rows, isEnd };
    for (const row of fresh) {
      rows.push(row);
      seqs += row.last_seq - Math.max(row.first_seq, next) + 1;
      // Unpacking a chunk that isn't needed yet costs more than the answer.
      if (seqs >= ask.limit && reach === "rows") return { rows, isEnd: false };
    }
    if (isEnd) return { rows, isEnd };
    next = Math.max(next, (fresh.at(-1)?.last_seq ?? next - 1) + 1);
    wanted = PAGE_ROWS;
  }
  return { rows, isEnd: false };
}

/** A chunk is asked for several times in turn, for one batch after the other. */
function rememberingLast(): (row: LogRow) => Placed<LogRecord>[] {
  let last: { readonly of: string; readonly records: Placed<LogRecord>[] } | null = null;
  return (row) => {
    const of = `${row.stream_id} ${row.first_seq} ${row.crc}`;
    if (last?.of !== of) last = { of, records: unpackLog(row) };
    return last.records;
  };
}

/** The undamaged; calls back once where some are damaged. */
function wholeOf<R, V>(rows: readonly R[], unpack: (row: R) => V, isDamaged: () => void): V[] {
  const whole = rows.map((row) => ifWhole(unpack, row)).filter((value) => value !== undefined);
  if (whole.length < rows.length) isDamaged();
  return whole;
}

/** Log rows looked at for one answer: their heads alone, so it takes some milliseconds. */
const MOST_ROWS = 256;
/** Fetched at a time. */
const ROWS_AT_ONCE = 32;

/** Finds parameter and clock records without unpacking what lies between them. */
export function contextRecordsIn(
  sql: Pick<ReadStatements, "logRowsFrom">,
  { stream, sendable_seq }: StreamInfo,
  ask: { readonly from: Seq; readonly end: Seq },
): ContextRecords {
  const end = Math.min(ask.end, sendable_seq);
  let next = ask.from;
  for (let looked = 0; looked < MOST_ROWS && next <= end;) {
    const page = sql.logRowsFrom.all({ stream, from: next, rows: ROWS_AT_ONCE });
    const rows = page.filter(({ last_seq }) => last_seq >= next);
    for (const row of rows) {
      const found = mayHold(row) ? firstContextRecords(row, { from: next, end }) : [];
      const last = found.at(-1);
      if (last !== undefined) return { records: found, looked_to: last.seq };
      next = row.last_seq + 1;
    }
    if (page.length < ROWS_AT_ONCE) return { records: [], looked_to: end };
    looked += ROWS_AT_ONCE;
  }
  return { records: [], looked_to: Math.min(next - 1, end) };
}

function mayHold({ packed }: LogRow): boolean {
  return isPacked(packed) && hasContext(packed);
}

/** A damaged row holds none: the log's own reading finds and declares it. */
function firstContextRecords(
  row: LogRow,
  { from, end }: { readonly from: Seq; readonly end: Seq },
): Placed<LogRecord>[] {
  const records = (ifWhole(unpackLog, row) ?? []).filter(
    ({ kind, seq }) => (kind === KIND.clock || kind === KIND.parameters) && seq >= from && seq <= end,
  );
  const broken = records.findIndex(({ seq }, index) => index > 0 && seq !== (records[index - 1]?.seq ?? 0) + 1);
  return broken < 0 ? records : records.slice(0, broken);
}

/** Returns the first seqs of the ranges that gap records give up in the row beginning at a seq; a damaged row is lost with them. */
export function gapsAt(sql: Pick<Statements, "logRow">, stream: StreamId, seq: Seq): readonly Seq[] {
  const row = sql.logRow.get({ stream, seq });
  const records = row === undefined ? [] : (ifWhole(unpackLog, row) ?? []);
  return records.flatMap((record) => (record.kind === KIND.gap ? [record.value.from] : []));
}

/** More facts than this in one row are a booth out of order. */
const MOST_FACTS = 1_000;

type ChunkStatements = Pick<Statements, "logRow" | "rowBehind" | "logRowsFrom" | "factsFrom">;
type Stretch = { readonly from: Seq; readonly end: Seq };

/** Of one call: each call wakes another thread twice. */
const CHUNKS_AT_ONCE = 8;

export function chunksIn(
  store: { readonly sql: ChunkStatements; readonly sizes: RowSizes },
  info: StreamInfo,
  { from, end: most }: Stretch,
): NextChunks {
  const end = Math.min(most, info.sendable_seq);
  const first = chunkIn(store, info.stream, { from, end });
  const chunks: [NextChunk, ...NextChunk[]] = [first];
  for (let last = first; last.chunk !== null && last.to < end && chunks.length < CHUNKS_AT_ONCE; chunks.push(last))
    last = chunkIn(store, info.stream, { from: last.to + 1, end });
  return chunks;
}

/**
 * Returns the row that begins at a seq, or after facts that do, with all facts up to the next row. Rows with parameters or clock
 * records, short or damaged rows, and rows with a hole that facts don't fill must be read record by record, which finds and declares
 * missing records.
 */
function chunkIn(
  { sql, sizes }: { readonly sql: ChunkStatements; readonly sizes: RowSizes },
  stream: StreamId,
  { from, end }: Stretch,
): NextChunk {
  const mayBeChunk = (one: LogRow): boolean => mayGoAsStored(one, sizes.least_chunk_records);
  const row = sql.logRow.get({ stream, seq: from }) ?? rowsBehind(sql, stream, { from, rows: 2 })[0];
  const next = row && sql.rowBehind.get({ stream, seq: row.first_seq });
  const isFirst = row !== undefined && next !== undefined && row.first_seq >= from && next.first_seq <= end + 1;
  if (!isFirst || !mayBeChunk(row)) return { chunk: null, to: beforeChunk(sql, stream, { from, end, mayBeChunk }) };
  const to = next.first_seq - 1;
  const held = ifWhole(seqsOfLog, row)?.reduce((sum, [first, last]) => sum + last - first + 1, 0) ?? 0;
  const facts = sql.factsFrom.all({ stream, from, to, rows: MOST_FACTS + 1 });
  const whole = facts.flatMap((fact) => ifWhole(unpackFact, fact) ?? []);
  if (facts.length > MOST_FACTS || held + whole.length !== to - from + 1) return { chunk: null, to };
  const { first_seq, boot, mono0, t0, packed } = row;
  // A copy: its memory is handed over to another thread.
  return { chunk: { from, to, first_seq, boot, mono0, t0, body: new Uint8Array(bodyOf(packed)), facts: whole }, to };
}

/** By its head: what else it needs is seen once it is its turn. */
function mayGoAsStored({ packed, first_seq, last_seq }: LogRow, least: number): boolean {
  const isLong = last_seq - first_seq + 1 >= least;
  return isLong && isPacked(packed) && !hasContext(packed);
}

/** A flipped bit may have made something else than bytes of it. */
function isPacked(packed: unknown): boolean {
  return packed instanceof Uint8Array;
}

/** Where the next one may begin behind what is none: it is looked some rows ahead, so that short ones go together. */
function beforeChunk(
  sql: ChunkStatements,
  stream: string,
  { from, end, mayBeChunk }: Stretch & { readonly mayBeChunk: (row: LogRow) => boolean },
): Seq {
  const rows = rowsBehind(sql, stream, { from, rows: ROWS_AT_ONCE });
  const next = rows.find((row, index) => (index > 0 || row.first_seq > from) && mayBeChunk(row));
  // One row before `from` may have been among those.
  const looked = rows.length < ROWS_AT_ONCE - 1 ? end : (rows.at(-1)?.last_seq ?? end);
  return Math.min(end, next === undefined ? looked : next.first_seq - 1);
}

function rowsBehind(
  sql: ChunkStatements,
  stream: string,
  { from, rows }: { readonly from: Seq; readonly rows: number },
) {
  return sql.logRowsFrom.all({ stream, from, rows }).filter(({ last_seq }) => last_seq >= from);
}
