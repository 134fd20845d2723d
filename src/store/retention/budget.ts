import type { Database } from "better-sqlite3";
import { statfsSync } from "node:fs";
import { RECORDS_AGE_MS, type StoreBudget } from "../../domain/storage.ts";
import { type GapRecord, LASTING_KINDS } from "../../domain/record.ts";
import { DAY_MS, HOUR_MS } from "../../domain/time.ts";
import type { EpochMs, Seq, StreamId } from "../../domain/units.ts";
import type { StreamInfo } from "../port.ts";

/** Maximum number of pages in the write-ahead log (WAL) before a checkpoint. With a small budget, it is a 16th of the budget's pages. */
const WAL_PAGES = 1_000;
/**
 * Shares of the file's pages, without the WAL. Above the first share, rows are deleted until the second is reached. The difference between
 * the shares bounds how often that happens.
 */
const HIGH_MARK = 15 / 16;
const LOW_MARK = 14 / 16;

/**
 * Sets and returns the limits of a store file: the byte budget of a booth times the number of booths. A large commit, or a reader that
 * delays the checkpoint, may let the WAL grow to three times its checkpoint size. If the file is larger than the budget, it doesn't shrink,
 * but its freed pages are used again.
 */
export function fileBudget(db: Database, budget: StoreBudget) {
  const booths = db.prepare<[], { booths: number }>("SELECT count(DISTINCT booth_id) AS booths FROM stream");
  const used = db.prepare<[], { used: number }>(
    "SELECT page_count - freelist_count AS used FROM pragma_page_count, pragma_freelist_count",
  );
  const page_bytes = Number(db.pragma("page_size", { simple: true }));
  const limitsNow = () => {
    const pages = Math.floor((budget.max_bytes * Math.max(1, booths.get()?.booths ?? 1)) / page_bytes);
    const wal = Math.min(WAL_PAGES, Math.max(8, pages >> 4));
    const most = pages - 3 * wal;
    db.pragma(`wal_autocheckpoint = ${wal}`);
    db.pragma(`max_page_count = ${most}`);
    return {
      /** Maximum number of pages of the file, which SQLite enforces. */
      most,
      /** Number of used pages above which rows are deleted. */
      high: Math.floor(most * HIGH_MARK),
      low: Math.floor(most * LOW_MARK),
      page_bytes,
    };
  };
  let limits = limitsNow();
  return {
    budget,
    limits: () => limits,
    usedPages: () => used.get()?.used ?? 0,
    /** Updates the limits. To be called after a booth was added. */
    refresh: (): void => {
      limits = limitsNow();
    },
  };
}

/**
 * Shares of the file's pages to keep free for one commit, tried in turn until the commit fits. The needed size is only a guess, because
 * facts of weeks of records may be made at once.
 */
export const RESERVES = [0, 1 / 8, 1 / 4, 1 / 2] as const;

/** Returns whether a write failed because the budget or the disk is full. */
export function isFull(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "SQLITE_FULL";
}

export function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

/** Number of rows deleted between two checks of the file's size. A chunk has some kilobytes. */
const ROWS_AT_A_TIME = 8;
/** Maximum number of times that one commit deletes ROWS_AT_A_TIME rows, which bounds the time of the commit. */
const LOTS_PER_COMMIT = 250;
/** Rows are deleted by age for several hours at once. Deleting them one by one would double the blocks that each commit writes. */
const AGE_LOT_MS = 6 * HOUR_MS;
/** Age at which facts are deleted. Yearly reports need all younger facts. */
const FACT_AGE_MS = 400 * DAY_MS;
/** Maximum number of facts deleted by age at once. A booth makes some hundreds a day. */
const AGED_FACTS = 400;
/** SQL list of the kinds of facts that outlive FACT_AGE_MS. */
export const LASTING_SQL = `(${LASTING_KINDS.map((kind) => `'${kind}'`).join(", ")})`;
/** Maximum share of the file's pages for facts. Above it, acked facts are deleted before unacked readings. */
const FACT_SHARE = 1 / 2;
/** Approximate size of a record in its row, for estimating the space that a commit needs. */
const RECORD_BYTES = 120;

const BUDGET_IS_FULL = "the store's budget is full";

/** The result of making room for a commit. */
interface Room {
  readonly givenUp: readonly GapRecord["value"][];
  /** Oldest kept seq of each stream that lost records. */
  readonly oldest: ReadonlyMap<StreamId, Seq>;
}

/** The columns of a log row that eviction needs. */
interface OldRow {
  readonly first_seq: number;
  readonly last_seq: number;
  readonly t0: number;
  /** 1: the row holds a gap record. */
  readonly has_gap: number;
}

/** A store's file, and a reader of its gap records. */
export interface FullStore {
  readonly sql: RoomStatements;
  readonly file: ReturnType<typeof fileBudget>;
  /** Returns the first seq of each range that a gap record reports in the row at `seq`. */
  readonly gapsAt: (stream: StreamId, seq: Seq) => readonly Seq[];
}

type RoomStatements = ReturnType<typeof prepareRoom>;

export function prepareRoom(db: Database) {
  const oldest = (placed: 0 | 1) =>
    db.prepare<[{ stream: StreamId; rows: number }], OldRow>(
      `SELECT first_seq, last_seq, t0, substr(packed, 1, 2) IN (x'0301', x'0303') AS has_gap FROM log
       WHERE stream_id = @stream AND placed = ${placed} ORDER BY first_seq LIMIT @rows`,
    );
  return {
    firstRow: db.prepare<[string], { first_seq: number; t0: number }>(
      `SELECT first_seq, t0 FROM log WHERE stream_id = ? ORDER BY first_seq LIMIT 1`,
    ),
    oldestRows: oldest(1),
    /** Returns the oldest rows of boots that wait for a clock sync. */
    oldestWaiting: oldest(0),
    dropLogRows: db.prepare<[{ stream: StreamId; to: Seq }]>(
      `DELETE FROM log WHERE stream_id = @stream AND first_seq <= @to`,
    ),
    moveOldest: db.prepare<[{ stream: StreamId; oldest: Seq }]>(
      `UPDATE stream SET oldest_seq = @oldest,
       sum = row_sum(stream_id, booth_id, newest_seq, acked_seq, last_take, @oldest, facts_upto) WHERE stream_id = @stream`,
    ),
    moveFacts: db.prepare<[{ stream: StreamId; upTo: Seq }]>(
      `UPDATE stream SET facts_upto = @upTo,
       sum = row_sum(stream_id, booth_id, newest_seq, acked_seq, last_take, oldest_seq, @upTo) WHERE stream_id = @stream`,
    ),
    /**
     * Returns the streams, each with the seq up to which rows can be deleted without a gap record: acked, and included in a saved state.
     */
    freeUpTo: db.prepare<[], { stream_id: string; up_to: number }>(
      `SELECT stream.stream_id, min(acked_seq, state.seq) AS up_to FROM stream JOIN state USING (stream_id)`,
    ),
    oldestFacts: db.prepare<[{ stream: StreamId; upTo: Seq; rows: number }], { seq: number; end_ms: number }>(
      `SELECT seq, end_ms FROM fact WHERE stream_id = @stream AND seq <= @upTo
       AND seq > (SELECT facts_upto FROM stream WHERE stream_id = @stream) ORDER BY seq LIMIT @rows`,
    ),
    /** Deletes facts up to a seq, except those of the kinds that are kept for years. */
    dropFacts: db.prepare<[{ stream: StreamId; upTo: Seq }]>(
      `DELETE FROM fact WHERE stream_id = @stream AND kind NOT IN ${LASTING_SQL} AND seq <= @upTo
       AND seq > (SELECT facts_upto FROM stream WHERE stream_id = @stream)`,
    ),
    /** Deletes kept facts that ended before a limit. */
    dropAgedLasting: db.prepare<[{ stream: StreamId; limit: EpochMs }]>(
      `DELETE FROM fact WHERE stream_id = @stream AND kind IN ${LASTING_SQL} AND start_ms < @limit AND end_ms < @limit
       AND seq <= (SELECT facts_upto FROM stream WHERE stream_id = @stream)`,
    ),
    /** Deletes the oldest kept facts. */
    dropLasting: db.prepare<[{ stream: StreamId; rows: number }]>(
      `DELETE FROM fact WHERE stream_id = @stream AND seq IN (SELECT seq FROM fact WHERE stream_id = @stream
       AND seq <= (SELECT facts_upto FROM stream WHERE stream_id = @stream) ORDER BY seq LIMIT @rows)`,
    ),
    /** Counts the pages of the fact table by reading all of them. */
    factPages: db.prepare<[], { pages: number }>(
      `SELECT ifnull(sum(pageno), 0) AS pages FROM dbstat WHERE name IN ('fact', 'fact_by_time') AND aggregate = 1`,
    ),
  };
}

/** The intermediate results of making room. */
interface Making extends Pick<FullStore, "sql" | "gapsAt"> {
  readonly info: StreamInfo;
  readonly oldest: Map<StreamId, Seq>;
  readonly isFull: () => boolean;
  lots: number;
  from: Seq | null;
}

/**
 * Inside a commit's transaction, before it appends: deletes rows by age, and, if the file is full, makes room for `records` more. It
 * deletes whole rows, the oldest first, in this order:
 * 1. acked log rows of the stream, then those of other streams
 * 2. the stream's acked facts, while facts fill half of the file
 * 3. its unacked log rows
 * 4. its acked facts
 * 5. its rows that wait for a clock sync
 * 6. its other facts
 * 7. its facts of the kinds that are kept for years.
 * The caller saves the state in the same transaction, because a start can't fold deleted rows again. It also appends a gap record for each
 * deleted range that wasn't acked. `reserve_pages`: pages in addition to the usual estimate, which was too low in an earlier attempt.
 */
export function makeRoom(
  { sql, file, gapsAt }: FullStore,
  info: StreamInfo,
  ask: { readonly now: EpochMs; readonly records: number; readonly reserve_pages: number },
): Room {
  const oldest = new Map<StreamId, Seq>();
  dropAged({ sql, info, oldest }, ask.now, file.budget);
  const { high, low, page_bytes } = file.limits();
  const needed = Math.ceil((ask.records * RECORD_BYTES) / page_bytes) + ask.reserve_pages;
  if (file.usedPages() + needed <= high) return { givenUp: [], oldest };
  const isFull = (): boolean => file.usedPages() + needed > low;
  const lots = ask.reserve_pages > 0 ? Number.POSITIVE_INFINITY : LOTS_PER_COMMIT;
  const making: Making = { sql, gapsAt, info, oldest, isFull, lots, from: null };
  const { stream, acked_seq } = info;
  dropRowsWhileFull(making, { stream, upTo: acked_seq });
  for (const { stream_id, up_to } of sql.freeUpTo.all()) {
    if (stream_id !== info.stream) dropRowsWhileFull(making, { stream: stream_id, upTo: up_to });
  }
  const before = (): Seq => (sql.firstRow.get(info.stream)?.first_seq ?? info.newest_seq + 1) - 1;
  // Counts the pages of facts only once, and only after all acked log rows are deleted, because counting reads all these pages.
  const factPages = isFull() ? (sql.factPages.get()?.pages ?? 0) : 0;
  const spare = factPages - Math.floor(file.limits().most * FACT_SHARE);
  const least = file.usedPages() - spare;
  if (spare > 0) dropFactsWhileFull(making, Math.min(info.acked_seq, before()), () => file.usedPages() > least);
  dropRowsWhileFull(making, { stream, upTo: Number.MAX_SAFE_INTEGER });
  dropFactsWhileFull(making, Math.min(info.acked_seq, before()));
  dropRowsWhileFull(making, { stream, upTo: Number.MAX_SAFE_INTEGER }, sql.oldestWaiting);
  dropFactsWhileFull(making, before());
  dropLastingWhileFull(making);
  if (making.from === null) return { givenUp: [], oldest };
  return { givenUp: [{ from: making.from, to: before(), reason: BUDGET_IS_FULL }], oldest };
}

/** Returns the range of unacked log records that were deleted earlier. Their facts are still stored. */
export function givenUpBefore({ acked_seq, oldest_seq }: StreamInfo): readonly GapRecord["value"][] {
  if (acked_seq + 1 >= oldest_seq) return [];
  return [{ from: acked_seq + 1, to: oldest_seq - 1, reason: BUDGET_IS_FULL }];
}

function dropAged(making: Pick<Making, "sql" | "info" | "oldest">, now: EpochMs, budget: StoreBudget): void {
  const { sql, info } = making;
  const { max_age_ms, records_age_ms = RECORDS_AGE_MS } = budget;
  const first = sql.firstRow.get(info.stream);
  const limit = now - max_age_ms;
  if (first === undefined || first.t0 >= limit - AGE_LOT_MS) return;
  const rows = sql.oldestRows.all({ stream: info.stream, rows: ROWS_AT_A_TIME * LOTS_PER_COMMIT });
  const kept = rows.findIndex(({ last_seq, t0 }) => last_seq > info.acked_seq || t0 >= limit);
  const last = kept < 0 ? rows.at(-1) : rows[kept - 1];
  if (last === undefined) return;
  drop(making, info.stream, last);
  const facts = sql.oldestFacts.all({ stream: info.stream, upTo: info.acked_seq, rows: AGED_FACTS });
  const old = facts.findIndex(({ end_ms }) => end_ms >= now - FACT_AGE_MS);
  const fact = old < 0 ? facts.at(-1) : facts[old - 1];
  if (fact !== undefined) dropFacts(sql, info.stream, fact.seq);
  sql.dropAgedLasting.run({ stream: info.stream, limit: now - Math.max(FACT_AGE_MS, records_age_ms) });
}

/** Deletes whole rows that end at `upTo` or before. `oldest`: the query for these rows, by default rows with a known time. */
function dropRowsWhileFull(
  making: Making,
  { stream, upTo }: { readonly stream: StreamId; readonly upTo: Seq },
  oldest = making.sql.oldestRows,
): void {
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

/**
 * Notes the deleted range that a gap record must report. If a deleted row holds a gap record, the new range also includes that record's
 * range.
 */
function noteGivenUp(making: Making, rows: readonly OldRow[]): void {
  const { gapsAt, info } = making;
  for (const { first_seq, last_seq, has_gap } of rows) {
    if (last_seq <= info.acked_seq) continue;
    const before = has_gap === 1 ? gapsAt(info.stream, first_seq) : [];
    const from = Math.min(Math.max(first_seq, info.acked_seq + 1), ...before);
    making.from = Math.min(making.from ?? from, from);
  }
}

function drop({ sql, oldest }: Pick<Making, "sql" | "oldest">, stream: StreamId, last: OldRow): void {
  sql.dropLogRows.run({ stream, to: last.first_seq });
  const seq = sql.firstRow.get(stream)?.first_seq ?? last.last_seq + 1;
  sql.moveOldest.run({ stream, oldest: seq });
  oldest.set(stream, seq);
}

function dropFacts(sql: RoomStatements, stream: StreamId, upTo: Seq): void {
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

/** Deletes kept facts if nothing else is left to delete. */
function dropLastingWhileFull(making: Making): void {
  const { sql, info } = making;
  while (making.lots > 0 && making.isFull()) {
    if (sql.dropLasting.run({ stream: info.stream, rows: ROWS_AT_A_TIME }).changes === 0) return;
    making.lots -= 1;
  }
}
