import { held, verdictOf } from "../core/derive/placing.ts";
import type { Fact, LogRecord, Stored } from "../core/types/record.ts";
import { foldOne, type Commit, type IngestTools } from "./commit.ts";
import { placeWaiting } from "./placing.ts";
import { packFact, packLog, runsOf, stateRow } from "./rows.ts";
import type { Statements } from "./statements.ts";
import { sendableSeq, type LiveStream } from "./streams.ts";

/** The state is saved at each fact and at least this often, which bounds what start-up folds again. */
const SAVE_STATE_EVERY_MS = 600_000;

/**
 * One transaction: appends the records in the given order, folds each, appends the facts right after the record that
 * made them, saves the state where due, moves newest_seq and last_take. Records of a boot without a sync are appended and
 * wait; the sync folds them all, in the same transaction. Throws as the database does; the stream in memory is then
 * worthless and must be loaded again, since the fold has gone on.
 */
export function ingest(
  tools: IngestTools,
  live: LiveStream,
  input: { readonly records: readonly LogRecord[]; readonly lastTake: number },
): readonly Stored<Fact>[] {
  const { sql, db } = tools;
  const stream = live.info.stream;
  const commit: Commit = { newest: live.info.newest_seq, log: [], waiting: [], facts: [], placed: false };
  const done: { save: LiveStream["saved"] } = { save: null };
  db.transaction(() => {
    for (const record of input.records) take(tools, live, { commit, record: { ...record, seq: ++commit.newest } });
    addRows(sql, stream, commit);
    for (const fact of commit.facts) sql.addFact.run(packFact(stream, fact, tools.fold.version));
    done.save = stateIsDue(live, commit);
    if (done.save !== null) sql.saveState.run(stateRow(stream, done.save.seq, live.fold));
    sql.moveStream.run({ stream, newest: commit.newest, acked: live.info.acked_seq, take: input.lastTake });
  })();
  const sendable_seq = sendableSeq(commit.newest, live.hold);
  live.info = { ...live.info, newest_seq: commit.newest, sendable_seq, last_take: input.lastTake };
  live.saved = done.save ?? live.saved;
  return commit.facts;
}

function take(
  tools: IngestTools,
  live: LiveStream,
  { commit, record }: { commit: Commit; record: Stored<LogRecord> },
): void {
  const { fold, sql } = tools;
  const verdict = verdictOf(fold.knownTime(live.fold), live.hold, record);
  if (verdict === "hold") {
    live.hold = held(live.hold, record);
    live.shown = fold.step(live.shown ?? fold.copy(live.fold), record).state;
    commit.waiting.push({ ...record, time: fold.timeOf(live.shown) });
    return;
  }
  if (verdict === "place") {
    addRows(sql, live.info.stream, commit);
    placeWaiting(tools, live, { commit, sync: record });
  }
  commit.log.push(foldOne(fold, live, { commit, record }));
}

/** Appends what the commit has of the log. */
function addRows(sql: Statements, stream: string, commit: Commit): void {
  for (const run of runsOf(commit.log)) sql.addLogRow.run(packLog(stream, run, true));
  for (const run of runsOf(commit.waiting)) sql.addLogRow.run(packLog(stream, run, false));
  const last = commit.log.at(-1);
  commit.log = [];
  commit.waiting = [];
  if (last !== undefined) commit.last = last;
}

function stateIsDue(live: LiveStream, { last, facts, placed, newest }: Commit): LiveStream["saved"] {
  if (last === undefined) return null;
  const due =
    placed || facts.length > 0 || live.saved?.boot !== last.boot || last.mono - live.saved.mono >= SAVE_STATE_EVERY_MS;
  return due ? { seq: sendableSeq(newest, live.hold), mono: last.mono, boot: last.boot } : null;
}
