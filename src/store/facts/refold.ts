import type { Parameters } from "../../domain/parameters.ts";
import { KIND, type LogRecord, type Placed } from "../../domain/record.ts";
import type { EpochMs, Milliseconds, Seq, StreamId } from "../../domain/units.ts";
import type { DeriveState } from "../../derivation/state.ts";
import type { OpenStore } from "../log/streams.ts";
import { unpackLog } from "../log/rows.ts";
import { logRowsAfter } from "../log/statements.ts";
import { copyOf, type Fold } from "./fold.ts";
import type { Refolded } from "./compare.ts";
import type { Snapshot, Start } from "./snapshots.ts";

/** Duration of one slice of work. A commit that arrives meanwhile is delayed by up to this time. */
const SLICE_MS = 15;
/** Number of records folded between two checks of the clock. */
const SLICE_RECORDS = 200;

/** The state of a refolding: it folds a kept log again, beginning with a stored state. */
export interface Refolding {
  readonly stream: StreamId;
  readonly from_seq: Seq;
  /** Parameters that replace all logged ones; null: the logged parameters are used. */
  readonly today: Parameters | null;
  /** Seqs and times of the stored snapshots to replace. Snapshots made with old definitions would spoil the next rebuild. */
  readonly awaited: Pick<Snapshot, "seq" | "at">[];
  readonly snapshots: Snapshot[];
  state: DeriveState;
  /** Seq of the last log record that was folded. */
  seq: Seq;
  records: number;
  last: LogRecord | null;
  readonly facts: Refolded[];
  /** New times of log records whose time changes, by seq; null: no time is changed. */
  readonly moved: Map<Seq, EpochMs> | null;
  /** Records before the start state that also have a wrong time; null: there are none. */
  readonly early: Early | null;
}

/** The correction of records before the start state, which can't be folded again: a time after `limit` is moved back by `by`. */
interface Early {
  readonly from: Seq;
  readonly to: Seq;
  readonly limit: EpochMs;
  readonly by: Milliseconds;
}

/** Returns a refolding that begins with a start state. It only makes facts: times, snapshots and parameters stay as they are. */
export function refoldingFrom(stream: StreamId, { seq, state }: Start): Refolding {
  return {
    stream,
    from_seq: seq + 1,
    today: null,
    awaited: [],
    snapshots: [],
    state,
    seq,
    records: 0,
    last: null,
    facts: [],
    moved: null,
    early: null,
  };
}

/**
 * Folds all log records after the refolding's start, up to the newest one. Yields after each slice of work, so that commits can run in
 * between. Throws if rows are deleted before they are folded, or if rows are damaged.
 */
export function* refold({ sql, fold, now, live }: OpenStore, job: Refolding): Generator<void> {
  const { stream, from_seq, early, moved } = job;
  let until = now() + SLICE_MS;
  function* pauseIfDue(): Generator<void> {
    if (now() < until) return;
    yield;
    until = now() + SLICE_MS;
  }
  if (early !== null) {
    for (const row of logRowsAfter(sql, stream, early.from - 1)) {
      if (row.first_seq > early.to) break;
      for (const { seq, time } of unpackLog(row))
        if (seq <= early.to && time > early.limit) moved?.set(seq, time - early.by);
      yield* pauseIfDue();
    }
  }
  for (const row of logRowsAfter(sql, stream, job.seq)) {
    const { oldest_seq } = live(stream).info;
    if (oldest_seq > from_seq && oldest_seq > job.seq + 1)
      throw new Error("the oldest records left the log before they were folded: start it again");
    for (const record of unpackLog(row)) {
      if (record.seq <= job.seq) continue;
      foldOne(fold, job, record);
      if (job.records % SLICE_RECORDS === 0) yield* pauseIfDue();
    }
  }
}

function foldOne(fold: Fold, job: Refolding, placed: Placed<LogRecord>): void {
  while ((job.awaited[0]?.seq ?? Infinity) < placed.seq) keepSnapshot(job);
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

/** Makes the next of the awaited snapshots from the present state. */
export function keepSnapshot({ awaited, snapshots, state }: Refolding): void {
  const next = awaited.shift();
  if (next !== undefined) snapshots.push({ seq: next.seq, at: state.clock.now, state: copyOf(state) });
}
