import Database from "better-sqlite3";
import type { DeriveState } from "../derivation/state.ts";
import { KIND, type Fact, type LogRecord, type Placed, type StageFact } from "../domain/record.ts";
import type { EpochMs, Seq, StreamId } from "../domain/units.ts";
import type { BoothStage, ReadingTold, StoreReader, Window } from "./port.ts";
import { createSnapshots } from "./facts/snapshots.ts";
import { deriveFold } from "./facts/fold.ts";
import { storePath } from "./open.ts";
import { type FactRow, ifWhole, type LogRow, spanOf, toldInLog, unpackFact, unpackLog } from "./log/rows.ts";
import { LOG_ROWS_FROM, prepareReadStatements, type ReadStatements, type StreamRow } from "./log/statements.ts";
import { foldAll, foldOn, type FoldedStore, type Hearer, infoOf } from "./log/streams.ts";
import { statSync } from "node:fs";

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
  shown: Shown | null;
}

/**
 * Read-only view of a data folder's store, on a connection of its own. Throws where there is no store. Damaged rows are
 * left out, as if they had been taken out already: what they told of is missing, never wrong. What doesn't change any more is kept in memory until a rebuild replaces it. Close it when done.
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
    const fresh: Remembered = { rebuilds, stages: stageList(), seq: 0, shown: null };
    memory.set(stream, fresh);
    return fresh;
  };
  const shownOf = (stream: StreamId): Shown | null => {
    const row = sql.streamById.get(stream);
    if (row === undefined || row.newest_seq === 0) return null;
    const kept = remembered(stream);
    if (kept.shown?.newest === row.newest_seq) return kept.shown;
    const waiting = sql.firstWaiting.get(stream)?.first_seq ?? null;
    // Had what waited got its time, the first that waits now would have come later.
    const isSame = waiting !== null && kept.shown !== null && waiting <= kept.shown.newest;
    kept.shown = show(store, row, { waiting, before: isSame ? kept.shown : null });
    return kept.shown;
  };
  /** Facts of what waits for a sync; nearly always there are none, and nothing is folded to find that. */
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
      // A row's kind is what the caller asked for, and packFact wrote the shape of that kind.
      return [...written, ...waitingFacts(stream, kind, window)] as never;
    },
    stages(stream, window) {
      const kept = remembered(stream);
      fillStages(sql, stream, kept);
      const written = kept.stages.within(window);
      const waiting = waitingFacts(stream, KIND.stage, window).map(({ value }) => value);
      // Put together, a year's stages would be copied one by one.
      return waiting.length === 0 ? written : [...written, ...waiting.filter(({ bay }) => bay === 0)];
    },
    log: (stream, window) => logRows(sql, { stream, ...window }, (row) => unpackLog(row)),
    readings(stream, window, tags) {
      const isWanted = (kind: string, tag: string) => kind === KIND.reading && tags?.has(tag) !== false;
      // Of this kind alone.
      const readingsIn = (row: LogRow) => toldInLog(row, isWanted) as readonly ReadingTold[];
      return logRows(sql, { stream, ...window }, readingsIn);
    },
    state: (stream) => shownOf(stream)?.state,
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

/** Facts come with each commit's seqs, or by a rebuild, which begins the list anew. */
function fillStages(sql: Reports & Pick<ReadStatements, "streamById">, stream: StreamId, kept: Remembered): void {
  const newest = sql.streamById.get(stream)?.newest_seq ?? 0;
  while (kept.seq < newest) {
    const rows = sql.stagesAfter.all({ stream, seq: kept.seq, rows: STAGE_ROWS });
    for (const row of rows) {
      // The statement asks for kind m alone.
      const value = (ifWhole(unpackFact, row) as StageFact | undefined)?.value;
      if (value?.bay === 0) kept.stages.add(value);
      kept.seq = row.seq;
    }
    // Behind the last stage other facts may stand in thousands: they aren't looked through again.
    if (rows.length < STAGE_ROWS) kept.seq = Math.max(kept.seq, newest);
  }
}

/**
 * First seq of the last row that begins before the instant: the log has no index by time. 0: none. It is looked where the instant would stand in
 * a log that fills evenly, as most do, then right behind that row, and each third time in the middle. A look takes 0.2 ms: to compare two
 * keys SQLite reads whole rows, whose packed records lie on pages of their own.
 */
function rowBefore(sql: Reports, stream: StreamId, at: EpochMs): number {
  const newest = sql.rowAtOrBefore.get({ stream, seq: Number.MAX_SAFE_INTEGER });
  if (newest === undefined || newest.t0 < at) return newest?.first_seq ?? 0;
  const oldest = sql.oldestRow.get(stream);
  if (oldest === undefined || oldest.t0 >= at) return 0;
  let low = oldest;
  let high = newest;
  // Up to its end there is no other row: a chunk has thousands of seqs.
  let looked = low.last_seq;
  for (let look = 0; high.first_seq - looked > 1; look += 1) {
    const shares = [(at - low.t0) / (high.t0 - low.t0), 0, 0.5];
    const ahead = (shares[look % shares.length] ?? 0) * (high.first_seq - 1 - looked);
    const seq = looked + Math.max(1, Math.ceil(ahead));
    const row = sql.rowAtOrBefore.get({ stream, seq });
    if (row !== undefined && row.t0 >= at) high = row;
    else {
      low = row ?? low;
      looked = Math.max(seq, low.last_seq);
    }
  }
  return low.first_seq;
}

/**
 * Rows stand in time order within a stream, so the scan ends at the first that begins after the window. Between two pages
 * rows may have been put together in a chunk, so it goes on by seq. What waits for a sync stands where the state that is
 * shown has it, and is uncertain: a box that nobody ever gives the time still shows what it read.
 */
function* logRows<R extends ReadingTold | Placed<LogRecord>>(
  sql: Reports & Pick<ReadStatements, "logRowsFrom">,
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

/** Facts of what waits for a sync, newest kept: some two months of a busy booth, 8 MB. A box that waits longer isn't looked after. */
const MAX_FACTS = 20_000;

/** What is shown of a stream, by clocks that nobody may have vouched for yet. */
interface Shown {
  /** Seq of the newest record in it. */
  readonly newest: Seq;
  /** The fold's state after that record. */
  readonly state: DeriveState;
  /**
   * What the records that wait for a sync make, oldest first: uncertain, and under seqs of their own until the sync gives them their
   * time and has them written.
   */
  readonly facts: Placed<Fact>[];
  /** How many there were, those that are no longer kept among them. */
  readonly made: number;
}

/**
 * `waiting`: seq of the first record that waits for a sync; null: none does. `before`: what was shown while the same ones waited, and what
 * this goes on from: a year without a sync isn't folded anew for each question.
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

/** A reader that goes along when the store's file is replaced by a new one, as after a salvage. Throws at use where there is no store. */
export function followReader(dataDir: string) {
  let open: { readonly reader: OpenReader; readonly file: number } | null = null;
  return {
    /** As OpenReader.snapshot, on the file that is the store now. */
    snapshot<T>(act: (reader: StoreReader) => T): T {
      const path = storePath(dataDir);
      const file = statSync(path, { throwIfNoEntry: false })?.ino;
      if (file === undefined) throw new Error(`can't open ${path}: there is no such file`);
      if (open?.file !== file) {
        open?.reader.close();
        open = { reader: openReader(dataDir), file };
      }
      const { reader } = open;
      return reader.snapshot(() => act(reader));
    },
  };
}

type StageList = ReturnType<typeof stageList>;

/**
 * A booth's closed stages in memory, by start: some 7 MB for the 73,000 of a year, of which a report gets its part without
 * a copy of any. They tile the booth's time, so their ends are in order too.
 */
function stageList() {
  const stages: BoothStage[] = [];
  /** Index of the first for which a condition holds that holds for all after it. */
  const firstWhere = (holds: (stage: BoothStage) => boolean): number => {
    let low = 0;
    let high = stages.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const stage = stages[middle];
      if (stage === undefined || holds(stage)) high = middle;
      else low = middle + 1;
    }
    return low;
  };
  return {
    add({ mode, start, end, is_new_start, uncertain_ms }: BoothStage): void {
      const last = stages.at(-1);
      // One that replaces another came later than its place.
      const at = last === undefined || last.start <= start ? stages.length : firstWhere((one) => one.start > start);
      stages.splice(at, 0, { mode, start, end, is_new_start, uncertain_ms });
    },
    /** Stages that overlap or touch the window. */
    within({ start, end }: Window): BoothStage[] {
      return stages.slice(
        firstWhere((one) => one.end >= start),
        firstWhere((one) => one.start >= end),
      );
    },
  };
}
