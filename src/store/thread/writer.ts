import type { Database } from "better-sqlite3";
import { dirname } from "node:path";
import { clockText, isSettled, knownTime } from "../../derivation/clock.ts";
import { presentOf } from "../../derivation/fold.ts";
import type { DeriveState } from "../../derivation/state.ts";
import type { LogRecord, Placed } from "../../domain/record.ts";
import { DEFAULT_BUDGET, hoursToFull, ROW_SIZES, type RowSizes, type StoreBudget } from "../../domain/storage.ts";
import type { StorageHealth, StorageStatus } from "../../domain/status.ts";
import type { BoothId, EpochMs, Seq, StreamId, TakeNumber } from "../../domain/units.ts";
import { infoOf, type LiveStream, loadStream, type OpenStore, sendableSeq } from "../log/streams.ts";
import { deriveFold, type Fold } from "../facts/fold.ts";
import { createRebuilder } from "../facts/rebuild.ts";
import { restoreLost, type Tried } from "../facts/restore.ts";
import { createSnapshots } from "../facts/snapshots.ts";
import { clockWords } from "../log/clock-words.ts";
import { chunksIn, contextRecordsIn, gapsAt, recordReader } from "../log/read.ts";
import { ingest } from "../log/ingest.ts";
import { stateRow } from "../log/rows.ts";
import { prepareStatements, type Statements } from "../log/statements.ts";
import { find, mend, mendPages } from "../check.ts";
import { StoreDamaged } from "../open.ts";
import type { Ingested, PresentState, RebuildCalls, StoreCalls, StreamInfo } from "../port.ts";
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
import { createQuarantine } from "../log/quarantine.ts";

/** Opening a stream checks what is already folded and sent for this long at most. */
const CHECK_MS = 2_000;

/** The store's synchronous half: what the worker thread runs, and a simulation runs inline. */
export interface Writer extends StoreCalls {
  /**
   * A bounded piece of looking through everything that is stored, and of making lost facts anew; false: the end is reached, the next
   * call begins anew.
   */
  check(): boolean;
  /** Starts rebuilding facts; whoever does gives it its slices. */
  readonly rebuild: RebuildCalls["start"];
  readonly rebuildProgress: RebuildCalls["progress"];
  /** A bounded piece of a rebuild; false: nothing is under way. */
  rebuildSlice(): boolean;
  /** A piece of placing anew what was recorded by a wrong time; false: there is nothing to do. To be called after each commit. */
  mend(): boolean;
  close(): void;
}

export interface WriterOptions {
  readonly db: Database;
  /** Absent: the derivation. */
  readonly fold?: Fold;
  /** A monotonic clock in ms, for the commit's own duration. */
  readonly now: () => number;
  /** Dates a new stream. */
  readonly wall: () => EpochMs;
  /** Names a new stream. */
  readonly uuid: () => string;
  /** Absent: DEFAULT_BUDGET. */
  readonly budget?: StoreBudget;
  /** Absent: ROW_SIZES. */
  readonly sizes?: RowSizes;
  /** How file and disk are; absent: nobody looks after them. */
  readonly health?: () => StorageHealth;
}

const WELL: StorageHealth = { low: false, damaged_files: [] };

function readsOf(
  store: OpenStore,
  read: ReturnType<typeof recordReader>,
): Pick<StoreCalls, "read" | "readCommitted" | "contextRecords" | "chunks"> {
  const { sql, live } = store;
  return {
    read(stream, from, limit) {
      const { info } = live(stream);
      return read(info, { from, limit, last: info.sendable_seq });
    },
    readCommitted(stream, from, limit) {
      const { info } = live(stream);
      return read(info, { from, limit, last: info.newest_seq });
    },
    contextRecords: (stream, from, end) => contextRecordsIn(sql, live(stream).info, { from, end }),
    chunks: (stream, from, end) => chunksIn(store, live(stream).info, { from, end }),
  };
}

/** An open store, and what decides how much stays in it. */
interface Writing {
  readonly store: OpenStore;
  readonly room: FullStore;
  readonly dead_letters: DeadLetters;
}

export function createWriter(options: WriterOptions): Writer {
  const streams = new Map<StreamId, LiveStream>();
  const store = openStore(options, streams);
  const { db, sql, live, now } = store;
  const file = fileBudget(db, options.budget ?? DEFAULT_BUDGET);
  const room: FullStore = { sql: prepareRoom(db), file, gapsAt: (stream, seq) => gapsAt(sql, stream, seq) };
  const writing: Writing = { store, room, dead_letters: createDeadLetters(db) };
  const rebuilder = createRebuilder(store);
  const read = recordReader(sql, (info, seq) => mendFrom(store, info, { from: seq, until: () => true }));
  const shown = shownStates();
  const answer = (stream: LiveStream, done: Pick<Ingested, "facts" | "commit_ms">): Ingested => {
    const { newest_seq, sendable_seq, oldest_seq, renew_from = 0 } = stream.info;
    const storage = storageOf({ ...store, file }, stream.info, options.health?.() ?? WELL);
    return { newest_seq, sendable_seq, oldest_seq, renew_from, present: shown.present(stream), ...done, storage };
  };
  return {
    openStream(booth) {
      const row = sql.streamOfBooth.get(booth) ?? addStream(store, booth, options.uuid());
      file.refresh();
      return live(row.stream_id).info;
    },
    ingest(stream, records, lastTake) {
      const started = now();
      const { info } = live(stream);
      if (lastTake <= info.last_take) {
        // Whoever asks again didn't hear the answer.
        shown.forget(stream);
        return answer(live(stream), { facts: [], commit_ms: 0 });
      }
      for (const reserve of RESERVES) {
        const target = live(stream);
        // What was acked since the last commit stands in memory alone, and is gone with a failed one.
        moveOn(target, info.acked_seq);
        try {
          const reserve_pages = Math.floor(reserve * file.limits().most);
          const { facts, oldest } = db.transaction(commitOf)(writing, target, { records, lastTake, reserve_pages });
          noteOldest(streams, oldest);
          return answer(target, { facts, commit_ms: now() - started });
        } catch (error) {
          streams.delete(stream);
          if (reserve === RESERVES.at(-1) || !isOverBudget(error, writing)) throw error;
        }
      }
      throw new Error("a commit without a try");
    },
    ...readsOf(store, read),
    ack: (stream, upTo) => moveOn(live(stream), upTo),
    ...refusalsOf(writing, read),
    resend: (stream, from) => moveBack(sql, live(stream), from),
    info: (stream) => live(stream).info,
    state: (stream) => shown.whole(live(stream)),
    check: checking(store),
    rebuild: rebuilder.start,
    rebuildProgress: rebuilder.progress,
    rebuildSlice: rebuilder.slice,
    mend: () => rebuilder.mend(streams.keys()),
    close() {
      try {
        saveAll(db, sql, streams);
      } finally {
        db.close();
      }
    },
  };
}

function openStore(options: WriterOptions, streams: Map<StreamId, LiveStream>): OpenStore {
  const { db, fold = deriveFold, now, wall } = options;
  const sql = prepareStatements(db);
  const live = (stream: StreamId): LiveStream => {
    const known = streams.get(stream);
    if (known !== undefined) return known;
    const loaded = openLive(store, stream);
    streams.set(stream, loaded);
    store.words.opened(stream, clockText(loaded.state), loaded.info.newest_seq);
    return loaded;
  };
  const store: OpenStore = {
    db,
    sql,
    fold,
    now,
    wall,
    live,
    quarantine: createQuarantine(db),
    snapshots: createSnapshots(db),
    words: clockWords(sql),
    sizes: options.sizes ?? ROW_SIZES,
  };
  return store;
}

/** Returns a function that does the next piece of a check of everything stored; false: the check is complete, the next call begins anew. */
function checking(store: OpenStore): () => boolean {
  const { db, sql, live } = store;
  const tried: Tried = new Set();
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
    let done: boolean | undefined = true;
    try {
      ({ done } = pass.next());
    } finally {
      if (done === true) pass = check();
    }
    return done !== true;
  };
}

/**
 * How full the store is, and how well. Booths share the file; each is told of the whole, and of the rate at which its own log fills it.
 */
function storageOf(
  { sql, file, quarantine }: OpenStore & Pick<FullStore, "file">,
  info: StreamInfo,
  health: StorageHealth,
): StorageStatus {
  const { most, page_bytes } = file.limits();
  const used_bytes = file.usedPages() * page_bytes;
  const max_bytes = most * page_bytes;
  const kept_ms = sql.keptMs.get({ stream: info.stream })?.kept_ms ?? 0;
  const kept = info.newest_seq - info.oldest_seq + 1;
  const unacked = info.newest_seq - info.acked_seq;
  const hours_to_full = hoursToFull({ used_bytes, max_bytes, kept, unacked, kept_ms });
  const quarantined = quarantine.count(info.stream);
  const missing = quarantined === 0 ? {} : { missing: quarantine.newest(info.stream) };
  return { used_bytes, max_bytes, hours_to_full, quarantined, ...missing, health };
}

interface Ingesting {
  readonly records: readonly LogRecord[];
  readonly lastTake: TakeNumber;
  readonly reserve_pages: number;
}

/**
 * Inside a transaction: drops old rows, appends the records and the facts made of them, and declares what was given up or refused.
 * Returns the facts, and the oldest kept seq of each stream that lost rows.
 */
function commitOf({ store, room, dead_letters }: Writing, live: LiveStream, asked: Ingesting) {
  const { records, lastTake, reserve_pages } = asked;
  const { stream } = live.info;
  if (records.length === 0) {
    const nothing = { oldest: undefined, givenUp: [], givenUpBefore: [] };
    return { facts: ingest(store, live, { records, lastTake, ...nothing }), oldest: new Map<StreamId, Seq>() };
  }
  const now = isSettled(live.state) ? knownTime(live.state).now : 0;
  const { givenUp, oldest } = makeRoom(room, live.info, { now, records: records.length, reserve_pages });
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

/** If the disk itself has no space, others have filled it: stored records aren't given up for them. */
function isOverBudget(error: unknown, { store: { db }, room: { file } }: Writing): boolean {
  const { most, page_bytes } = file.limits();
  return isFull(error) && freeBytes(dirname(db.name)) >= most * page_bytes;
}

function refusalsOf(
  { store: { db, live, wall }, dead_letters }: Writing,
  read: ReturnType<typeof recordReader>,
): Pick<StoreCalls, "setAside" | "refused"> {
  return {
    setAside(stream, refusals) {
      const recordAt = (seq: Seq): Placed | undefined =>
        read(live(stream).info, { from: seq, limit: 1, last: live(stream).info.sendable_seq })[0];
      db.transaction(() => dead_letters.add(stream, refusals, { at: wall(), recordAt }))();
      return dead_letters.all(stream);
    },
    refused: dead_letters.all,
  };
}

function noteOldest(streams: ReadonlyMap<StreamId, LiveStream>, oldest: ReadonlyMap<StreamId, Seq>): void {
  for (const [id, oldest_seq] of oldest) {
    const one = streams.get(id);
    if (one !== undefined) one.info = { ...one.info, oldest_seq };
  }
}

/**
 * Checks, then loads a stream. What is still to be folded is looked at first, then, as far as time allows, what is to be sent, and
 * the rest; the check goes on later.
 */
function openLive(store: OpenStore, stream: StreamId): LiveStream {
  const { sql, now } = store;
  const row = sql.streamById.get(stream);
  if (row === undefined) throw new Error(`no stream ${stream} in this store`);
  if (sql.damagedStream.get(stream) !== undefined) {
    throw new StoreDamaged(`the store is damaged: the row of stream ${stream} doesn't fit its checksum`);
  }
  const until = now() + CHECK_MS;
  const late = (): boolean => now() >= until;
  const saved_seq = sql.savedState.get(stream)?.seq ?? 0;
  const first = infoOf(row);
  mendFrom(store, first, { from: Math.max(row.oldest_seq, saved_seq + 1), until: () => false });
  mendFrom(store, first, { from: Math.max(row.oldest_seq, row.acked_seq + 1), until: late });
  mendFrom(store, first, { from: row.oldest_seq, until: late });
  // Indexes may have been made anew by the check.
  return loadStream(store, sql.streamById.get(stream) ?? row);
}

/** Looks at rows from a seq on, and mends what is wrong with them, until the end, or until it says stop; one piece at least. */
function mendFrom({ db }: OpenStore, info: StreamInfo, { from, until }: { from: Seq; until: () => boolean }): void {
  for (const found of find(db, () => [info], from)) {
    mend(db, found);
    if (until()) return;
  }
}

/** What people are shown: with what waits for a sync, by a clock that nobody vouches for. */
function shownOf({ state, shown }: LiveStream): DeriveState {
  return shown ?? state;
}

/** What is answered of a stream's state: its parameters, which are large and hardly ever change, only where they were not told yet. */
function shownStates() {
  const told = new Map<StreamId, DeriveState["parameters"]>();
  return {
    whole(live: LiveStream): DeriveState {
      const state = shownOf(live);
      told.set(live.info.stream, state.parameters);
      return state;
    },
    present(live: LiveStream): PresentState {
      const { parameters, ...present } = presentOf(shownOf(live));
      if (told.get(live.info.stream) === parameters) return present;
      told.set(live.info.stream, parameters);
      return { ...present, parameters };
    },
    forget: (stream: StreamId): void => void told.delete(stream),
  };
}

function moveOn(live: LiveStream, upTo: Seq): StreamInfo {
  const acked_seq = Math.min(Math.max(upTo, live.info.acked_seq), live.info.newest_seq);
  live.info = { ...live.info, acked_seq };
  return live.info;
}

function moveBack(sql: Statements, live: LiveStream, from: Seq): StreamInfo {
  const { stream, newest_seq, acked_seq, last_take } = live.info;
  const acked = Math.min(acked_seq, from - 1);
  sql.moveStream.run({ stream, newest: newest_seq, acked, take: last_take });
  live.info = { ...live.info, acked_seq: acked };
  return live.info;
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
 * The cursors, and the states, so that the next start folds nothing again. Without room for it the next start folds more, and the
 * service is offered again what it has acked since the last commit.
 */
function saveAll(db: Database, sql: Statements, streams: ReadonlyMap<StreamId, LiveStream>): void {
  try {
    db.transaction(() => {
      for (const { info, state, hold } of streams.values()) {
        const { stream, newest_seq, acked_seq, last_take } = info;
        sql.moveStream.run({ stream, newest: newest_seq, acked: acked_seq, take: last_take });
        const seq = sendableSeq(newest_seq, hold);
        if (seq > 0) sql.saveState.run(stateRow(stream, seq, state));
      }
    })();
  } catch (error) {
    if (!isFull(error)) throw error;
  }
}
