import type { Database } from "better-sqlite3";
import { held, type Hold } from "../../derivation/clock.ts";
import type { DeriveState } from "../../derivation/state.ts";
import type { Fact } from "../../domain/record.ts";
import type { RowSizes } from "../../domain/storage.ts";
import type { EpochMs, Seq, StreamId } from "../../domain/units.ts";
import { copyOf, type Fold } from "../facts/fold.ts";
import { lastStart, type Snapshots, type Start } from "../facts/snapshots.ts";
import type { StreamInfo } from "../port.ts";
import type { ClockWords } from "./clock-words.ts";
import type { Quarantine } from "./quarantine.ts";
import { ifWhole, unpackLog, unpackState } from "./rows.ts";
import { logRowsAfter, type ReadStatements, type Statements, type StreamRow } from "./statements.ts";

/**
 * A stream in the writer's memory. The stream is loaded at its first use, and each commit changes it inside that commit's transaction. If
 * the transaction fails, it is dropped and loaded again at the next use, from the saved state and the records after it.
 */
export interface LiveStream {
  info: StreamInfo;
  /** The fold's state after the last record with a known time. */
  state: DeriveState;
  /** Boots after that record that wait for a clock sync. */
  hold: Hold;
  /** The state shown while records wait for a clock sync: all records folded, with unconfirmed clocks; null: no record waits. */
  shown: DeriveState | null;
  /** Seq, mono and boot of the last record in the saved state; null: no state was saved yet. */
  saved: { seq: number; mono: number; boot: string } | null;
  /** Log rows up to this seq have been merged into chunks. */
  closed: number;
}

/** Returns the last seq with a known time. Later records must not be sent yet. */
export function sendableSeq(newest: number, hold: Hold): number {
  return hold[0] === undefined ? newest : hold[0].first_seq - 1;
}

export function infoOf(row: StreamRow): StreamInfo {
  const { stream_id, booth_id, ...rest } = row;
  return { stream: stream_id, booth: booth_id, ...rest };
}

/** The parts of a store that are needed to fold its records. */
export interface FoldedStore {
  readonly sql: ReadStatements;
  readonly fold: Fold;
  readonly snapshots: Pick<Snapshots, "last">;
}

export function loadStream(store: FoldedStore & { readonly sql: Statements }, row: StreamRow): LiveStream {
  const closed = store.sql.closedSeq.get(row.stream_id)?.closed_seq ?? 0;
  return { info: infoOf(row), ...foldOf(store, row), saved: null, closed };
}

/** A callback for each record that waits for a clock sync: receives the record's provisional facts, and the state after the record. */
export type Hearer = (facts: readonly Fact[], state: DeriveState) => void;

/** Returns the state after the stream's newest record, including records that wait for a clock sync. Pages and reports show this state. */
export function foldAll(store: FoldedStore, row: StreamRow, hear: Hearer): DeriveState {
  const { state, shown } = foldOf(store, row, hear);
  return shown ?? state;
}

/** Continues foldAll from an earlier result, which it changes. Valid only if the newer records wait for a clock sync too. */
export function foldOn(
  { sql, fold }: FoldedStore,
  from: { readonly row: StreamRow; readonly state: DeriveState; readonly seq: Seq },
  hear: Hearer,
): DeriveState {
  let { state } = from;
  for (const { record } of logAfter(sql, from.row, from.seq)) state = heard(fold.step(state, record), hear);
  return state;
}

function heard({ state, facts }: ReturnType<Fold["step"]>, hear: Hearer): DeriveState {
  hear(facts, state);
  return state;
}

/**
 * Returns the fold after the stream's newest record: the saved state, with all later records folded again. Ignores facts of records with a
 * known time, because the commit of these records stored them. Facts of records that wait for a clock sync are provisional.
 */
function foldOf(store: FoldedStore, row: StreamRow, hear: Hearer = () => undefined) {
  const { sql, fold } = store;
  const saved = savedStart(store, row);
  let state = saved.state;
  let hold: Hold = [];
  let shown: DeriveState | null = null;
  for (const { record, placed } of logAfter(sql, row, saved.seq)) {
    if (placed) state = fold.step(state, record).state;
    else {
      shown = heard(fold.step(shown ?? copyOf(state), record), hear);
      hold = held(hold, record);
    }
  }
  return { state, hold, shown };
}

/** Returns the saved state. If it is damaged or of another version, returns the last snapshot, which also covers deleted records. */
function savedStart(store: FoldedStore, row: StreamRow): Start {
  const saved = store.sql.savedState.get(row.stream_id);
  return (saved && unpackState(saved)) ?? lastStart(store, row.stream_id, row.oldest_seq);
}

/** Yields the log records after a seq. Skips damaged rows. */
function* logAfter(sql: ReadStatements, { stream_id }: StreamRow, seq: Seq) {
  for (const row of logRowsAfter(sql, stream_id, seq)) {
    for (const record of ifWhole(unpackLog, row) ?? [])
      if (record.seq > seq) yield { record, placed: row.placed === 1 };
  }
}

/** A store's file that is open for writing, its tables, and its streams in memory. The writer makes it once. */
export interface OpenStore {
  readonly db: Database;
  readonly sql: Statements;
  readonly fold: Fold;
  readonly snapshots: Snapshots;
  readonly quarantine: Quarantine;
  readonly words: ClockWords;
  readonly sizes: RowSizes;
  /** Returns a monotonic time in ms. */
  readonly now: () => number;
  /** Returns the wall-clock time for new rows. */
  readonly wall: () => EpochMs;
  /** Returns a stream in memory. If necessary, checks and loads it first. */
  readonly live: (stream: StreamId) => LiveStream;
}
