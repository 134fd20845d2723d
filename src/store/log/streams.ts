import { held, type Hold } from "../../derivation/placing.ts";
import type { Fact, LogRecord, Stored } from "../../domain/record.ts";
import type { Seq } from "../../domain/units.ts";
import type { StreamInfo } from "../port.ts";
import type { Fold, FoldState } from "../facts/fold-port.ts";
import { ifWhole, unpackLog, unpackState } from "./rows.ts";
import type { Snapshots } from "../facts/snapshots.ts";
import { lastStart, type Start, type StartTools } from "../facts/rebuild-start.ts";
import type { ReadStatements, Statements, StreamRow } from "./statements.ts";

/** What the fold makes of a stream. */
interface Folded {
  /** After the last record that has its place in time. */
  readonly fold: FoldState;
  /** Boots behind it that wait for a sync; empty: none. */
  readonly hold: Hold;
  /** What is shown while some wait: all records folded, by clocks that nobody vouches for. null: none waits. */
  readonly shown: FoldState;
}

/** What the writer keeps in memory of a stream: its row, its fold, and when the fold's state was last saved. */
export interface LiveStream {
  info: StreamInfo;
  fold: FoldState;
  hold: Hold;
  shown: FoldState;
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

/** Rows read at a time while folding what came after the saved state. */
const FOLD_ROWS = 200;

type FoldStatements = Pick<ReadStatements, "savedState" | "logRowsFrom" | "bootPlaces" | "bootsAfter">;

/** What a stream's state is made with. */
export interface FoldTools extends StartTools {
  readonly sql: FoldStatements;
  readonly bases: Pick<Snapshots, "last">;
}

interface LoadTools extends FoldTools {
  readonly sql: FoldStatements & Pick<Statements, "closedSeq">;
}

export function loadStream(tools: LoadTools, row: StreamRow): LiveStream {
  const { fold: state, hold, shown } = foldOf(tools, row);
  const closed = tools.sql.closedSeq.get(row.stream_id)?.closed_seq ?? 0;
  return { info: infoOf(row), fold: state, hold, shown, saved: null, closed };
}

/** Hears of the provisional facts that one record makes which waits for a sync, with the state after it. */
type Hearer = (facts: readonly Fact[], state: FoldState) => void;

/** The state after the stream's newest record, as it is shown. */
export function foldAll(tools: FoldTools, row: StreamRow, hear: Hearer): FoldState {
  const { fold: placed, shown } = foldOf(tools, row, hear);
  return shown ?? placed;
}

/** The same, from a state that it once gave while records waited: those that came since wait too. Takes the state over. */
export function foldOn(
  { sql, fold }: FoldTools,
  from: { readonly row: StreamRow; readonly state: FoldState; readonly seq: Seq },
  hear: Hearer,
): FoldState {
  let { state } = from;
  for (const { record } of logAfter(sql, from.row, from.seq)) state = heard(fold.step(state, record), hear);
  return state;
}

function heard({ state, facts }: ReturnType<Fold["step"]>, hear: Hearer): FoldState {
  hear(facts, state);
  return state;
}

/**
 * The fold after the stream's newest record: the saved state, then everything after it folded again. The facts that
 * placed records make are dropped: the commit that first made them wrote them. Those of records that wait are provisional.
 */
function foldOf(tools: FoldTools, row: StreamRow, hear: Hearer = () => undefined): Folded {
  const { sql, fold } = tools;
  const saved = savedState(tools, row);
  let state = saved.state;
  let hold: Hold = [];
  let shown: FoldState = null;
  for (const { record, placed } of logAfter(sql, row, saved.seq)) {
    if (placed) state = fold.step(state, record).state;
    else {
      shown = heard(fold.step(shown ?? fold.copy(state), record), hear);
      hold = held(hold, record);
    }
  }
  return { fold: state, hold, shown };
}

/** A damaged one, or one of another version, is made anew: what else would know what stood in records that are gone. */
function savedState(tools: FoldTools, row: StreamRow): Start {
  const saved = tools.sql.savedState.get(row.stream_id);
  const known = saved === undefined ? undefined : unpackState(saved);
  return known !== undefined && tools.fold.accepts(known.state)
    ? known
    : lastStart(tools, row.stream_id, row.oldest_seq);
}

interface LogEntry {
  readonly record: Stored<LogRecord>;
  readonly placed: boolean;
}

function* logAfter(sql: FoldStatements, row: StreamRow, seq: number): Generator<LogEntry> {
  let from = seq + 1;
  while (from <= row.newest_seq) {
    const rows = sql.logRowsFrom.all({ stream: row.stream_id, from, rows: FOLD_ROWS });
    const last = rows.at(-1);
    if (last === undefined || last.last_seq < from) return;
    for (const packed of rows) {
      for (const record of ifWhole(unpackLog, packed) ?? [])
        if (record.seq >= from) yield { record, placed: packed.placed === 1 };
    }
    from = last.last_seq + 1;
  }
}
