import type { Parameters } from "../../domain/parameters.ts";
import type { LogRecord, Placed } from "../../domain/record.ts";
import type { EpochMs, Milliseconds, Seq, StreamId } from "../../domain/units.ts";
import type { Snapshot } from "./snapshots.ts";
import type { Fold, FoldState } from "./fold-port.ts";
import type { Refolded } from "./rebuild-compare.ts";
import { unpackLog } from "../log/rows.ts";
import type { Statements } from "../log/statements.ts";
import type { LiveStream } from "../log/streams.ts";

/** One slice holds commits up for at most about this long. */
const SLICE_MS = 15;
/** Log rows fetched at a time, and records folded between two looks at the clock. */
const SLICE_ROWS = 4;
const SLICE_RECORDS = 200;

export interface RefoldTools {
  readonly sql: Statements;
  readonly fold: Fold;
  /** Monotonic, ms. */
  readonly now: () => number;
  readonly live: (stream: StreamId) => LiveStream;
}

/** A kept log that is folded again, slice by slice, beside the running ingest. */
export interface Refolding {
  readonly stream: StreamId;
  /** Takes the place of all logged parameters; null: those in force then hold. */
  readonly today: Parameters | null;
  readonly from_seq: number;
  /** Kept states on the way, to be made anew; those of old definitions would spoil the next rebuild. */
  readonly awaited: Pick<Snapshot, "seq" | "at">[];
  readonly bases: Snapshot[];
  state: FoldState;
  /** Seq of the last log record folded. */
  seq: number;
  records: number;
  last: LogRecord | null;
  readonly facts: Refolded[];
  /** Log records that came to stand at another time, by seq; null: none is looked for. */
  readonly moved: Map<Seq, EpochMs> | null;
  /** Rows from before the state that was put back; null: there are none, or they have been looked at. */
  early: Early | null;
  /** Fetched, not yet folded. */
  ahead: Placed<LogRecord>[];
}

/** What is kept from before a state can't be folded: what stands behind the right time there is put back as the state was. */
export interface Early {
  next: Seq;
  readonly to: Seq;
  readonly limit: EpochMs;
  readonly by: Milliseconds;
}

/** Folds for a slice of time; true: the newest log record has been folded. */
export function refoldSlice({ sql, fold, now, live }: RefoldTools, job: Refolding): boolean {
  const until = now() + SLICE_MS;
  while (job.early !== null) {
    moveEarly(sql, job, job.early);
    if (now() >= until) return false;
  }
  for (;;) {
    if (job.ahead.length === 0) {
      const rows = sql.logRowsFrom.all({ stream: job.stream, from: job.seq + 1, rows: SLICE_ROWS });
      job.ahead = rows.flatMap((row) => unpackLog(row)).filter(({ seq }) => seq > job.seq);
      if (job.ahead.length === 0) return true;
      mustFollow(live(job.stream).info.oldest_seq, job);
    }
    for (const record of job.ahead.splice(0, SLICE_RECORDS)) foldOne(fold, job, record);
    if (job.seq >= live(job.stream).info.newest_seq) return true;
    if (now() >= until) return false;
  }
}

/** Some rows of them. */
function moveEarly(sql: Statements, job: Refolding, early: Early): void {
  const rows = sql.logRowsFrom.all({ stream: job.stream, from: early.next, rows: SLICE_ROWS });
  for (const { seq, time } of rows.flatMap((row) => unpackLog(row))) {
    if (seq <= early.to && time > early.limit) job.moved?.set(seq, time - early.by);
  }
  early.next = (rows.at(-1)?.last_seq ?? early.to) + 1;
  if (early.next > early.to) job.early = null;
}

/** Rows that went by age or budget while it was under way, before they were folded. */
function mustFollow(oldest_seq: number, { seq, from_seq }: Refolding): void {
  if (oldest_seq > from_seq && oldest_seq > seq + 1) {
    throw new Error("the oldest records left the log before they were folded: start it again");
  }
}

function foldOne(fold: Fold, job: Refolding, placed: Placed<LogRecord>): void {
  while ((job.awaited[0]?.seq ?? Infinity) < placed.seq) {
    const base = job.awaited.shift();
    if (base !== undefined) job.bases.push(snapshotNow(fold, job, base.seq));
  }
  const record = placed.kind === "p" && job.today !== null ? { ...placed, value: job.today } : placed;
  const out = fold.step(job.state, record);
  job.state = out.state;
  const time = fold.timeOf(job.state);
  if (job.moved !== null && time !== placed.time) job.moved.set(placed.seq, time);
  for (const fact of out.facts) job.facts.push({ fact, time });
  job.seq = placed.seq;
  job.records += 1;
  job.last = placed;
}

/** The state that it has come to, to be kept. */
export function snapshotNow(fold: Fold, { state }: Refolding, seq: Seq): Snapshot {
  return { seq, at: fold.timeOf(state), state: fold.copy(state) };
}

export function sameState(a: FoldState, b: FoldState): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
