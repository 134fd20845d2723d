import { held, heldFrom, verdictOf } from "../core/derive/placing.ts";
import type { EventRecord, Fact, GapRecord, LogRecord, Stored } from "../core/types/record.ts";
import type { Seq } from "../core/types/units.ts";
import { addFacts } from "./add-facts.ts";
import { closeRows } from "./closing.ts";
import { foldOne, type Commit, type IngestTools } from "./commit.ts";
import { givenUpBefore, makeRoom, type GivenUp, type Room } from "./evict.ts";
import { placeWaiting } from "./placing.ts";
import { packLog, runsOf, stateRow } from "./rows.ts";
import type { Statements } from "./statements.ts";
import { sendableSeq, type LiveStream } from "./streams.ts";

/** The state is saved at each fact and at least this often, which bounds what start-up folds again. */
const SAVE_STATE_EVERY_MS = 600_000;

/**
 * One transaction: appends the records in the given order, folds each, appends the facts right after the record that
 * made them, saves the state where due, moves newest_seq and last_take. Records of a boot without a sync are appended and
 * wait; the sync folds them all, in the same transaction. Where the store is full the oldest rows go first, and a gap record
 * behind the others says which. Throws as the database does; the stream in memory is then
 * worthless and must be loaded again, since the fold has gone on.
 */
export function ingest(
  tools: IngestTools,
  live: LiveStream,
  input: { readonly records: readonly LogRecord[]; readonly lastTake: number; readonly reserve_pages: number },
): Ingestion {
  const { sql, db } = tools;
  const stream = live.info.stream;
  const commit: Commit = { newest: live.info.newest_seq, log: [], waiting: [], facts: [], placed: false };
  const done: { saved: LiveStream["saved"]; oldest: Ingestion["oldest"] } = { saved: null, oldest: new Map() };
  db.transaction(() => {
    const room = roomFor(tools, live, input);
    done.oldest = room.oldest;
    live.hold = heldFrom(live.hold, room.oldest.get(stream) ?? 0);
    const isEmpty = input.records.length === 0;
    const damaged = isEmpty ? [] : tools.quarantine.undeclared(stream);
    const refused = isEmpty ? [] : tools.dead_letters.undeclared(stream);
    const due = isEmpty ? [] : sql.dueEvents.all(stream);
    // The gap record that told of what a full store had given up may be among what is damaged.
    const before = damaged.length > 0 ? givenUpBefore(live.info) : [];
    const own = ownRecords(input.records, { givenUp: [...before, ...room.givenUp, ...damaged, ...refused], due });
    for (const record of [...input.records, ...own]) {
      take(tools, live, { commit, record: { ...record, seq: ++commit.newest } });
    }
    if (due.length > 0) sql.dropDue.run(stream);
    if (damaged.length > 0) tools.quarantine.declare(stream);
    if (refused.length > 0) tools.dead_letters.declare(stream);
    addRows(sql, stream, commit);
    addFacts(sql, stream, { facts: commit.facts, version: tools.fold.version });
    closeRows(sql, live, commit.newest);
    const saved = savedBy(live, commit);
    if (room.oldest.has(stream) || stateIsDue(live, commit)) {
      sql.saveState.run(stateRow(stream, saved.seq, live.fold));
      done.saved = saved.at;
      keepBase(tools, live, { newest: commit.newest, oldest: room.oldest.get(stream) ?? live.info.oldest_seq });
    }
    sql.moveStream.run({ stream, newest: commit.newest, acked: live.info.acked_seq, take: input.lastTake });
  })();
  const sendable_seq = sendableSeq(commit.newest, live.hold);
  live.info = { ...live.info, newest_seq: commit.newest, sendable_seq, last_take: input.lastTake };
  live.saved = done.saved ?? live.saved;
  return { facts: commit.facts, oldest: done.oldest };
}

/** Not while some wait for a sync: their facts are still to come, and stand after them. */
function keepBase(
  { bases, fold }: IngestTools,
  live: LiveStream,
  { newest, oldest }: { readonly newest: Seq; readonly oldest: Seq },
): void {
  if (live.hold.length > 0) return;
  bases.keep(live.info.stream, { seq: newest, at: fold.timeOf(live.fold), state: live.fold }, oldest);
}

/** What an ingest did. */
export interface Ingestion {
  readonly facts: readonly Stored<Fact>[];
  /** Oldest kept seq of each stream that lost rows. */
  readonly oldest: ReadonlyMap<string, number>;
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

function stateIsDue(live: LiveStream, { last, facts, placed }: Commit): boolean {
  if (last === undefined) return false;
  const { saved } = live;
  return placed || facts.length > 0 || saved?.boot !== last.boot || last.mono - saved.mono >= SAVE_STATE_EVERY_MS;
}

function savedBy(live: LiveStream, { last, newest }: Commit): { seq: number; at: LiveStream["saved"] } {
  const seq = sendableSeq(newest, live.hold);
  return { seq, at: last === undefined ? null : { seq, mono: last.mono, boot: last.boot } };
}

function roomFor(
  { fold, evict }: IngestTools,
  live: LiveStream,
  { records, reserve_pages }: { readonly records: readonly LogRecord[]; readonly reserve_pages: number },
): Room {
  if (records.length === 0) return { givenUp: [], oldest: new Map() };
  return makeRoom(evict, live.info, { now: fold.knownTime(live.fold).now, records: records.length, reserve_pages });
}

/** What the store itself has to say stands behind the commit's last record: its boot's clock record must come before. */
function ownRecords(
  records: readonly LogRecord[],
  { givenUp, due }: { readonly givenUp: readonly GivenUp[]; readonly due: readonly EventRecord["value"][] },
): (GapRecord | EventRecord)[] {
  const last = records.at(-1);
  if (last === undefined) return [];
  const { boot, mono, at } = last;
  const base = { boot, mono, at, tag: "", quality: "good" } as const;
  return [
    ...givenUp.map((value): GapRecord => ({ kind: "g", ...base, value })),
    ...due.map(({ event, detail }): EventRecord => ({ kind: "e", ...base, value: { event, detail } })),
  ];
}
