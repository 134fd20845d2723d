import { aheadOf, clockText, putBack, rightOffset, shownBy, takeBack } from "../../derivation/clock.ts";
import { adoptParameters } from "../../derivation/fold.ts";
import type { RebuildProgress } from "../../domain/rebuild.ts";
import { KIND, type Fact, type LogRecord, type Placed, type Stored } from "../../domain/record.ts";
import type { EpochMs, Seq, StreamId } from "../../domain/units.ts";
import type { OpenStore } from "../log/streams.ts";
import { takenBackFrom } from "../log/clock-words.ts";
import { addFacts } from "../log/ingest.ts";
import { changedFact, packLog, runsOf, stateRow, unpackFact, unpackLog } from "../log/rows.ts";
import { logRowsAfter, type Statements } from "../log/statements.ts";
import { isSameState } from "./fold.ts";
import { compareFacts, type Comparison } from "./compare.ts";
import { keepSnapshot, refold, type Refolding, refoldingFrom } from "./refold.ts";
import { startOf } from "./snapshots.ts";
import { errorText } from "../../domain/messages/message-error.ts";

/** Elapsed time after which the remaining time can be estimated. */
const ESTIMATE_AFTER_MS = 200;
/** Approximate number of records whose time is changed in one transaction. */
const MOST_MOVED = 20_000;
/** Maximum number of automatic rebuilds of a stream whose time is ahead of the clock, if they fail. */
const MOST_TRIES = 3;

interface Job extends Refolding {
  readonly current: boolean;
  readonly started: number;
  /** Number of boots with a confirmed clock when the rebuild began. */
  readonly places: number;
}

/**
 * Folds a stream's kept log again while new records are ingested, and replaces the stored facts by the result. Equal facts keep their seq.
 * A changed fact becomes a new record that names the old one. A record of kind x withdraws a wrong fact. Delivered records are never
 * altered.
 */
export function createRebuilder(store: OpenStore) {
  const jobs = new Map<StreamId, { readonly job: Job; readonly slices: Generator<void> }>();
  const over = new Map<StreamId, RebuildProgress>();
  /** Number of rebuilds that a time ahead of the clock caused, by stream and time. */
  const tries = new Map<string, number>();
  const begin = (stream: StreamId, how: RebuildOptions): void => {
    if (jobs.has(stream)) return;
    const job = newJob(store, stream, how);
    jobs.set(stream, { job, slices: refold(store, job) });
    over.delete(stream);
  };
  const fail = (stream: StreamId, current: boolean, error: unknown): void =>
    void over.set(stream, { kind: "failed", current, reason: errorText(error) });
  const progress = (stream: StreamId): RebuildProgress | null => {
    const begun = jobs.get(stream);
    return begun === undefined ? (over.get(stream) ?? null) : runningOf(store, begun.job);
  };
  const slice = (): boolean => {
    const [begun] = jobs.values();
    if (begun === undefined) return false;
    const { job, slices } = begun;
    try {
      if (slices.next().done !== true) {
        moveSome(store, job);
        return true;
      }
      over.set(job.stream, swap(store, job));
    } catch (error) {
      // Leaves the store unchanged: until the swap, which is one transaction, the rebuild uses only memory.
      fail(job.stream, job.current, error);
    }
    jobs.delete(job.stream);
    return jobs.size > 0;
  };
  return {
    /** Starts a rebuild of the stream's facts, unless one is running. Throws if the stream can't be rebuilt. */
    start: (stream: StreamId, current: boolean): RebuildProgress => {
      begin(stream, { current, moves: false });
      return progress(stream) ?? { kind: "failed", current, reason: "it didn't start" };
    },
    /** Returns the progress; null: no rebuild was started since the store was opened. */
    progress,
    /** Does a bounded piece of work. Returns false if no rebuild is left to continue. */
    slice,
    /** Starts to rebuild each given stream whose time turned out to be wrong, then does a slice of work. */
    mend(streams: Iterable<StreamId>): boolean {
      for (const stream of streams) {
        const { info, state, hold } = store.live(stream);
        if (hold.length > 0 || jobs.has(stream)) continue;
        const hasChanged = store.words.hasChanged(info, clockText(state));
        const ahead = aheadOf(state);
        const tried = tries.get(`${stream} ${ahead ?? ""}`) ?? 0;
        if (!hasChanged && (ahead === null || tried >= MOST_TRIES)) continue;
        if (ahead !== null) tries.set(`${stream} ${ahead}`, tried + 1);
        try {
          begin(stream, { current: false, moves: true });
        } catch (error) {
          fail(stream, false, error);
        }
      }
      return slice();
    },
  };
}

interface RebuildOptions {
  /** Whether to use today's parameters instead of those that were in force at the time. */
  readonly current: boolean;
  /** Whether stored records get corrected times. */
  readonly moves: boolean;
}

function newJob(store: OpenStore, stream: StreamId, { current, moves }: RebuildOptions): Job {
  const { info, state: present, hold } = store.live(stream);
  if (info.newest_seq === 0) throw new Error("the log is empty: there is nothing to rebuild from");
  const [damaged] = store.quarantine.firstOfLog(stream);
  const isAhead = aheadOf(present) !== null;
  // Refuses to rebuild a damaged stream, unless its time is ahead. Such a stream's time would stand still, which is worse than losing the
  // facts of damaged records.
  if (damaged !== undefined && !isAhead) {
    // Does not fold the remaining records, because that would withdraw facts that the missing records proved.
    throw new Error(
      `records ${damaged[0]} to ${damaged[1]} were damaged in the store: ` +
        `the facts made from them stand, and the log without them can't be rebuilt`,
    );
  }
  if (hold.length > 0)
    throw new Error("readings wait for the clock to be synchronized: rebuild when they have their place");
  const today = current ? present.parameters : null;
  if (current && today === null) throw new Error("no parameters are in force yet: leave --current out");
  const places = store.sql.bootPlaces.all(stream).length;
  const { seq, state: kept } = startOf(store, stream, info.oldest_seq);
  const stretches = takenBackFrom(store.sql, stream, { seq, shown: shownBy(kept) });
  // Corrects the snapshot's own time, which may be wrong if this is the oldest snapshot left.
  const right = putBack(kept, rightOffset(kept, stretches));
  const limit = right.clock.now;
  const by = kept.clock.now - limit;
  const begin = takeBack(right, stretches);
  // Replaces the snapshot's parameters by today's, because the records that set the snapshot's parameters are before the snapshot.
  const { state, facts: adopted } =
    today === null || seq === 0 ? { state: begin, facts: [] } : adoptParameters(begin, today);
  return {
    ...refoldingFrom(stream, { seq, state }),
    today,
    current,
    places,
    started: store.now(),
    facts: adopted.map((fact) => ({ fact, time: state.clock.now })),
    early: by > 0 ? { from: info.oldest_seq, to: seq, limit, by } : null,
    awaited: current ? [] : [...store.snapshots.after(stream, seq)],
    moved: isAhead || moves ? new Map<Seq, EpochMs>() : null,
  };
}

/**
 * Stores the new times computed so far, because weeks of wrong times are too much for one transaction. After a stop, the next start changes
 * these rows again.
 */
function moveSome({ db, sql }: OpenStore, { stream, moved }: Job): void {
  if (moved === null || moved.size < MOST_MOVED) return;
  db.transaction(() => moveRows(sql, stream, moved))();
  moved.clear();
}

function runningOf({ now, live }: OpenStore, job: Job): RebuildProgress {
  const elapsed_ms = now() - job.started;
  const { newest_seq } = live(job.stream).info;
  const share = job.seq / newest_seq;
  const left_ms = elapsed_ms < ESTIMATE_AFTER_MS || share === 0 ? null : Math.round((elapsed_ms * (1 - share)) / share);
  return { kind: "running", current: job.current, folded_seq: job.seq, newest_seq, elapsed_ms, left_ms };
}

/** Replaces the stored facts and the state by the result, in one transaction. */
function swap(store: OpenStore, job: Job): RebuildProgress {
  const { db, sql, fold } = store;
  const target = store.live(job.stream);
  if (target.hold.length > 0 || sql.bootPlaces.all(job.stream).length !== job.places) {
    throw new Error("the clock was synchronized meanwhile, or waits for it: start it again");
  }
  while (job.awaited.length > 0) keepSnapshot(job);
  job.state = takeBack(job.state, []);
  const rows = sql.standingFacts.all({ stream: job.stream, from: job.from_seq });
  const from_versions = [...new Set(rows.map(({ version }) => version))].sort((a, b) => a - b);
  const comparison = compareFacts(rows.map(unpackFact), job.facts);
  const isMoved = job.moved !== null && job.moved.size > 0;
  const isSame = !isMoved && comparison.append.length === 0 && comparison.replaced.length === 0;
  if (!isSame || from_versions.some((version) => version !== fold.version) || !isSameState(job.state, target.state)) {
    let newest: number = target.info.newest_seq;
    db.transaction(() => {
      if (job.moved !== null) moveRows(sql, job.stream, job.moved);
      newest = write(store, job, comparison);
      setVersion(store, job.stream);
      sql.countRebuild.run(job.stream);
      const { acked_seq, last_take } = target.info;
      sql.moveStream.run({ stream: job.stream, newest, acked: acked_seq, take: last_take });
      sql.saveState.run(stateRow(job.stream, newest, job.state));
      if (!job.current) store.snapshots.replaceAfter(job.stream, job.from_seq - 1, job.snapshots);
    })();
    target.info = { ...target.info, newest_seq: newest, sendable_seq: newest };
    target.state = job.state;
    target.saved = job.last === null ? null : { seq: newest, mono: job.last.mono, boot: job.last.boot };
  }
  const { current, records, from_seq } = job;
  const { changes, examples } = comparison;
  const elapsed_ms = store.now() - job.started;
  const versions = { from_versions, to_version: fold.version };
  return { kind: "done", current, records, from_seq, changes, examples, ...versions, elapsed_ms };
}

/** Appends new facts and withdraws wrong ones. Returns the newest seq. */
function write({ sql, fold, live }: OpenStore, job: Job, comparison: Comparison): number {
  const { stream, last } = job;
  let seq: number = live(stream).info.newest_seq;
  const withdrawals: Placed<LogRecord>[] = [];
  for (const { seq: withdrawn } of comparison.withdraw) {
    if (last === null) break;
    const { boot, mono, at } = last;
    const record = { kind: KIND.void, boot, mono, at, tag: "", value: { seq: withdrawn }, quality: "good" } as const;
    const stored: Stored<LogRecord> = { ...record, seq: ++seq };
    job.state = fold.step(job.state, stored).state;
    withdrawals.push({ ...stored, time: job.state.clock.now });
  }
  if (withdrawals.length > 0) sql.addLogRow.run(packLog(stream, withdrawals, true));
  const fresh = comparison.append.map(({ fact, time, supersedes }) => {
    const value = supersedes === null ? fact.value : { ...fact.value, supersedes };
    // TypeScript can't see that the value fits the fact's kind; `supersedes` is the one field added to it.
    return { ...fact, value, seq: ++seq, time } as Placed<Fact>;
  });
  addFacts(sql, stream, { facts: fresh, version: fold.version });
  for (const replaced of comparison.replaced) {
    const row = sql.factsFrom.get({ stream, from: replaced, to: replaced, rows: 1 });
    if (row !== undefined) sql.changeFact.run(changedFact(row, { replaced: 1 }));
  }
  return seq;
}

/** Marks the stored facts as made by the present version of the definitions. */
function setVersion({ sql, fold: { version } }: OpenStore, stream: StreamId): void {
  for (const row of sql.standingFacts.all({ stream, from: 0 })) {
    if (row.version !== version) sql.changeFact.run(changedFact(row, { version }));
  }
}

/**
 * Inside a transaction: sets the corrected time of log records, and gives the facts made of a record that record's time. Content is not
 * changed, so that it still equals the service's copy. Rows are read again, because they may have been merged into chunks since the times
 * were computed.
 */
function moveRows(sql: Statements, stream: StreamId, times: ReadonlyMap<Seq, EpochMs>): void {
  const seqs = [...times.keys()].sort((a, b) => a - b);
  const [first] = seqs;
  const last = seqs.at(-1);
  if (first === undefined || last === undefined) return;
  for (const [index, seq] of seqs.entries()) {
    const next = seqs[index + 1] ?? nextInLog(sql, stream, seq);
    moveFacts(sql, stream, { seq, next, time: times.get(seq) ?? Infinity });
  }
  for (const row of logRowsAfter(sql, stream, first - 1)) {
    if (row.first_seq > last) return;
    const records = unpackLog(row).map((record) => ({ ...record, time: times.get(record.seq) ?? record.time }));
    sql.dropLogRow.run({ stream, seq: row.first_seq });
    for (const run of runsOf(records)) sql.addLogRow.run(packLog(stream, run, row.placed === 1));
  }
}

/** Maximum number of facts that one record makes. */
const MOST_FACTS = 200;

/**
 * If facts between two log records have a later time than the first record, gives them its time. The service would always reject a wrong
 * time.
 */
function moveFacts(
  sql: Statements,
  stream: StreamId,
  { seq, next, time }: { readonly seq: Seq; readonly next: Seq; readonly time: EpochMs },
): void {
  if (next === seq + 1) return;
  for (const row of sql.factsFrom.all({ stream, from: seq + 1, to: next - 1, rows: MOST_FACTS })) {
    if (row.time > time) sql.changeFact.run(changedFact(row, { time }));
  }
}

/** Returns the seq of the next log record. Facts after that record belong to a later commit. */
function nextInLog(sql: Statements, stream: StreamId, seq: Seq): Seq {
  const [row] = sql.logRowsFrom.all({ stream, from: seq + 1, rows: 1 });
  return row === undefined ? Number.MAX_SAFE_INTEGER : Math.max(row.first_seq, seq + 1);
}
