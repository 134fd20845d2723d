import type { EpochMs, Seq, StreamId } from "../../domain/units.ts";
import type { StreamInfo } from "../port.ts";
import type { FileBudget } from "./budget.ts";
import type { EvictStatements, OldRow } from "./evict-statements.ts";
import { ifWhole, unpackLog, type LogRow } from "../log/rows.ts";

/** Rows dropped between two looks at the file's size; a chunk has some kilobytes. */
const ROWS_AT_A_TIME = 8;
/** One commit drops at most this many lots: it bounds how long it takes. */
const LOTS_PER_COMMIT = 250;
/** Rows go by age in lots of several hours: one by one they would double the blocks that each commit writes. */
const AGE_LOT_MS = 6 * 3_600_000;
/** Facts are what the years are told from. */
const FACT_AGE_MS = 400 * 86_400_000;
/** More than this share of the file's pages isn't kept free of readings nobody else has: acked facts go before those do. */
const FACT_SHARE = 1 / 2;
/** Rough size of a record in its row, for the room that a commit needs. */
const RECORD_BYTES = 120;

const BUDGET_IS_FULL = "the store's budget is full";

/** A range of seqs whose log records nobody will ever get. */
export interface GivenUp {
  readonly from: Seq;
  readonly to: Seq;
  readonly reason: string;
}

export interface Room {
  readonly givenUp: readonly GivenUp[];
  /** Oldest kept seq of each stream that lost some. */
  readonly oldest: ReadonlyMap<StreamId, Seq>;
}

export interface EvictTools {
  readonly sql: EvictStatements;
  readonly file: FileBudget;
}

/** `reserve_pages`: beside what the records need by the usual guess, which was too little before. */
interface Ask {
  readonly now: EpochMs;
  readonly records: number;
  readonly reserve_pages: number;
}

interface Making extends EvictTools {
  readonly info: StreamInfo;
  readonly oldest: Map<StreamId, Seq>;
  readonly isFull: () => boolean;
  lots: number;
  from: Seq | null;
}

/**
 * Inside a commit's transaction, before it appends: drops what has outlived its age, and, where the file is full, makes room
 * for `records` more. In this order: acked log rows of the stream, those of others, its acked facts as long as facts fill half of the
 * file, its unacked log rows, its acked facts, its rows that wait for a sync, its other facts. Always the oldest first and whole rows. The caller saves the
 * state in the same transaction, since start-up can't fold dropped rows again, and appends a gap record for each range given up.
 */
export function makeRoom(tools: EvictTools, info: StreamInfo, ask: Ask): Room {
  const { sql, file } = tools;
  const oldest = new Map<StreamId, Seq>();
  dropAged(tools, info, { now: ask.now, oldest });
  const { high, low, page_bytes } = file.limits();
  const needed = Math.ceil((ask.records * RECORD_BYTES) / page_bytes) + ask.reserve_pages;
  if (file.usedPages() + needed <= high) return { givenUp: [], oldest };
  const isFull = (): boolean => file.usedPages() + needed > low;
  const lots = ask.reserve_pages > 0 ? Number.POSITIVE_INFINITY : LOTS_PER_COMMIT;
  const making: Making = { sql, file, info, oldest, isFull, lots, from: null };
  const { stream, acked_seq } = info;
  dropRowsWhileFull(making, { stream, upTo: acked_seq });
  for (const { stream_id, up_to } of sql.freeUpTo.all()) {
    if (stream_id !== info.stream) dropRowsWhileFull(making, { stream: stream_id, upTo: up_to });
  }
  const before = (): Seq => (sql.firstRow.get(info.stream)?.first_seq ?? info.newest_seq + 1) - 1;
  // Pages are counted by reading them, hence once, and seldom: only where nothing acked is left in the log.
  const factPages = isFull() ? (sql.factPages.get()?.pages ?? 0) : 0;
  const spare = factPages - Math.floor(file.limits().most * FACT_SHARE);
  const least = file.usedPages() - spare;
  if (spare > 0) dropFactsWhileFull(making, Math.min(info.acked_seq, before()), () => file.usedPages() > least);
  dropRowsWhileFull(making, { stream, upTo: Number.MAX_SAFE_INTEGER });
  dropFactsWhileFull(making, Math.min(info.acked_seq, before()));
  dropRowsWhileFull(making, { stream, upTo: Number.MAX_SAFE_INTEGER, oldest: sql.oldestWaiting });
  dropFactsWhileFull(making, before());
  if (making.from === null) return { givenUp: [], oldest };
  return { givenUp: [{ from: making.from, to: before(), reason: BUDGET_IS_FULL }], oldest };
}

/** What was given up before the log's begin and isn't acked; the facts among it are there yet. */
export function givenUpBefore({ acked_seq, oldest_seq }: StreamInfo): readonly GivenUp[] {
  if (acked_seq + 1 >= oldest_seq) return [];
  return [{ from: acked_seq + 1, to: oldest_seq - 1, reason: BUDGET_IS_FULL }];
}

function dropAged(
  { sql, file }: EvictTools,
  info: StreamInfo,
  { now, oldest }: { now: EpochMs; oldest: Map<StreamId, Seq> },
): void {
  const first = sql.firstRow.get(info.stream);
  const limit = now - file.budget.max_age_ms;
  if (first === undefined || first.t0 >= limit - AGE_LOT_MS) return;
  const rows = sql.oldestRows.all({ stream: info.stream, rows: ROWS_AT_A_TIME * LOTS_PER_COMMIT });
  const kept = rows.findIndex(({ last_seq, t0 }) => last_seq > info.acked_seq || t0 >= limit);
  const last = kept < 0 ? rows.at(-1) : rows[kept - 1];
  if (last === undefined) return;
  drop({ sql, oldest }, info.stream, last);
  const facts = sql.oldestFacts.all({ stream: info.stream, upTo: info.acked_seq, rows: ROWS_AT_A_TIME });
  const old = facts.findIndex(({ end_ms }) => end_ms >= now - FACT_AGE_MS);
  const fact = old < 0 ? facts.at(-1) : facts[old - 1];
  if (fact !== undefined) dropFacts(sql, info.stream, fact.seq);
}

/** Whole rows that end at `upTo` at most, of the placed ones where it isn't said otherwise. */
interface Lot {
  readonly stream: StreamId;
  readonly upTo: Seq;
  readonly oldest?: EvictStatements["oldestRows"];
}

function dropRowsWhileFull(making: Making, { stream, upTo, oldest = making.sql.oldestRows }: Lot): void {
  while (making.lots > 0 && making.isFull()) {
    const rows = oldest.all({ stream, rows: ROWS_AT_A_TIME });
    const beyond = rows.findIndex(({ last_seq }) => last_seq > upTo);
    const going = beyond < 0 ? rows : rows.slice(0, beyond);
    const last = going.at(-1);
    if (last === undefined) return;
    if (stream === making.info.stream) noteGivenUp(making, going);
    drop(making, stream, last);
    making.lots -= 1;
  }
}

/** A gap record that goes itself hands its range on: the new one then begins where the old one did. */
function noteGivenUp(making: Making, rows: readonly OldRow[]): void {
  const { sql, info } = making;
  for (const { first_seq, last_seq, has_gap } of rows) {
    if (last_seq <= info.acked_seq) continue;
    const before = has_gap === 1 ? gapsIn(sql.row.get({ stream: info.stream, seq: first_seq })) : [];
    const from = Math.min(Math.max(first_seq, info.acked_seq + 1), ...before);
    making.from = Math.min(making.from ?? from, from);
  }
}

/** A damaged row has no range to hand on; what it held is given up with it. */
function gapsIn(row: LogRow | undefined): number[] {
  const records = row === undefined ? [] : (ifWhole(unpackLog, row) ?? []);
  return records.flatMap((record) => (record.kind === "g" ? [record.value.from] : []));
}

function drop({ sql, oldest }: Pick<Making, "sql" | "oldest">, stream: StreamId, last: OldRow): void {
  sql.dropRows.run({ stream, upTo: last.first_seq });
  const seq = sql.firstRow.get(stream)?.first_seq ?? last.last_seq + 1;
  sql.moveOldest.run({ stream, oldest: seq });
  oldest.set(stream, seq);
}

function dropFacts(sql: EvictStatements, stream: StreamId, upTo: Seq): void {
  sql.dropFacts.run({ stream, upTo });
  sql.moveFacts.run({ stream, upTo });
}

function dropFactsWhileFull(making: Making, upTo: Seq, goOn: () => boolean = () => true): void {
  const { sql, info } = making;
  while (making.lots > 0 && making.isFull() && goOn()) {
    const last = sql.oldestFacts.all({ stream: info.stream, upTo, rows: ROWS_AT_A_TIME }).at(-1);
    if (last === undefined) return;
    dropFacts(sql, info.stream, last.seq);
    making.lots -= 1;
  }
}
