import type { LogRecord, Stored } from "../core/types/record.ts";
import type { StreamInfo } from "../ports.ts";
import type { Fold, FoldState } from "./fold-port.ts";
import { check, unpackLog } from "./rows.ts";
import type { Statements, StreamRow } from "./statements.ts";

/** What the writer keeps in memory of a stream: its row, its fold's state, and when that state was last saved. */
export interface LiveStream {
  info: StreamInfo;
  fold: FoldState;
  /** Seq after which the saved state stands, and the mono of the record there; null before the first saving. */
  saved: { seq: number; mono: number; boot: string } | null;
}

export function infoOf(row: StreamRow): StreamInfo {
  const { stream_id, booth_id, ...rest } = row;
  return { stream: stream_id, booth: booth_id, ...rest };
}

/** Rows read at a time while folding what came after the saved state. */
const FOLD_ROWS = 200;

export function loadStream(sql: Statements, fold: Fold, row: StreamRow): LiveStream {
  return { info: infoOf(row), fold: stateOf(sql, fold, row), saved: null };
}

/**
 * The fold's state after the stream's newest record: the saved one, then everything after it folded again. The facts that
 * this makes once more are dropped: they were written by the commit that first made them.
 */
export function stateOf(sql: Pick<Statements, "savedState" | "logRowsFrom">, fold: Fold, row: StreamRow): FoldState {
  const saved = sql.savedState.get(row.stream_id);
  if (saved !== undefined) check(saved.crc, saved.body, "the saved state");
  let state: FoldState = saved === undefined ? fold.empty() : (JSON.parse(saved.body) as FoldState);
  for (const record of logAfter(sql, row, saved?.seq ?? 0)) state = fold.step(state, record).state;
  return state;
}

function* logAfter(sql: Pick<Statements, "logRowsFrom">, row: StreamRow, seq: number): Generator<Stored<LogRecord>> {
  let from = seq + 1;
  while (from <= row.newest_seq) {
    const rows = sql.logRowsFrom.all({ stream: row.stream_id, from, rows: FOLD_ROWS });
    const last = rows.at(-1);
    if (last === undefined || last.last_seq < from) return;
    for (const packed of rows) yield* unpackLog(packed).filter((record) => record.seq >= from);
    from = last.last_seq + 1;
  }
}
