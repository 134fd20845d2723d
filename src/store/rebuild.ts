import type { Database } from "better-sqlite3";
import type { Fact, LogRecord, Placed, Stored } from "../core/types/record.ts";
import type { RebuildProgress } from "../core/types/rebuild.ts";
import type { StreamId } from "../core/types/units.ts";
import type { Bases } from "./bases.ts";
import { compareFacts, type Comparison } from "./rebuild-compare.ts";
import { addFacts } from "./add-facts.ts";
import { changedFact, packLog, stateRow, unpackFact } from "./rows.ts";
import { startOf } from "./rebuild-start.ts";
import { refoldSlice, sameState, type Refolding, type RefoldTools } from "./refold.ts";

/** An estimate from less than this says nothing. */
const ESTIMATE_AFTER_MS = 200;

export interface RebuildTools extends RefoldTools {
  readonly db: Database;
  readonly bases: Bases;
}

interface Job extends Refolding {
  readonly current: boolean;
  readonly started: number;
  /** Boots that had been placed when it began. */
  readonly places: number;
}

/**
 * Folds a stream's kept log again, beside the running ingest, and puts what came out in the stored facts' place. Facts that
 * come out the same keep their seq; a changed claim is a new record that names the old one; one that no longer holds is
 * withdrawn by an x record: what was delivered is never altered.
 */
export interface Rebuilder {
  /** Starts one; where one of the stream is under way it goes on. Throws where the stream can't be rebuilt, saying why. */
  start(stream: StreamId, current: boolean): RebuildProgress;
  /** null: none since the store was opened. */
  progress(stream: StreamId): RebuildProgress | null;
  /** A bounded piece of work; false: nothing is under way. */
  slice(): boolean;
}

export function createRebuilder(tools: RebuildTools): Rebuilder {
  const jobs = new Map<StreamId, Job>();
  const over = new Map<StreamId, RebuildProgress>();
  const progress = (stream: StreamId): RebuildProgress | null => {
    const job = jobs.get(stream);
    return job === undefined ? (over.get(stream) ?? null) : runningOf(tools, job);
  };
  return {
    start(stream, current) {
      if (!jobs.has(stream)) jobs.set(stream, newJob(tools, stream, current));
      over.delete(stream);
      return progress(stream) ?? { kind: "failed", current, reason: "it didn't start" };
    },
    progress,
    slice() {
      const [job] = jobs.values();
      if (job === undefined) return false;
      try {
        if (!refoldSlice(tools, job)) return true;
        over.set(job.stream, swap(tools, job));
      } catch (error) {
        // Nothing was changed: the swap is one transaction, and before it only memory was used.
        const reason = error instanceof Error ? error.message : String(error);
        over.set(job.stream, { kind: "failed", current: job.current, reason });
      }
      jobs.delete(job.stream);
      return jobs.size > 0;
    },
  };
}

function newJob(tools: RebuildTools, stream: StreamId, current: boolean): Job {
  const { info, fold, hold } = tools.live(stream);
  if (info.newest_seq === 0) throw new Error("the log is empty: there is nothing to rebuild from");
  const damaged = tools.sql.quarantined.get(stream);
  if (damaged !== undefined) {
    // Folding what is left would withdraw facts that the missing records proved.
    throw new Error(
      `records ${damaged.from_seq.toString()} to ${damaged.to_seq.toString()} were damaged in the store: ` +
        `the facts made from them stand, and the log without them can't be rebuilt`,
    );
  }
  if (hold.length > 0)
    throw new Error("readings wait for the clock to be synchronised: rebuild when they have their place");
  const today = current ? tools.fold.parametersIn(fold) : null;
  if (current && today === null) throw new Error("no parameters are in force yet: leave --current out");
  const places = tools.sql.bootPlaces.all(stream).length;
  const base = startOf(tools, stream, info.oldest_seq);
  const { seq } = base;
  // Parameters are records too: those in force at a kept state came before it.
  const { state, facts: adopted } =
    today === null || seq === 0 ? { ...base, facts: [] } : tools.fold.adopt(base.state, today);
  const facts = adopted.map((fact) => ({ fact, time: tools.fold.timeOf(state) }));
  const awaited = current ? [] : [...tools.bases.after(stream, seq)];
  const begun = { started: tools.now(), records: 0, last: null, facts, bases: [], ahead: [], awaited };
  return { stream, today, current, places, from_seq: seq + 1, seq, state, ...begun };
}

function runningOf({ now, live }: RebuildTools, job: Job): RebuildProgress {
  const elapsed_ms = now() - job.started;
  const { newest_seq } = live(job.stream).info;
  const share = job.seq / newest_seq;
  const left_ms = elapsed_ms < ESTIMATE_AFTER_MS || share === 0 ? null : Math.round((elapsed_ms * (1 - share)) / share);
  return { kind: "running", current: job.current, folded_seq: job.seq, newest_seq, elapsed_ms, left_ms };
}

/** The one transaction that puts the results in place. */
function swap(tools: RebuildTools, job: Job): RebuildProgress {
  const { db, sql, fold } = tools;
  const target = tools.live(job.stream);
  if (target.hold.length > 0 || sql.bootPlaces.all(job.stream).length !== job.places) {
    throw new Error("the clock was synchronised meanwhile, or waits for it: start it again");
  }
  for (const base of job.awaited.splice(0)) job.bases.push({ ...base, state: fold.copy(job.state) });
  const rows = sql.standingFacts.all({ stream: job.stream, from: job.from_seq });
  const from_versions = [...new Set(rows.map(({ version }) => version))].sort((a, b) => a - b);
  const comparison = compareFacts(rows.map(unpackFact), job.facts);
  const isSame = comparison.append.length === 0 && comparison.replaced.length === 0;
  if (!isSame || from_versions.some((version) => version !== fold.version) || !sameState(job.state, target.fold)) {
    let newest: number = target.info.newest_seq;
    db.transaction(() => {
      newest = write(tools, job, { comparison, newest });
      setVersion(tools, job.stream);
      sql.countRebuild.run({ stream: job.stream });
      const { acked_seq, last_take } = target.info;
      sql.moveStream.run({ stream: job.stream, newest, acked: acked_seq, take: last_take });
      sql.saveState.run(stateRow(job.stream, newest, job.state));
      if (!job.current) tools.bases.replaceAfter(job.stream, job.from_seq - 1, job.bases);
    })();
    target.info = { ...target.info, newest_seq: newest, sendable_seq: newest };
    target.fold = job.state;
    target.saved = job.last === null ? null : { seq: newest, mono: job.last.mono, boot: job.last.boot };
  }
  const { current, records, from_seq } = job;
  const { changes, examples } = comparison;
  const elapsed_ms = tools.now() - job.started;
  const versions = { from_versions, to_version: fold.version };
  return { kind: "done", current, records, from_seq, changes, examples, ...versions, elapsed_ms };
}

/** Appends what is new, withdraws what no longer holds. Returns the newest seq. */
function write(
  { sql, fold }: RebuildTools,
  job: Job,
  { comparison, newest }: { comparison: Comparison; newest: number },
): number {
  const { stream, last } = job;
  let seq = newest;
  const withdrawals: Placed<LogRecord>[] = [];
  for (const { seq: withdrawn } of comparison.withdraw) {
    if (last === null) break;
    const { boot, mono, at } = last;
    const record = { kind: "x", boot, mono, at, tag: "", value: { seq: withdrawn }, quality: "good" } as const;
    const stored: Stored<LogRecord> = { ...record, seq: ++seq };
    job.state = fold.step(job.state, stored).state;
    withdrawals.push({ ...stored, time: fold.timeOf(job.state) });
  }
  const fresh: Placed<Fact>[] = [];
  if (withdrawals.length > 0) sql.addLogRow.run(packLog(stream, withdrawals, true));
  for (const { fact, time, supersedes } of comparison.append) {
    const value = supersedes === null ? fact.value : { ...fact.value, supersedes };
    // The value is that of the fact's own kind, with the one field more that these kinds have.
    const placed = { ...fact, value, seq: ++seq, time } as Placed<Fact>;
    fresh.push(placed);
  }
  addFacts(sql, stream, { facts: fresh, version: fold.version });
  for (const replaced of comparison.replaced) {
    const row = sql.factsFrom.get({ stream, from: replaced, to: replaced, rows: 1 });
    if (row !== undefined) sql.changeFact.run(changedFact(row, { replaced: 1 }));
  }
  return seq;
}

/** The facts that stand are those that this version makes. */
function setVersion({ sql, fold: { version } }: RebuildTools, stream: StreamId): void {
  for (const row of sql.standingFacts.all({ stream, from: 0 })) {
    if (row.version !== version) sql.changeFact.run(changedFact(row, { version }));
  }
}
