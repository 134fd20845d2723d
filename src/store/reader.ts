import Database from "better-sqlite3";
import type { DeriveState } from "../derivation/state.ts";
import { KIND, type Fact, type LogRecord, type Placed, type Reading, type StageFact } from "../domain/record.ts";
import type { EpochMs, Seq, StreamId } from "../domain/units.ts";
import type { BoothStage, StoreReader, Window } from "./port.ts";
import { createSnapshots } from "./facts/snapshots.ts";
import { deriveFold } from "./facts/fold.ts";
import { storePath } from "./open.ts";
import { type FactRow, ifWhole, type LogRow, spanOf, unpackFact, unpackLog } from "./log/rows.ts";
import { LOG_ROWS_FROM, prepareReadStatements, type ReadStatements, type StreamRow } from "./log/statements.ts";
import { foldAll, foldOn, type FoldedStore, type Hearer, infoOf } from "./log/streams.ts";
import { statSync } from "node:fs";

/**
 * Number of rows fetched at a time. No statement stays open in between, because an open statement would keep the write-ahead log from
 * shrinking.
 */
const PAGE_ROWS = 100;
/** Number of stage facts fetched at a time. */
const STAGE_ROWS = 2_000;

/** A store reader with its own connection. */
interface OpenReader extends StoreReader {
  /** Runs `read` on one state of the store, even if the agent commits meanwhile. `read` must not keep an iterator. */
  snapshot<T>(read: () => T): T;
  close(): void;
}

/** Data of a stream that is kept in memory until a rebuild replaces facts. */
interface Remembered {
  readonly rebuilds: number;
  /** Closed stages of the booth, by start. A year has some 73,000, which take 7 MB. */
  readonly stages: BoothStage[];
  /** Seq up to which `stages` includes all stage facts. */
  seq: number;
  shown: Shown | null;
}

/**
 * Opens a read-only view of a data folder's store. Throws if there is no store. Skips damaged rows, so content may be missing but is never
 * wrong. Keeps stages in memory until a rebuild replaces them. The caller closes the view.
 */
export function openReader(dataDir: string, fold = deriveFold): OpenReader {
  const db = new Database(storePath(dataDir), { readonly: true, fileMustExist: true });
  const sql = { ...prepareReadStatements(db), ...prepareReports(db) };
  const store = { sql, fold, snapshots: createSnapshots(db) };
  const memory = new Map<StreamId, Remembered>();
  const remembered = (stream: StreamId): Remembered => {
    const rebuilds = sql.rebuilds.get(stream)?.rebuilds ?? 0;
    const known = memory.get(stream);
    if (known?.rebuilds === rebuilds) return known;
    const fresh: Remembered = { rebuilds, stages: [], seq: 0, shown: null };
    memory.set(stream, fresh);
    return fresh;
  };
  const shownOf = (stream: StreamId): Shown | null => {
    const row = sql.streamById.get(stream);
    if (row === undefined || row.newest_seq === 0) return null;
    const kept = remembered(stream);
    if (kept.shown?.newest === row.newest_seq) return kept.shown;
    const waiting = sql.firstWaiting.get(stream)?.first_seq ?? null;
    // Continues the earlier result if the same records still wait. A clock sync would have moved the first waiting record to a later one.
    const isSame = waiting !== null && kept.shown !== null && waiting <= kept.shown.newest;
    kept.shown = show(store, row, { waiting, before: isSame ? kept.shown : null });
    return kept.shown;
  };
  /** Returns the facts of records that wait for a clock sync. Usually no record waits, and nothing is folded. */
  const waitingFacts = <K extends Fact["kind"]>(stream: StreamId, kind: K, window: Window) => {
    const shown = sql.firstWaiting.get(stream) === undefined ? null : shownOf(stream);
    return (shown?.facts ?? []).filter((fact): fact is Placed<Extract<Fact, { kind: K }>> => {
      const [from, to] = spanOf(fact);
      return fact.kind === kind && from < window.end && to >= window.start;
    });
  };
  return {
    streams: () => sql.allStreams.all().map(infoOf),
    facts(stream, kind, window) {
      const rows = sql.facts.all({ stream, kind, start: window.start, end: window.end });
      const written = rows.flatMap((row) => ifWhole(unpackFact, row) ?? []);
      // TypeScript can't see that the rows have the requested kind, whose shape packFact wrote.
      return [...written, ...waitingFacts(stream, kind, window)] as never;
    },
    stages(stream, window) {
      const kept = remembered(stream);
      fillStages(sql, stream, kept);
      const from = firstIndex(kept.stages, ({ end }) => end >= window.start);
      const written = kept.stages.slice(
        from,
        firstIndex(kept.stages, ({ start }) => start >= window.end),
      );
      const waiting = waitingFacts(stream, KIND.stage, window).map(({ value }) => value);
      // Returns the same array if possible, because copying a year of stages costs more than reading them.
      return waiting.length === 0 ? written : [...written, ...waiting.filter(({ bay }) => bay === 0)];
    },
    log: (stream, window) => logRows(sql, { stream, ...window }, (row) => unpackLog(row)),
    readings(stream, window, tags) {
      const isWanted = (kind: string, tag: string) => kind === KIND.reading && tags?.has(tag) !== false;
      // TypeScript can't see that only this kind of record was requested.
      return logRows(sql, { stream, ...window }, (row) => unpackLog(row, isWanted) as Placed<Reading>[]);
    },
    state: (stream) => shownOf(stream)?.state,
    snapshot: (read) => db.transaction(read)(),
    close: () => db.close(),
  };
}

type Reports = ReturnType<typeof prepareReports>;

/** SQL queries of reports. Each one searches by an index or a key and never scans a table. */
export const REPORT_SQL = {
  facts: `SELECT * FROM fact WHERE stream_id = @stream AND kind = @kind AND start_ms < @end AND end_ms >= @start
    AND replaced = 0 ORDER BY start_ms, seq`,
  stagesAfter: `SELECT * FROM fact WHERE stream_id = @stream AND seq > @seq AND kind = 'm' AND replaced = 0
    ORDER BY seq LIMIT @rows`,
  rebuilds: `SELECT rebuilds FROM stream WHERE stream_id = ?`,
  logPage: LOG_ROWS_FROM,
  rowAtOrBefore: `SELECT first_seq, last_seq, t0 FROM log WHERE stream_id = @stream AND first_seq <= @seq
    ORDER BY first_seq DESC LIMIT 1`,
  oldestRow: `SELECT first_seq, last_seq, t0 FROM log WHERE stream_id = ? ORDER BY first_seq LIMIT 1`,
  firstWaiting: `SELECT first_seq FROM log WHERE stream_id = ? AND placed = 0 ORDER BY first_seq LIMIT 1`,
} as const;

type RowHead = Pick<LogRow, "first_seq" | "last_seq" | "t0">;

function prepareReports(db: Database.Database) {
  return {
    facts: db.prepare<[{ stream: string; kind: string; start: number; end: number }], FactRow>(REPORT_SQL.facts),
    stagesAfter: db.prepare<[{ stream: string; seq: number; rows: number }], FactRow>(REPORT_SQL.stagesAfter),
    rebuilds: db.prepare<[string], { rebuilds: number }>(REPORT_SQL.rebuilds),
    rowAtOrBefore: db.prepare<[{ stream: string; seq: number }], RowHead>(REPORT_SQL.rowAtOrBefore),
    oldestRow: db.prepare<[string], RowHead>(REPORT_SQL.oldestRow),
    firstWaiting: db.prepare<[string], { first_seq: number }>(REPORT_SQL.firstWaiting),
  };
}

/** Adds the stages that were committed since the last call. A rebuild empties the list, which is then read again. */
function fillStages(sql: Reports & ReadStatements, stream: StreamId, kept: Remembered): void {
  const newest = sql.streamById.get(stream)?.newest_seq ?? 0;
  while (kept.seq < newest) {
    const rows = sql.stagesAfter.all({ stream, seq: kept.seq, rows: STAGE_ROWS });
    for (const row of rows) {
      // TypeScript can't see that the statement selects only kind m.
      const value = (ifWhole(unpackFact, row) as StageFact | undefined)?.value;
      if (value?.bay === 0) addStage(kept.stages, value);
      kept.seq = row.seq;
    }
    // Skips the facts after the last stage, maybe thousands, so that the next call doesn't search them again.
    if (rows.length < STAGE_ROWS) kept.seq = Math.max(kept.seq, newest);
  }
}

/**
 * Returns the first seq of the last row that begins before the instant; 0: no such row. The log has no index by time, so this is an
 * interpolation search. It tries the position that the instant would have in an evenly filled log, then the next row, then the middle, and
 * so on. Each step takes 0.2 ms, because SQLite reads whole rows to compare two keys, and their packed records are on pages of their own.
 */
function rowBefore(sql: Reports, stream: StreamId, at: EpochMs): number {
  const newest = sql.rowAtOrBefore.get({ stream, seq: Number.MAX_SAFE_INTEGER });
  if (newest === undefined || newest.t0 < at) return newest?.first_seq ?? 0;
  const oldest = sql.oldestRow.get(stream);
  if (oldest === undefined || oldest.t0 >= at) return 0;
  let low = oldest;
  let high = newest;
  // Continues after the row's last seq, which may be thousands after its first one.
  let searched = low.last_seq;
  for (let step = 0; high.first_seq - searched > 1; step += 1) {
    const shares = [(at - low.t0) / (high.t0 - low.t0), 0, 0.5];
    const ahead = (shares[step % shares.length] ?? 0) * (high.first_seq - 1 - searched);
    const seq = searched + Math.max(1, Math.ceil(ahead));
    const row = sql.rowAtOrBefore.get({ stream, seq });
    if (row !== undefined && row.t0 >= at) high = row;
    else {
      low = row ?? low;
      searched = Math.max(seq, low.last_seq);
    }
  }
  return low.first_seq;
}

/**
 * Yields the records of a window. The rows of a stream are in time order, so the scan ends at the first row that begins after the window.
 * It continues by seq, because rows may be merged into a chunk between two pages. Records that wait for a clock sync have provisional times
 * and are uncertain: a box whose clock is never synced still shows its readings.
 */
function* logRows<R extends Placed<LogRecord>>(
  sql: Reports & ReadStatements,
  { stream, start, end }: Window & { readonly stream: StreamId },
  unpack: (row: LogRow) => readonly R[],
): Generator<R> {
  let from = rowBefore(sql, stream, start);
  for (;;) {
    const rows = sql.logRowsFrom.all({ stream, from, rows: PAGE_ROWS });
    for (const row of rows) {
      if (row.t0 >= end) return;
      for (const record of ifWhole(unpack, row) ?? []) {
        if (record.seq < from || record.time < start || record.time >= end) continue;
        yield row.placed === 0 && record.quality === "good" ? { ...record, quality: "uncertain" } : record;
      }
      from = Math.max(from, row.last_seq + 1);
    }
    if (rows.length < PAGE_ROWS) return;
  }
}

/** Maximum number of facts kept of records that wait for a clock sync: the newest two months of a busy booth, 8 MB. */
const MAX_FACTS = 20_000;

/** The state and facts of a stream as they are shown. They include records whose clock isn't confirmed yet. */
interface Shown {
  /** Seq of the newest record that is included. */
  readonly newest: Seq;
  /** The fold's state after the newest record that is included. */
  readonly state: DeriveState;
  /**
   * Facts of the records that wait for a clock sync, oldest first. They are uncertain and have provisional seqs. The sync makes them again
   * and stores them.
   */
  readonly facts: Placed<Fact>[];
  /** Number of facts made so far from waiting records, including facts that aren't kept any more. */
  readonly made: number;
}

/**
 * Folds the stream up to its newest record. `waiting`: seq of the first record that waits for a clock sync; null: no record waits.
 * `before`: an earlier result while the same records waited. The fold continues from it, so that a year without a sync isn't folded again
 * for each request.
 */
function show(
  store: FoldedStore,
  row: StreamRow,
  { waiting, before }: { readonly waiting: Seq | null; readonly before: Shown | null },
): Shown {
  const facts = before?.facts ?? [];
  let made = before?.made ?? 0;
  const hear: Hearer = (fresh, { clock }) => {
    for (const fact of fresh) {
      const quality = fact.quality === "good" ? "uncertain" : fact.quality;
      facts.push({ ...fact, quality, time: clock.now, seq: (waiting ?? 0) + made });
      made += 1;
      if (facts.length > MAX_FACTS) facts.shift();
    }
  };
  const state =
    before === null ? foldAll(store, row, hear) : foldOn(store, { row, state: before.state, seq: before.newest }, hear);
  return { newest: row.newest_seq, state, facts, made };
}

/**
 * Returns a reader that opens the new file when the store is replaced, such as after a salvage. Throws at each use if there is no store.
 */
export function followReader(dataDir: string) {
  let open: { readonly reader: OpenReader; readonly file: number } | null = null;
  return {
    /** Runs `read` on one state of the present file, like OpenReader.snapshot. */
    snapshot<T>(read: (reader: StoreReader) => T): T {
      const path = storePath(dataDir);
      const file = statSync(path, { throwIfNoEntry: false })?.ino;
      if (file === undefined) throw new Error(`can't open ${path}: there is no such file`);
      if (open?.file !== file) {
        open?.reader.close();
        open = { reader: openReader(dataDir), file };
      }
      const { reader } = open;
      return reader.snapshot(() => read(reader));
    },
  };
}

/**
 * Returns the index of the first stage for which `holds` is true. It must then be true for all later stages too. Stages of a booth don't
 * overlap.
 */
function firstIndex(stages: readonly BoothStage[], holds: (stage: BoothStage) => boolean): number {
  let low = 0;
  let high = stages.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const stage = stages[middle];
    if (stage !== undefined && holds(stage)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Inserts a stage by its start. A stage that replaces another one is committed after later stages. */
function addStage(stages: BoothStage[], { mode, start, end, is_new_start, uncertain_ms }: BoothStage): void {
  const at = stages.findLastIndex((one) => one.start <= start) + 1;
  stages.splice(at, 0, { mode, start, end, is_new_start, uncertain_ms });
}
