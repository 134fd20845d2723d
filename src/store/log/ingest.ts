import { knownTime, placeBoots, held, heldFrom, placesOf, verdictOf } from "../../derivation/clock.ts";
import {
  KIND,
  type EventRecord,
  type Fact,
  type GapRecord,
  type LogRecord,
  type Placed,
  type Stored,
} from "../../domain/record.ts";
import type { Seq } from "../../domain/units.ts";
import { type LiveStream, type OpenStore, sendableSeq } from "./streams.ts";
import { copyOf } from "../facts/fold.ts";
import type { Span } from "./missing.ts";
import { ifWhole, type LogRow, packFact, packLog, runsOf, stateRow, unpackLog } from "./rows.ts";
import type { Statements } from "./statements.ts";

/** Longest time between two saved states, which bounds the work of a start. The state is also saved at each fact. */
const SAVE_STATE_EVERY_MS = 600_000;

/** The input of a commit: records to append, and lost or deleted ranges for which the store must write gap records. */
interface Input {
  readonly records: readonly LogRecord[];
  readonly lastTake: number;
  /** Oldest kept seq; undefined: no row of the stream was deleted to make room for these records. */
  readonly oldest: Seq | undefined;
  /** Ranges of seqs that gap records must report: deleted from a full store, or rejected by the service. */
  readonly givenUp: readonly GapRecord["value"][];
  /** Ranges of seqs that were deleted from a full store earlier. The gap record about them may itself be damaged. */
  readonly givenUpBefore: readonly GapRecord["value"][];
}

/**
 * Inside a transaction: appends and folds the records in the given order. Appends the facts right after the record that made them. Saves
 * the state if that is due, and updates newest_seq and last_take. Only this function assigns seqs to records and facts. Records of a boot
 * without a clock sync are appended and wait; the sync folds them all in its own transaction. Returns the facts. If the transaction fails,
 * the stream must be loaded again, because the fold has changed it in memory.
 */
export function ingest(store: OpenStore, live: LiveStream, input: Input): readonly Placed<Fact>[] {
  const { sql, quarantine } = store;
  const { stream } = live.info;
  const newest = live.info.newest_seq;
  const commit: Commit = { store, live, newest, log: [], waiting: [], facts: [], placed: false };
  live.hold = heldFrom(live.hold, input.oldest ?? 0);
  const isEmpty = input.records.length === 0;
  const damaged = isEmpty ? [] : quarantine.undeclared(stream);
  const due = isEmpty ? [] : sql.dueEvents.all(stream);
  const before = damaged.length > 0 ? input.givenUpBefore : [];
  const added = storeRecords(input.records, { givenUp: [...before, ...input.givenUp, ...damaged], due });
  for (const record of [...input.records, ...added]) {
    take(commit, { ...record, seq: ++commit.newest });
  }
  if (due.length > 0) sql.dropDue.run(stream);
  if (damaged.length > 0) quarantine.declare(stream);
  addRows(commit);
  addFacts(sql, stream, { facts: commit.facts, version: store.fold.version });
  closeRows(store, live, commit.newest);
  if (input.oldest !== undefined || stateIsDue(commit)) {
    const seq = sendableSeq(commit.newest, live.hold);
    sql.saveState.run(stateRow(stream, seq, live.state));
    if (commit.last !== undefined) live.saved = { seq, mono: commit.last.mono, boot: commit.last.boot };
    const kept_from = input.oldest ?? live.info.oldest_seq;
    // Keeps a snapshot only if no records wait for a clock sync, because their facts are made later.
    if (live.hold.length === 0) {
      store.snapshots.keep(stream, { seq: commit.newest, at: live.state.clock.now, state: live.state }, kept_from);
    }
  }
  sql.moveStream.run({ stream, newest: commit.newest, acked: live.info.acked_seq, take: input.lastTake });
  const sendable_seq = sendableSeq(commit.newest, live.hold);
  live.info = { ...live.info, newest_seq: commit.newest, sendable_seq, last_take: input.lastTake };
  return commit.facts;
}

/** The intermediate results of one commit. */
interface Commit {
  readonly store: OpenStore;
  readonly live: LiveStream;
  newest: number;
  log: Placed<LogRecord>[];
  /** Records of boots that wait for a clock sync. They are stored in rows of their own. */
  waiting: Placed<LogRecord>[];
  readonly facts: Placed<Fact>[];
  /** Whether boots got their clock offset. The state must then be saved, because earlier rows have changed. */
  placed: boolean;
  /** The newest record of the commit with a known time. */
  last?: Placed<LogRecord>;
}

/** Folds a record whose time is known. The facts made from it get the next seqs. */
function foldOne(commit: Commit, record: Stored<LogRecord>): Placed<LogRecord> {
  const { store, live } = commit;
  const out = store.fold.step(live.state, record);
  live.state = out.state;
  const time = live.state.clock.now;
  for (const fact of out.facts) commit.facts.push({ ...fact, seq: ++commit.newest, time });
  return { ...record, time };
}

function take(commit: Commit, record: Stored<LogRecord>): void {
  const { store, live } = commit;
  const verdict = verdictOf(knownTime(live.state), live.hold, record);
  if (verdict === "hold") {
    live.hold = held(live.hold, record);
    live.shown = store.fold.step(live.shown ?? copyOf(live.state), record).state;
    commit.waiting.push({ ...record, time: live.shown.clock.now });
    return;
  }
  if (verdict === "place") {
    addRows(commit);
    placeWaiting(commit, record);
  }
  const unsure = record.quality === "good" && record.kind !== KIND.clock && live.state.clock.unsure;
  commit.log.push(foldOne(commit, unsure ? { ...record, quality: "uncertain" } : record));
}

/** Appends the commit's log records so far. */
function addRows(commit: Commit): void {
  const { sql } = commit.store;
  const { stream } = commit.live.info;
  for (const run of runsOf(commit.log)) sql.addLogRow.run(packLog(stream, run, true));
  for (const run of runsOf(commit.waiting)) sql.addLogRow.run(packLog(stream, run, false));
  const last = commit.log.at(-1);
  commit.log = [];
  commit.waiting = [];
  if (last !== undefined) commit.last = last;
}

/** Inside a transaction: appends facts in seq order. Each row holds the seq of the previous fact, so that a lost fact is noticed. */
export function addFacts(
  sql: Statements,
  stream: string,
  { facts, version }: { readonly facts: readonly Placed<Fact>[]; readonly version: number },
): void {
  const [first] = facts;
  if (first === undefined) return;
  let prev = sql.factBefore.get({ stream, seq: first.seq })?.seq ?? 0;
  for (const fact of facts) {
    sql.addFact.run(packFact(stream, fact, { version, prev }));
    prev = fact.seq;
  }
}

function stateIsDue({ live, last, facts, placed }: Commit): boolean {
  if (last === undefined) return false;
  const { saved } = live;
  return placed || facts.length > 0 || saved?.boot !== last.boot || last.mono - saved.mono >= SAVE_STATE_EVERY_MS;
}

/** Returns the store's own records. They follow the commit's last record, because the boot's clock record must come first. */
function storeRecords(
  records: readonly LogRecord[],
  { givenUp, due }: { readonly givenUp: readonly GapRecord["value"][]; readonly due: readonly EventRecord["value"][] },
): (GapRecord | EventRecord)[] {
  const last = records.at(-1);
  if (last === undefined) return [];
  const { boot, mono, at } = last;
  const base = { boot, mono, at, tag: "", quality: "good" } as const;
  return [
    ...givenUp.map((value): GapRecord => ({ kind: KIND.gap, ...base, value })),
    ...due.map(({ event, detail }): EventRecord => ({ kind: KIND.event, ...base, value: { event, detail } })),
  ];
}

/** Rows handled at a time. Bounds the memory if weeks of records wait for a clock sync. */
const PLACE_ROWS = 200;

/**
 * Inside a commit's transaction: folds all waiting records with the times that follow from the sync. Their facts get seqs after the sync,
 * because all earlier seqs are taken. The rows of these records may still change, because none has been sent: a record with an inferred
 * time becomes uncertain.
 */
function placeWaiting(commit: Commit, sync: Stored<LogRecord>): void {
  const { live } = commit;
  const { sql } = commit.store;
  const { stream } = live.info;
  const places = placesOf(knownTime(live.state), live.hold, sync);
  const unsure = new Set(places.filter(({ uncertain }) => uncertain).map(({ boot }) => boot));
  for (const { boot, offset, uncertain } of places) {
    sql.addBootPlace.run({ stream, boot, offset, uncertain: uncertain ? 1 : 0 });
  }
  live.state = placeBoots(live.state, places);
  for (;;) {
    const rows = sql.firstWaitingRows.all({ stream, rows: PLACE_ROWS });
    if (rows.length === 0) break;
    for (const row of rows) {
      const placed = unpackLog(row).map((record): Placed<LogRecord> => {
        const quality = unsure.has(record.boot) && record.quality === "good" ? "uncertain" : record.quality;
        return foldOne(commit, { ...record, quality });
      });
      sql.dropLogRow.run({ stream, seq: row.first_seq });
      for (const run of runsOf(placed)) sql.addLogRow.run(packLog(stream, run, true));
    }
  }
  live.hold = [];
  live.shown = null;
  commit.placed = true;
}

/** Maximum number of rows merged at once. Bounds the memory and time of a commit. */
const CHUNK_ROWS = 2_500;

/**
 * Inside a commit's transaction, after its rows are added: merges the oldest unmerged rows as soon as they fill a chunk. A new boot or
 * clock offset begins another chunk. A row after removed damaged rows does so too: seqs that are missing inside a row must be facts, which
 * can be made again. Rows that wait for a clock sync, and all later rows, are not merged. Damaged rows are left for the store check.
 */
function closeRows({ sql, quarantine, sizes }: OpenStore, live: LiveStream, newest: number): void {
  const { closed_records } = sizes;
  if (newest - live.closed < closed_records) return;
  const { stream } = live.info;
  const rows = sql.openRows.all({ stream, after: live.closed, rows: CHUNK_ROWS });
  const lost = quarantine.behind(stream, live.closed);
  const { chunk, records, upTo } = chunkOf(rows, { lost, most: closed_records });
  const first = chunk[0];
  const last = chunk.at(-1);
  if (upTo === null) return;
  if (first !== undefined && last !== undefined && chunk.length > 1) {
    sql.dropLogRows.run({ stream, from: first.first_seq, to: last.first_seq });
    sql.addLogRow.run(packLog(stream, records, true));
  }
  live.closed = upTo;
  sql.moveClosed.run({ stream, upTo });
}

/** Returns the rows to merge, with their records. `upTo`: the last seq that is then merged; null: the first row must wait. */
function chunkOf(rows: readonly LogRow[], { lost, most }: { readonly lost: readonly Span[]; readonly most: number }) {
  const chunk: LogRow[] = [];
  const records: Placed<LogRecord>[] = [];
  let upTo: number | null = null;
  for (const row of rows) {
    const [first] = chunk;
    const isOther = first !== undefined && (first.boot !== row.boot || first.t0 - first.mono0 !== row.t0 - row.mono0);
    const before = chunk.at(-1);
    const isApart = before !== undefined && lost.some(([from, to]) => before.last_seq < from && to < row.first_seq);
    if (row.placed === 0 || isOther || isApart || records.length >= most) break;
    const held = ifWhole(unpackLog, row);
    if (held === undefined && first !== undefined) break;
    upTo = row.last_seq;
    if (held === undefined) break;
    chunk.push(row);
    records.push(...held);
  }
  return { chunk, records, upTo };
}
