import type { Database } from "better-sqlite3";
import type { SeqRange } from "../../domain/command.ts";
import type { LogRecord, Placed } from "../../domain/record.ts";
import { DEFAULT_BUDGET, hoursToFull, type StoreBudget } from "../../domain/storage.ts";
import type { RefusedRecords, StorageHealth, StorageStatus } from "../../domain/status.ts";
import type { BoothId, EpochMs, Seq, StreamId, TakeNumber } from "../../domain/units.ts";
import type { Ingested, Refusal, StreamInfo, ContextRecords } from "../port.ts";
import { fileBudget, type FileBudget, isFull, untilItFits } from "../retention/budget.ts";
import { prepareEvictStatements } from "../retention/evict-statements.ts";
import { createCheck } from "../repair/check.ts";
import { StoreDamaged } from "../repair/damage.ts";
import { clockWords } from "../log/clock-words.ts";
import { createDeadLetters, type DeadLetters } from "../retention/dead-letters.ts";
import type { EvictTools } from "../retention/evict.ts";
import type { Fold } from "../facts/fold-port.ts";
import { ingest } from "../log/ingest.ts";
import { createSnapshots, type Snapshots } from "../facts/snapshots.ts";
import { createQuarantine, type Quarantine } from "../repair/quarantine.ts";
import { recordReader } from "../log/read.ts";
import { createRestorer, type RestoreTools } from "../facts/restore.ts";
import { createRebuilder, type Rebuilder, type RebuildTools } from "../facts/rebuild.ts";
import { stateRow } from "../log/rows.ts";
import { prepareStatements, type Statements } from "../log/statements.ts";
import { contextRecordsIn } from "../log/context-records.ts";
import { infoOf, loadStream, sendableSeq, type LiveStream } from "../log/streams.ts";

/** Opening a stream checks what is already folded and sent for this long at most. */
const CHECK_MS = 2_000;

/** The store's synchronous half: what the worker thread runs, and a simulation runs inline. */
export interface Writer {
  openStream(booth: BoothId): StreamInfo;
  ingest(stream: StreamId, records: readonly LogRecord[], lastTake: TakeNumber): Ingested;
  read(stream: StreamId, from: Seq, limit: number): readonly Placed[];
  terms(stream: StreamId, from: Seq, end: Seq): ContextRecords;
  ack(stream: StreamId, upTo: Seq): StreamInfo;
  setAside(stream: StreamId, refusals: readonly Refusal[]): RefusedRecords;
  asideSince(stream: StreamId, since: EpochMs): readonly SeqRange[];
  takenAfterAll(stream: StreamId, seqs: readonly Seq[]): RefusedRecords;
  refused(stream: StreamId): RefusedRecords;
  resend(stream: StreamId, from: Seq): StreamInfo;
  info(stream: StreamId): StreamInfo;
  state(stream: StreamId): unknown;
  /**
   * A bounded piece of looking through everything that is stored, and of making lost facts anew; false: the end is reached, the next
   * call begins anew.
   */
  check(): boolean;
  /** Rebuilding facts; whoever starts one gives it its slices. */
  readonly rebuilder: Omit<Rebuilder, "mend">;
  /** A piece of placing anew what was recorded by a wrong time; false: there is nothing to do. To be called after each commit. */
  mend(): boolean;
  close(): void;
}

/** `now` is a monotonic clock in ms, for the commit's own duration; `wall` dates a new stream, `uuid` names it. */
export interface WriterTools {
  readonly db: Database;
  readonly fold: Fold;
  readonly now: () => number;
  readonly wall: () => number;
  readonly uuid: () => string;
  /** Absent: DEFAULT_BUDGET. */
  readonly budget?: StoreBudget;
  /** How file and disk are; absent: nobody looks after them. */
  readonly health?: () => StorageHealth;
}

const WELL: StorageHealth = { low: false, damaged_files: [] };

export function createWriter(tools: WriterTools): Writer {
  const { db, fold } = tools;
  const sql = prepareStatements(db);
  const file = fileBudget(db, tools.budget ?? DEFAULT_BUDGET);
  const evict: EvictTools = { sql: prepareEvictStatements(db), file };
  const quarantine = createQuarantine(db);
  const dead_letters = createDeadLetters(db);
  const bases = createSnapshots(db);
  const parts = { db, sql, fold, evict, quarantine, dead_letters, bases };
  const read = recordReader(sql, quarantine);
  const storage = storageOf({ evict, quarantine, health: tools.health });
  const words = clockWords(sql);
  const streams = new Map<StreamId, LiveStream>();
  const live = (stream: StreamId): LiveStream => {
    const known = streams.get(stream);
    if (known !== undefined) return known;
    const loaded = openLive({ sql, quarantine, fold, bases, now: tools.now }, stream);
    streams.set(stream, loaded);
    words.opened(stream, fold.clockOf(loaded.fold), loaded.info.newest_seq);
    return loaded;
  };
  return {
    openStream(booth) {
      const row = sql.streamOfBooth.get(booth) ?? addStream(sql, booth, tools);
      file.refresh();
      return live(row.stream_id).info;
    },
    ingest(stream, records, lastTake) {
      const started = tools.now();
      const { info } = live(stream);
      if (lastTake <= info.last_take) {
        return ingested(live(stream), { facts: [], commit_ms: 0, storage: storage(info) });
      }
      return untilItFits(db, file, (reserve_pages) => {
        const target = live(stream);
        // What was acked since the last commit stands in memory alone, and is gone with a failed one.
        moveOn(target, info.acked_seq);
        try {
          const { facts, oldest } = ingest(parts, target, { records, lastTake, reserve_pages });
          noteOldest(streams, oldest);
          const commit_ms = tools.now() - started;
          return ingested(target, { facts, commit_ms, storage: storage(target.info) });
        } catch (error) {
          streams.delete(stream);
          throw error;
        }
      });
    },
    read: (stream, from, limit) => read(live(stream).info, { from, limit }),
    terms: (stream, from, end) => contextRecordsIn(sql, live(stream).info, { from, end }),
    ack: (stream, upTo) => moveOn(live(stream), upTo),
    ...refusedSide(
      { db, dead_letters, wall: tools.wall },
      (stream, seq) => read(live(stream).info, { from: seq, limit: 1 })[0],
    ),
    resend: (stream, from) => moveBack(sql, live(stream), from),
    info: (stream) => live(stream).info,
    state: (stream) => shownOf(live(stream)),
    check: lookThrough({ ...parts, now: tools.now, live }, () =>
      sql.allStreams.all().map(({ stream_id }) => stream_id),
    ),
    ...rebuilding({ db, sql, fold, bases, words, now: tools.now, live }, () => streams.keys()),
    close() {
      try {
        saveAll(db, sql, streams);
      } finally {
        db.close();
      }
    },
  };
}

function rebuilding(tools: RebuildTools, streams: () => Iterable<StreamId>): Pick<Writer, "rebuilder" | "mend"> {
  const rebuilder = createRebuilder(tools);
  return { rebuilder, mend: () => rebuilder.mend(streams()) };
}

interface RefusedTools {
  readonly db: Database;
  readonly dead_letters: DeadLetters;
  readonly wall: () => EpochMs;
}

function refusedSide(
  { db, dead_letters, wall }: RefusedTools,
  firstFrom: (stream: StreamId, seq: Seq) => Placed | undefined,
): Pick<Writer, "setAside" | "refused" | "asideSince" | "takenAfterAll"> {
  return {
    setAside(stream, refusals) {
      const recordAt = (seq: Seq): Placed | undefined => firstFrom(stream, seq);
      db.transaction(() => dead_letters.add(stream, refusals, { at: wall(), recordAt }))();
      return dead_letters.all(stream);
    },
    refused: (stream) => dead_letters.all(stream),
    asideSince: (stream, since) => dead_letters.since(stream, since),
    takenAfterAll(stream, seqs) {
      db.transaction(() => dead_letters.drop(stream, seqs))();
      return dead_letters.all(stream);
    },
  };
}

/** Each time to the end: all that is stored is looked at, then facts that were lost are made anew. */
function lookThrough(tools: RestoreTools, streams: () => readonly StreamId[]): () => boolean {
  const check = createCheck(tools.quarantine, () => streams().map((stream) => tools.live(stream).info));
  const restorer = createRestorer(tools);
  return () => (restorer.isBegun() ? restorer.slice() : check() || restorer.begin(streams()));
}

/** How full the store is, and how well. */
function storageOf(parts: {
  readonly evict: EvictTools;
  readonly quarantine: Quarantine;
  readonly health: WriterTools["health"];
}): (info: StreamInfo) => StorageStatus {
  return (info) => {
    const quarantined = parts.quarantine.count(info.stream);
    return {
      ...fillOf(parts.evict, info),
      quarantined,
      ...(quarantined === 0 ? {} : { missing: parts.quarantine.newest(info.stream) }),
      health: parts.health?.() ?? WELL,
    };
  };
}

function noteOldest(streams: ReadonlyMap<StreamId, LiveStream>, oldest: ReadonlyMap<StreamId, Seq>): void {
  for (const [id, oldest_seq] of oldest) {
    const one = streams.get(id);
    if (one !== undefined) one.info = { ...one.info, oldest_seq };
  }
}

interface OpenTools {
  readonly sql: Statements;
  readonly quarantine: Quarantine;
  readonly fold: Fold;
  readonly bases: Snapshots;
  readonly now: () => number;
}

/**
 * Checks, then loads a stream. What is still to be folded is looked at first, then, as far as time allows, what is to be sent, and
 * the rest; the check goes on later.
 */
function openLive({ sql, quarantine, fold, bases, now }: OpenTools, stream: StreamId): LiveStream {
  const row = sql.streamById.get(stream);
  if (row === undefined) throw new Error(`no stream ${stream} in this store`);
  if (sql.damagedStream.get(stream) !== undefined) {
    throw new StoreDamaged(`the store is damaged: the row of stream ${stream} doesn't fit its checksum`);
  }
  const until = now() + CHECK_MS;
  const late = (): boolean => now() >= until;
  const { saved_seq } = sql.savedSeq.get(stream) ?? { saved_seq: 0 };
  const first = infoOf(row);
  quarantine.checkFrom(first, Math.max(row.oldest_seq, saved_seq + 1), () => false);
  quarantine.checkFrom(first, Math.max(row.oldest_seq, row.acked_seq + 1), late);
  quarantine.checkFrom(first, row.oldest_seq, late);
  // Indexes may have been made anew by the check.
  return loadStream({ sql, fold, bases }, sql.streamById.get(stream) ?? row);
}

/** What people are shown: with what waits for a sync, by a clock that nobody vouches for. */
function shownOf({ fold, shown }: LiveStream): unknown {
  return shown ?? fold;
}

function ingested(live: LiveStream, done: Pick<Ingested, "facts" | "commit_ms" | "storage">): Ingested {
  const { newest_seq, sendable_seq, oldest_seq, renew_from = 0 } = live.info;
  return { newest_seq, sendable_seq, oldest_seq, renew_from, state: shownOf(live), ...done };
}

/** Booths share the file; each is told of the whole, and of the rate at which its own log fills it. */
function fillOf(
  { sql, file }: { sql: EvictTools["sql"]; file: FileBudget },
  info: StreamInfo,
): Pick<StorageStatus, "used_bytes" | "max_bytes" | "hours_to_full"> {
  const { most, page_bytes } = file.limits();
  const [used_bytes, max_bytes] = [file.usedPages() * page_bytes, most * page_bytes];
  const kept_ms = (sql.lastRow.get(info.stream)?.t0 ?? 0) - (sql.firstRow.get(info.stream)?.t0 ?? 0);
  const kept = info.newest_seq - info.oldest_seq + 1;
  const fill = { used_bytes, max_bytes, kept, unacked: info.newest_seq - info.acked_seq, kept_ms };
  return { used_bytes, max_bytes, hours_to_full: hoursToFull(fill) };
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

function addStream(sql: Statements, booth: BoothId, tools: WriterTools) {
  const stream = tools.uuid();
  const at = tools.wall();
  tools.db.transaction(() => {
    sql.addStream.run({ stream, booth, at });
    sql.addOrigin.run({ stream, booth, at });
  })();
  const row = sql.streamById.get(stream);
  if (row === undefined) throw new Error("a stream just added can't be read back");
  return row;
}

/** Without room for it the next start folds more, and the service is offered again what it has acked since the last commit. */
function saveAll(db: Database, sql: Statements, streams: ReadonlyMap<StreamId, LiveStream>): void {
  try {
    db.transaction(() => {
      for (const one of streams.values()) saveForNextStart(sql, one);
    })();
  } catch (error) {
    if (!isFull(error)) throw error;
  }
}

/** The cursor, and the state, so that the next start folds nothing again. */
function saveForNextStart(sql: Statements, { info, fold, hold }: LiveStream): void {
  sql.moveStream.run({ stream: info.stream, newest: info.newest_seq, acked: info.acked_seq, take: info.last_take });
  const seq = sendableSeq(info.newest_seq, hold);
  if (seq > 0) sql.saveState.run(stateRow(info.stream, seq, fold));
}
