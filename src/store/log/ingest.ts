import { held, heldFrom, placesOf, verdictOf } from "../../derivation/placing.ts";
import type { EventRecord, Fact, GapRecord, LogRecord, Placed, Stored } from "../../domain/record.ts";
import type { Seq } from "../../domain/units.ts";
import { addFacts } from "../facts/add-facts.ts";
import { type Commit, foldOne, type IngestTools } from "./commit.ts";
import { givenUpBefore, makeRoom, type GivenUp, type Room } from "../retention/evict.ts";
import { ifWhole, type LogRow, packLog, runsOf, stateRow, unpackLog } from "./rows.ts";
import type { Statements } from "./statements.ts";
import { type LiveStream, sendableSeq } from "./streams.ts";
import type { LostRange } from "./closing-statements.ts";

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
      keepSnapshot(tools, live, { newest: commit.newest, oldest: room.oldest.get(stream) ?? live.info.oldest_seq });
    }
    sql.moveStream.run({ stream, newest: commit.newest, acked: live.info.acked_seq, take: input.lastTake });
  })();
  const sendable_seq = sendableSeq(commit.newest, live.hold);
  live.info = { ...live.info, newest_seq: commit.newest, sendable_seq, last_take: input.lastTake };
  live.saved = done.saved ?? live.saved;
  return { facts: commit.facts, oldest: done.oldest };
}

/** Not while some wait for a sync: their facts are still to come, and stand after them. */
function keepSnapshot(
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
  const unsure = record.quality === "good" && record.kind !== "t" && fold.isUnsure(live.fold);
  commit.log.push(foldOne(fold, live, { commit, record: unsure ? { ...record, quality: "uncertain" } : record }));
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
  const now = fold.isSettled(live.fold) ? fold.knownTime(live.fold).now : 0;
  return makeRoom(evict, live.info, { now, records: records.length, reserve_pages });
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

/** Rows placed at a time: bounds the memory after weeks without a sync. */
const PLACE_ROWS = 200;

/**
 * Inside a commit's transaction: gives everything that waits its place in time, as `sync` says, and folds it from where the
 * time was known last. Its facts come after the sync in seq, as all seqs before are taken. Nothing of it has been sent, so
 * its rows may still change: a record whose place is inferred becomes uncertain.
 */
export function placeWaiting(
  { sql, fold }: IngestTools,
  live: LiveStream,
  { commit, sync }: { commit: Commit; sync: Stored<LogRecord> },
): void {
  const { stream } = live.info;
  const places = placesOf(fold.knownTime(live.fold), live.hold, sync);
  const unsure = new Set(places.filter(({ uncertain }) => uncertain).map(({ boot }) => boot));
  for (const { boot, offset, uncertain } of places) {
    sql.addBootPlace.run({ stream, boot, offset, uncertain: uncertain ? 1 : 0 });
  }
  live.fold = fold.place(live.fold, places);
  for (;;) {
    const rows = sql.firstWaitingRows.all({ stream, rows: PLACE_ROWS });
    if (rows.length === 0) break;
    for (const row of rows) {
      const placed = unpackLog(row).map((record): Placed<LogRecord> => {
        const quality = unsure.has(record.boot) && record.quality === "good" ? "uncertain" : record.quality;
        return foldOne(fold, live, { commit, record: { ...record, quality } });
      });
      sql.dropLogRow.run({ stream, seq: row.first_seq });
      for (const run of runsOf(placed)) sql.addLogRow.run(packLog(stream, run, true));
    }
  }
  live.hold = [];
  live.shown = null;
  commit.placed = true;
}

/** Half the size per change of a chunk of 500; a quarter of an hour of a busy booth, a night of a quiet one. */
const CHUNK_RECORDS = 4_000;
/** Bounds the memory, and the time that one commit spends on it. */
const CHUNK_ROWS = 2_500;

/**
 * Inside a commit's transaction, behind its rows: puts the oldest rows that no chunk holds yet into one, as soon as they make
 * a full one. Rows whose boot or clock offset changes begin another, as do those behind damaged ones that were taken out: seqs that
 * are missing inside a row are facts', and can be made anew. Those that wait for a sync, and all behind them, stay as they are; a
 * damaged one is left for the check to find.
 */
export function closeRows(sql: Statements, live: LiveStream, newest: number): void {
  if (newest - live.closed < CHUNK_RECORDS) return;
  const { stream } = live.info;
  const rows = sql.openRows.all({ stream, after: live.closed, rows: CHUNK_ROWS });
  const { chunk, records, upTo } = chunkOf(rows, sql.lostBehind.all({ stream, after: live.closed }));
  const [first, last] = [chunk[0], chunk.at(-1)];
  if (upTo === null) return;
  if (first !== undefined && last !== undefined && chunk.length > 1) {
    sql.dropLogRows.run({ stream, from: first.first_seq, to: last.first_seq });
    sql.addLogRow.run(packLog(stream, records, true));
  }
  live.closed = upTo;
  sql.moveClosed.run({ stream, closed: upTo });
}

/** The rows that go together, with their records; `upTo`: what then is done. null: the first one must wait. */
function chunkOf(
  rows: readonly LogRow[],
  lost: readonly LostRange[],
): {
  readonly chunk: readonly LogRow[];
  readonly records: readonly Placed<LogRecord>[];
  readonly upTo: number | null;
} {
  const chunk: LogRow[] = [];
  const records: Placed<LogRecord>[] = [];
  let upTo: number | null = null;
  for (const row of rows) {
    const [first] = chunk;
    const isOther = first !== undefined && (first.boot !== row.boot || first.t0 - first.mono0 !== row.t0 - row.mono0);
    const before = chunk.at(-1);
    const isApart = before !== undefined && lost.some((range) => isBetween(range, before, row));
    if (row.placed === 0 || isOther || isApart || records.length >= CHUNK_RECORDS) break;
    const held = ifWhole(unpackLog, row);
    if (held === undefined && first !== undefined) break;
    upTo = row.last_seq;
    if (held === undefined) break;
    chunk.push(row);
    records.push(...held);
  }
  return { chunk, records, upTo };
}

function isBetween({ from_seq, to_seq }: LostRange, before: LogRow, next: LogRow): boolean {
  return before.last_seq < from_seq && to_seq < next.first_seq;
}
