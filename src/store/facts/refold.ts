import type { Parameters } from "../../domain/parameters.ts";
import { KIND, type LogRecord, type Placed } from "../../domain/record.ts";
import type { EpochMs, Milliseconds, Seq, StreamId } from "../../domain/units.ts";
import type { Snapshot, Start } from "./snapshots.ts";
import type { DeriveState } from "../../derivation/state.ts";
import type { OpenStore } from "../log/streams.ts";
import { copyOf, type Fold } from "./fold.ts";
import type { Refolded } from "./compare.ts";
import { unpackLog } from "../log/rows.ts";
import type { Statements } from "../log/statements.ts";

/** One slice holds commits up for at most about this long. */
const SLICE_MS = 15;
/** Log rows fetched at a time, and records folded between two looks at the clock. */
const SLICE_ROWS = 4;
const SLICE_RECORDS = 200;

/** A kept log that is folded again, slice by slice, beside the running ingest. */
export interface Refolding {
  readonly stream: StreamId;
  /** Takes the place of all logged parameters; null: those in force then hold. */
  readonly today: Parameters | null;
  readonly from_seq: number;
  /** Snapshots on the way, to be made anew; those of old definitions would spoil the next rebuild. */
  readonly awaited: Pick<Snapshot, "seq" | "at">[];
  readonly snapshots: Snapshot[];
  state: DeriveState;
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
interface Early {
  next: Seq;
  readonly to: Seq;
  readonly limit: EpochMs;
  readonly by: Milliseconds;
}

/** One that begins there, and looks for nothing but the facts that come out. */
export function refoldingFrom(stream: StreamId, { seq, state }: Start): Refolding {
  return {
    stream,
    from_seq: seq + 1,
    seq,
    state,
    records: 0,
    last: null,
    facts: [],
    ahead: [],
    today: null,
    awaited: [],
    snapshots: [],
    moved: null,
    early: null,
  };
}

/** Folds for a slice of time; true: the newest log record has been folded. */
export function refoldSlice({ sql, fold, now, live }: OpenStore, job: Refolding): boolean {
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
      // Rows that went by age or budget while it was under way, before they were folded.
      const { oldest_seq } = live(job.stream).info;
      if (oldest_seq > job.from_seq && oldest_seq > job.seq + 1)
        throw new Error("the oldest records left the log before they were folded: start it again");
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

function foldOne(fold: Fold, job: Refolding, placed: Placed<LogRecord>): void {
  while ((job.awaited[0]?.seq ?? Infinity) < placed.seq) {
    const due = job.awaited.shift();
    if (due !== undefined) job.snapshots.push(snapshotNow(job, due.seq));
  }
  const record = placed.kind === KIND.parameters && job.today !== null ? { ...placed, value: job.today } : placed;
  const out = fold.step(job.state, record);
  job.state = out.state;
  const time = job.state.clock.now;
  if (job.moved !== null && time !== placed.time) job.moved.set(placed.seq, time);
  for (const fact of out.facts) job.facts.push({ fact, time });
  job.seq = placed.seq;
  job.records += 1;
  job.last = placed;
}

/** The state that it has come to, to be kept. */
export function snapshotNow({ state }: Refolding, seq: Seq): Snapshot {
  return { seq, at: state.clock.now, state: copyOf(state) };
}
