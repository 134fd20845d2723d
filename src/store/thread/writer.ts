import type { Database } from "better-sqlite3";
import { dirname } from "node:path";
import { clockText, isSettled, knownTime } from "../../derivation/clock.ts";
import { presentOf } from "../../derivation/fold.ts";
import type { DeriveState } from "../../derivation/state.ts";
import type { LogRecord } from "../../domain/record.ts";
import { SECOND_MS } from "../../domain/time.ts";
import { DEFAULT_BUDGET, hoursToFull, ROW_SIZES, type RowSizes, type StoreBudget } from "../../domain/storage.ts";
import type { StorageHealth, StorageStatus } from "../../domain/status.ts";
import type { BoothId, EpochMs, Seq, StreamId, TakeNumber } from "../../domain/units.ts";
import { find, mend, mendPages } from "../check.ts";
import { deriveFold, type Fold } from "../facts/fold.ts";
import { createRebuilder } from "../facts/rebuild.ts";
import { restoreLost } from "../facts/restore.ts";
import { createSnapshots } from "../facts/snapshots.ts";
import { clockWords } from "../log/clock-words.ts";
import { ingest } from "../log/ingest.ts";
import { createQuarantine } from "../log/quarantine.ts";
import { chunksIn, contextRecordsIn, gapsAt, recordReader } from "../log/read.ts";
import { stateRow } from "../log/rows.ts";
import { prepareStatements, type Statements } from "../log/statements.ts";
import { infoOf, type LiveStream, loadStream, type OpenStore, sendableSeq } from "../log/streams.ts";
import { StoreDamaged } from "../open.ts";
import type { Ingested, RebuildCalls, StoreCalls, StreamInfo } from "../port.ts";
import {
  fileBudget,
  freeBytes,
  type FullStore,
  givenUpBefore,
  isFull,
  makeRoom,
  prepareRoom,
  RESERVES,
} from "../retention/budget.ts";
import { createDeadLetters, type DeadLetters } from "../retention/dead-letters.ts";

/** Time limit for checking records that are already folded and sent, when a stream is opened. */
const CHECK_MS = 2 * SECOND_MS;

/** The synchronous half of the store. The store thread runs it; a simulation calls it directly. */
export interface Writer extends StoreCalls {
  /**
   * Checks the next bounded piece of the store, and at the end restores lost facts. Returns false when the check is complete; the next call
   * then starts over.
   */
  check(): boolean;
  /** Starts rebuilding facts. The caller then calls `rebuildSlice` repeatedly. */
  readonly rebuild: RebuildCalls["start"];
  readonly rebuildProgress: RebuildCalls["progress"];
  /** Does a bounded piece of a rebuild. Returns false if no rebuild is running. */
  rebuildSlice(): boolean;
  /** Corrects the next records that were stored with a wrong time. Returns false if there are none. To be called after each commit. */
  mend(): boolean;
  close(): void;
}

export interface WriterOptions {
  readonly db: Database;
  /** The function that makes facts of records; absent: the derivation. */
  readonly fold?: Fold;
  /** Returns a monotonic time in ms, for measuring the duration of a commit. */
  readonly now: () => number;
  /** Returns the time of creation for a new stream. */
  readonly wall: () => EpochMs;
  /** Returns a name (UUID) for a new stream. */
  readonly uuid: () => string;
  /** Storage limits; absent: DEFAULT_BUDGET. */
  readonly budget?: StoreBudget;
  /** Sizes of rows; absent: ROW_SIZES. */
  readonly sizes?: RowSizes;
  /** Returns the health of the file and the disk; absent: both count as healthy. */
  readonly health?: () => StorageHealth;
}

const WELL: StorageHealth = { low: false, damaged_files: [] };

/** An open store, with its budget and its dead letters (records that the service rejected). */
interface Writing {
  readonly store: OpenStore;
  readonly fullStore: FullStore;
  readonly dead_letters: DeadLetters;
}

export function createWriter(options: WriterOptions): Writer {
  const streams = new Map<StreamId, LiveStream>();
  const store = openStore(options, streams);
  const { db, sql, live, now } = store;
  const file = fileBudget(db, options.budget ?? DEFAULT_BUDGET);
  const fullStore: FullStore = { sql: prepareRoom(db), file, gapsAt: (stream, seq) => gapsAt(sql, stream, seq) };
  const dead_letters = createDeadLetters(db);
  const rebuilder = createRebuilder(store);
  const read = recordReader(sql, (info, seq) => mendFrom(store, info, { from: seq, until: () => true }));
  const answer = (stream: LiveStream, done: Pick<Ingested, "facts" | "commit_ms">): Ingested => {
    const { newest_seq, sendable_seq, oldest_seq, renew_from = 0 } = stream.info;
    const storage = storageOf({ ...store, file }, stream.info, options.health?.() ?? WELL);
    return { newest_seq, sendable_seq, oldest_seq, renew_from, present: presentOf(shownOf(stream)), ...done, storage };
  };
  return {
    openStream(booth) {
      const row = sql.streamOfBooth.get(booth) ?? addStream(store, booth, options.uuid());
      file.refresh();
      return live(row.stream_id).info;
    },
    ingest(stream, records, lastTake) {
      const started = now();
      const { acked_seq, last_take } = live(stream).info;
      if (lastTake <= last_take) return answer(live(stream), { facts: [], commit_ms: 0 });
      for (const reserve of RESERVES) {
        const target = live(stream);
        // Repeats the acks since the last commit. They were only in memory, and the failed attempt discarded them.
        moveOn(target, acked_seq);
        try {
          const reserve_pages = Math.floor(reserve * file.limits().most);
          const commit = db.transaction(() =>
            commitOf({ store, fullStore, dead_letters }, target, { records, lastTake, reserve_pages }),
          );
          const { facts, oldest } = commit();
          noteOldest(streams, oldest);
          return answer(target, { facts, commit_ms: now() - started });
        } catch (error) {
          streams.delete(stream);
          if (reserve === RESERVES.at(-1) || !isOverBudget(db, fullStore, error)) throw error;
        }
      }
      throw new Error("a commit without a try");
    },
    read: (stream, from, limit) => read(live(stream).info, { from, limit, last: live(stream).info.sendable_seq }),
    readCommitted: (stream, from, limit) =>
      read(live(stream).info, { from, limit, last: live(stream).info.newest_seq }),
    contextRecords: (stream, from, end) => contextRecordsIn(sql, live(stream).info, { from, end }),
    chunks: (stream, from, end) => chunksIn(store, live(stream).info, { from, end }),
    ack: (stream, upTo) => moveOn(live(stream), upTo),
    setAside(stream, refusals) {
      const { info } = live(stream);
      const recordAt = (seq: Seq) => read(info, { from: seq, limit: 1, last: info.sendable_seq })[0];
      db.transaction(() => dead_letters.add(stream, refusals, { at: store.wall(), recordAt }))();
      return dead_letters.all(stream);
    },
    refused: dead_letters.all,
    resend: (stream, from) => moveBack(sql, live(stream), from),
    info: (stream) => live(stream).info,
    state: (stream) => shownOf(live(stream)),
    check: checking(store),
    rebuild: rebuilder.start,
    rebuildProgress: rebuilder.progress,
    rebuildSlice: rebuilder.slice,
    mend: () => rebuilder.mend(streams.keys()),
    close: () => closeStore(db, sql, streams),
  };
}

function openStore(options: WriterOptions, streams: Map<StreamId, LiveStream>): OpenStore {
  const { db, fold = deriveFold, sizes = ROW_SIZES, now, wall } = options;
  const sql = prepareStatements(db);
  const words = clockWords(sql);
  const store: OpenStore = {
    db,
    sql,
    fold,
    now,
    wall,
    words,
    sizes,
    quarantine: createQuarantine(db),
    snapshots: createSnapshots(db),
    live(stream) {
      const known = streams.get(stream);
      if (known !== undefined) return known;
      const loaded = openLive(store, stream);
      streams.set(stream, loaded);
      words.opened(stream, clockText(loaded.state), loaded.info.newest_seq);
      return loaded;
    },
  };
  return store;
}

/**
 * Returns a function that checks the next piece of the whole store. It returns false when the check is complete; the next call then starts
 * over.
 */
function checking(store: OpenStore): () => boolean {
  const { db, sql, live } = store;
  const tried = new Set<string>();
  function* check(): Generator<void> {
    const streams = (): readonly StreamId[] => sql.allStreams.all().map(({ stream_id }) => stream_id);
    mendPages(db);
    for (const found of find(db, () => streams().map((stream) => live(stream).info))) {
      mend(db, found);
      yield;
    }
    yield* restoreLost(store, streams(), tried);
  }
  let pass = check();
  return () => {
    let isDone: boolean | undefined = true;
    try {
      isDone = pass.next().done;
    } finally {
      if (isDone === true) pass = check();
    }
    return isDone !== true;
  };
}

/**
 * Returns the usage and health of the store. Booths share the file, so each booth gets the total usage, and the rate at which its own log
 * fills the file.
 */
function storageOf(
  { sql, file, quarantine }: OpenStore & Pick<FullStore, "file">,
  { stream, newest_seq, oldest_seq, acked_seq }: StreamInfo,
  health: StorageHealth,
): StorageStatus {
  const { most, page_bytes } = file.limits();
  const used_bytes = file.usedPages() * page_bytes;
  const max_bytes = most * page_bytes;
  const kept_ms = sql.keptMs.get({ stream })?.kept_ms ?? 0;
  const kept = newest_seq - oldest_seq + 1;
  const hours_to_full = hoursToFull({ used_bytes, max_bytes, kept, unacked: newest_seq - acked_seq, kept_ms });
  const quarantined = quarantine.count(stream);
  const missing = quarantined === 0 ? {} : { missing: quarantine.newest(stream) };
  return { used_bytes, max_bytes, hours_to_full, quarantined, ...missing, health };
}

interface Ingesting {
  readonly records: readonly LogRecord[];
  readonly lastTake: TakeNumber;
  readonly reserve_pages: number;
}

/**
 * Inside a transaction: deletes old rows, appends records and the facts made of them, and reports deleted or rejected records by gap
 * records. Returns the facts, and the oldest kept seq of each stream that lost rows.
 */
function commitOf({ store, fullStore, dead_letters }: Writing, live: LiveStream, asked: Ingesting) {
  const { records, lastTake, reserve_pages } = asked;
  const { stream } = live.info;
  if (records.length === 0) {
    const nothing = { oldest: undefined, givenUp: [], givenUpBefore: [] };
    return { facts: ingest(store, live, { records, lastTake, ...nothing }), oldest: new Map<StreamId, Seq>() };
  }
  const now = isSettled(live.state) ? knownTime(live.state).now : 0;
  const { givenUp, oldest } = makeRoom(fullStore, live.info, { now, records: records.length, reserve_pages });
  const refused = dead_letters.undeclared(stream);
  if (refused.length > 0) dead_letters.declare(stream);
  const facts = ingest(store, live, {
    records,
    lastTake,
    oldest: oldest.get(stream),
    givenUp: [...givenUp, ...refused],
    givenUpBefore: givenUpBefore(live.info),
  });
  return { facts, oldest };
}

/** Returns whether a commit failed because of the budget. If other files have filled the disk, no stored record is deleted. */
function isOverBudget(db: Database, { file }: FullStore, error: unknown): boolean {
  const { most, page_bytes } = file.limits();
  return isFull(error) && freeBytes(dirname(db.name)) >= most * page_bytes;
}

function noteOldest(streams: ReadonlyMap<StreamId, LiveStream>, oldest: ReadonlyMap<StreamId, Seq>): void {
  for (const [id, oldest_seq] of oldest) {
    const one = streams.get(id);
    if (one !== undefined) one.info = { ...one.info, oldest_seq };
  }
}

/**
 * Checks a stream, then loads it. First checks the records that are still to be folded. Then checks those to be sent and the rest, as far
 * as the time limit allows; the periodic check does the remainder.
 */
function openLive(store: OpenStore, stream: StreamId): LiveStream {
  const { sql, now } = store;
  const row = sql.streamById.get(stream);
  if (row === undefined) throw new Error(`no stream ${stream} in this store`);
  if (sql.damagedStream.get(stream) !== undefined) {
    throw new StoreDamaged(`the store is damaged: the row of stream ${stream} doesn't fit its checksum`);
  }
  const until = now() + CHECK_MS;
  const isLate = (): boolean => now() >= until;
  const saved_seq = sql.savedState.get(stream)?.seq ?? 0;
  const info = infoOf(row);
  mendFrom(store, info, { from: Math.max(row.oldest_seq, saved_seq + 1), until: () => false });
  mendFrom(store, info, { from: Math.max(row.oldest_seq, row.acked_seq + 1), until: isLate });
  mendFrom(store, info, { from: row.oldest_seq, until: isLate });
  // Reads the stream's own row again, because the repair may have removed rows that it depends on.
  return loadStream(store, sql.streamById.get(stream) ?? row);
}

/** Checks and repairs rows from a seq on, at least one piece, until all are checked or `until` returns true. */
function mendFrom({ db }: OpenStore, info: StreamInfo, { from, until }: { from: Seq; until: () => boolean }): void {
  for (const found of find(db, () => [info], from)) {
    mend(db, found);
    if (until()) return;
  }
}

/** Returns the state to show. It includes records that wait for a clock sync, by their unconfirmed clock. */
function shownOf({ state, shown }: LiveStream): DeriveState {
  return shown ?? state;
}

function moveOn(live: LiveStream, upTo: Seq): StreamInfo {
  const acked_seq = Math.min(Math.max(upTo, live.info.acked_seq), live.info.newest_seq);
  live.info = { ...live.info, acked_seq };
  return live.info;
}

function moveBack(sql: Statements, live: LiveStream, from: Seq): StreamInfo {
  const info = { ...live.info, acked_seq: Math.min(live.info.acked_seq, from - 1) };
  saveCursor(sql, info);
  live.info = info;
  return info;
}

function saveCursor(sql: Statements, { stream, newest_seq, acked_seq, last_take }: StreamInfo): void {
  sql.moveStream.run({ stream, newest: newest_seq, acked: acked_seq, take: last_take });
}

function addStream({ db, sql, wall }: OpenStore, booth: BoothId, stream: StreamId) {
  const at = wall();
  db.transaction(() => {
    sql.addStream.run({ stream, booth, at });
    sql.addOrigin.run({ stream, booth, at });
  })();
  const row = sql.streamById.get(stream);
  if (row === undefined) throw new Error("a stream just added can't be read back");
  return row;
}

/**
 * Saves cursors and states, so that the next start folds nothing again, and closes the file. If they don't fit on the disk, the next start
 * folds more records. The service then also gets records again that it has acked since the last commit.
 */
function closeStore(db: Database, sql: Statements, streams: ReadonlyMap<StreamId, LiveStream>): void {
  try {
    db.transaction(() => {
      for (const { info, state, hold } of streams.values()) {
        saveCursor(sql, info);
        const seq = sendableSeq(info.newest_seq, hold);
        if (seq > 0) sql.saveState.run(stateRow(info.stream, seq, state));
      }
    })();
  } catch (error) {
    if (!isFull(error)) throw error;
  } finally {
    db.close();
  }
}
