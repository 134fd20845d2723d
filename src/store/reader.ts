import Database from "better-sqlite3";
import type { LogRecord, Placed, StageFact } from "../core/types/record.ts";
import type { EpochMs, StreamId } from "../core/types/units.ts";
import type { StoreReader, Window } from "../ports.ts";
import { keptBases } from "./bases.ts";
import type { Fold, FoldState } from "./fold-port.ts";
import { storePath } from "./open.ts";
import { ifWhole, unpackFact, unpackLog, type FactRow, type LogRow } from "./rows.ts";
import type { Wanted } from "./pack.ts";
import { stageList, type StageList } from "./stage-list.ts";
import { prepareReadStatements } from "./statements.ts";
import { infoOf, stateOf } from "./streams.ts";

/** Rows fetched at a time: no statement stays open between them, since an open one would keep the WAL from shrinking. */
const PAGE_ROWS = 100;
/** Stage facts fetched at a time while the list is filled. */
const STAGE_ROWS = 2_000;

/** A store reader with the life of a connection. */
export interface OpenReader extends StoreReader {
  /** Carries `act` out on one state of the store, whatever is committed meanwhile. `act` must not keep an iterator. */
  snapshot<T>(act: () => T): T;
  close(): void;
}

interface Remembered {
  readonly rebuilds: number;
  readonly stages: StageList;
  /** Seq up to which stage facts are in the list. */
  seq: number;
  state: { readonly newest: number; readonly value: FoldState } | null;
}

/**
 * Read-only view of a data folder's store, on a connection of its own. Throws where there is no store. Damaged rows are
 * left out, as if they had been taken out already: what they told of is missing, never wrong. What doesn't change any more is kept in memory until a rebuild replaces it. Close it when done.
 */
export function openReader(dataDir: string, fold: Fold): OpenReader {
  const db = new Database(storePath(dataDir), { readonly: true, fileMustExist: true });
  const sql = { ...prepareReadStatements(db), ...prepareReports(db) };
  const memory = new Map<StreamId, Remembered>();
  const remembered = (stream: StreamId): Remembered => {
    const rebuilds = sql.rebuilds.get(stream)?.rebuilds ?? 0;
    const known = memory.get(stream);
    if (known?.rebuilds === rebuilds) return known;
    const fresh: Remembered = { rebuilds, stages: stageList(), seq: 0, state: null };
    memory.set(stream, fresh);
    return fresh;
  };
  return {
    streams: () => sql.allStreams.all().map(infoOf),
    facts: (stream, kind, window) =>
      // A row's kind is what the caller asked for, and packFact wrote the shape of that kind.
      sql.facts
        .all({ stream, kind, start: window.start, end: window.end })
        .flatMap((row) => ifWhole(unpackFact, row) ?? []) as never,
    stages(stream, window) {
      const kept = remembered(stream);
      fillStages(sql, stream, kept);
      return kept.stages.within(window);
    },
    *log(stream, window, tags) {
      const from = rowBefore(sql, stream, window.start);
      const isWanted = tags === undefined ? undefined : (kind: string, tag: string) => kind === "r" && tags.has(tag);
      yield* logRows({ page: sql.logPage, stream, from, isWanted }, window);
    },
    state(stream) {
      const row = sql.streamById.get(stream);
      if (row === undefined || row.newest_seq === 0) return undefined;
      const kept = remembered(stream);
      if (kept.state?.newest !== row.newest_seq) {
        kept.state = { newest: row.newest_seq, value: stateOf({ sql, fold, bases: keptBases(db) }, row) };
      }
      return kept.state.value;
    },
    snapshot: (act) => db.transaction(act)(),
    close: () => db.close(),
  };
}

type Reports = ReturnType<typeof prepareReports>;

/** What reports ask the store, each a search by an index or a key, never a scan. */
export const REPORT_SQL = {
  facts: `SELECT * FROM fact WHERE stream_id = @stream AND kind = @kind AND start_ms < @end AND end_ms >= @start
    AND replaced = 0 ORDER BY start_ms, seq`,
  stagesAfter: `SELECT * FROM fact WHERE stream_id = @stream AND seq > @seq AND kind = 'm' AND replaced = 0
    ORDER BY seq LIMIT @rows`,
  rebuilds: `SELECT rebuilds FROM stream WHERE stream_id = ?`,
  logPage: `SELECT * FROM log WHERE stream_id = @stream AND first_seq >= ifnull(
      (SELECT max(first_seq) FROM log WHERE stream_id = @stream AND first_seq <= @from), 0)
    AND placed = 1 ORDER BY first_seq LIMIT @rows`,
  rowAtOrBefore: `SELECT first_seq, t0 FROM log WHERE stream_id = @stream AND first_seq <= @seq AND placed = 1
    ORDER BY first_seq DESC LIMIT 1`,
} as const;

function prepareReports(db: Database.Database) {
  return {
    facts: db.prepare<[{ stream: string; kind: string; start: number; end: number }], FactRow>(REPORT_SQL.facts),
    stagesAfter: db.prepare<[{ stream: string; seq: number; rows: number }], FactRow>(REPORT_SQL.stagesAfter),
    rebuilds: db.prepare<[string], { rebuilds: number }>(REPORT_SQL.rebuilds),
    logPage: db.prepare<[{ stream: string; from: number; rows: number }], LogRow>(REPORT_SQL.logPage),
    rowAtOrBefore: db.prepare<[{ stream: string; seq: number }], { first_seq: number; t0: number }>(
      REPORT_SQL.rowAtOrBefore,
    ),
  };
}

function fillStages(sql: Reports, stream: StreamId, kept: Remembered): void {
  for (;;) {
    const rows = sql.stagesAfter.all({ stream, seq: kept.seq, rows: STAGE_ROWS });
    for (const row of rows) {
      // The statement asks for kind m alone.
      const value = (ifWhole(unpackFact, row) as StageFact | undefined)?.value;
      if (value?.bay === 0) kept.stages.add(value);
      kept.seq = row.seq;
    }
    if (rows.length < STAGE_ROWS) return;
  }
}

/** First seq of the last row that begins before the instant, by halving: the log has no index by time. 0: none. */
function rowBefore(sql: Reports, stream: StreamId, at: EpochMs): number {
  const newest = sql.rowAtOrBefore.get({ stream, seq: Number.MAX_SAFE_INTEGER });
  if (newest === undefined || newest.t0 < at) return newest?.first_seq ?? 0;
  let [low, high] = [0, newest.first_seq];
  while (high - low > 1) {
    const row = sql.rowAtOrBefore.get({ stream, seq: Math.floor((low + high) / 2) });
    if (row === undefined || row.t0 < at) low = Math.floor((low + high) / 2);
    else high = row.first_seq;
  }
  return sql.rowAtOrBefore.get({ stream, seq: low })?.first_seq ?? 0;
}

interface LogScan {
  readonly page: Database.Statement<[{ stream: string; from: number; rows: number }], LogRow>;
  readonly stream: StreamId;
  readonly from: number;
  readonly isWanted: Wanted | undefined;
}

/**
 * Rows stand in time order within a stream, so the scan ends at the first that begins after the window. Between two pages
 * rows may have been put together in a chunk, so it goes on by seq.
 */
function* logRows(scan: LogScan, window: Window): Generator<Placed<LogRecord>> {
  let from = scan.from;
  for (;;) {
    const rows = scan.page.all({ stream: scan.stream, from, rows: PAGE_ROWS });
    for (const row of rows) {
      if (row.t0 >= window.end) return;
      for (const record of ifWhole((one: LogRow) => unpackLog(one, scan.isWanted), row) ?? []) {
        if (record.seq >= from && record.time >= window.start && record.time < window.end) yield record;
      }
      from = Math.max(from, row.last_seq + 1);
    }
    if (rows.length < PAGE_ROWS) return;
  }
}
