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

/** What the writer keeps in memory of a stream: its row, its fold, and when the fold's state was last saved. */
export interface LiveStream {
  info: StreamInfo;
  /** After the last record that has its place in time. */
  state: DeriveState;
  /** Boots behind it that wait for a sync; empty: none. */
  hold: Hold;
  /** What is shown while some wait: all records folded, by clocks that nobody vouches for. null: none waits. */
  shown: DeriveState | null;
  /** Seq after which the saved state stands, and the mono of the record there; null before the first saving. */
  saved: { seq: number; mono: number; boot: string } | null;
  /** Log rows up to this seq have been put together in chunks. */
  closed: number;
}

/** Last seq that has its place in time: what comes after may not be sent yet. */
export function sendableSeq(newest: number, hold: Hold): number {
  return hold[0] === undefined ? newest : hold[0].first_seq - 1;
}

export function infoOf(row: StreamRow): StreamInfo {
  const { stream_id, booth_id, ...rest } = row;
  return { stream: stream_id, booth: booth_id, ...rest };
}

type FoldStatements = Pick<ReadStatements, "savedState" | "logRowsFrom" | "bootPlaces" | "bootsAfter">;

/** A store's file as those need it who fold what it holds. */
export interface FoldedStore {
  readonly sql: FoldStatements;
  readonly fold: Fold;
  readonly snapshots: Pick<Snapshots, "last">;
}

export function loadStream(
  store: FoldedStore & { readonly sql: Pick<Statements, "closedSeq"> },
  row: StreamRow,
): LiveStream {
  const closed = store.sql.closedSeq.get(row.stream_id)?.closed_seq ?? 0;
  return { info: infoOf(row), ...foldOf(store, row), saved: null, closed };
}

/** Hears of the provisional facts that one record makes which waits for a sync, with the state after it. */
export type Hearer = (facts: readonly Fact[], state: DeriveState) => void;

/** The state after the stream's newest record, as it is shown. */
export function foldAll(store: FoldedStore, row: StreamRow, hear: Hearer): DeriveState {
  const { state, shown } = foldOf(store, row, hear);
  return shown ?? state;
}

/** The same, from a state that it once gave while records waited: those that came since wait too. Takes the state over. */
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
 * The fold after the stream's newest record: the saved state, then everything after it folded again. The facts that
 * placed records make are dropped: the commit that first made them wrote them. Those of records that wait are provisional.
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

/** A damaged one, or one of another version, is made anew: what else would know what stood in records that are gone. */
function savedStart(store: FoldedStore, row: StreamRow): Start {
  const saved = store.sql.savedState.get(row.stream_id);
  return (saved && unpackState(saved)) ?? lastStart(store, row.stream_id, row.oldest_seq);
}

/** Log records after a seq, without those of damaged rows. */
function* logAfter(sql: FoldStatements, { stream_id }: StreamRow, seq: Seq) {
  for (const row of logRowsAfter(sql, stream_id, seq)) {
    for (const record of ifWhole(unpackLog, row) ?? [])
      if (record.seq > seq) yield { record, placed: row.placed === 1 };
  }
}

/** A store's file, open for writing, with its tables and what is kept of them in memory. The writer makes it once. */
export interface OpenStore {
  readonly db: Database;
  readonly sql: Statements;
  readonly fold: Fold;
  readonly snapshots: Snapshots;
  readonly quarantine: Quarantine;
  readonly words: ClockWords;
  readonly sizes: RowSizes;
  /** Monotonic, ms. */
  readonly now: () => number;
  /** Dates what is made. */
  readonly wall: () => EpochMs;
  /** A stream as it stands in memory; checked and loaded where it isn't there yet. */
  readonly live: (stream: StreamId) => LiveStream;
}
