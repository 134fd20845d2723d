import type { Database } from "better-sqlite3";
import type { LogRecord, Placed } from "../core/types/record.ts";
import type { BoothId, Milliseconds, Seq, StreamId, TakeNumber } from "../core/types/units.ts";
import type { Ingested, StreamInfo } from "../ports.ts";
import type { Fold } from "./fold-port.ts";
import { ingest } from "./ingest.ts";
import { createRebuilder, type Rebuilder } from "./rebuild.ts";
import { stateRow, unpackFact, unpackLog } from "./rows.ts";
import { prepareStatements, type Statements } from "./statements.ts";
import { loadStream, sendableSeq, type LiveStream } from "./streams.ts";

/** Log rows looked at for one read: bounds the memory of a single answer. */
const READ_ROWS = 64;

/** The store's synchronous half: what the worker thread runs, and a simulation runs inline. */
export interface Writer {
  openStream(booth: BoothId): StreamInfo;
  ingest(stream: StreamId, records: readonly LogRecord[], lastTake: TakeNumber): Ingested;
  read(stream: StreamId, from: Seq, limit: number): readonly Placed[];
  ack(stream: StreamId, upTo: Seq): StreamInfo;
  info(stream: StreamId): StreamInfo;
  state(stream: StreamId): unknown;
  /** Rebuilding facts; whoever starts one gives it its slices. */
  readonly rebuilder: Rebuilder;
  close(): void;
}

/** `now` is a monotonic clock in ms, for the commit's own duration; `wall` dates a new stream, `uuid` names it. */
export interface WriterTools {
  readonly db: Database;
  readonly fold: Fold;
  readonly now: () => number;
  readonly wall: () => number;
  readonly uuid: () => string;
}

export function createWriter(tools: WriterTools): Writer {
  const { db, fold } = tools;
  const sql = prepareStatements(db);
  const streams = new Map<StreamId, LiveStream>();
  const live = (stream: StreamId): LiveStream => {
    const known = streams.get(stream);
    if (known !== undefined) return known;
    const row = sql.streamById.get(stream);
    if (row === undefined) throw new Error(`no stream ${stream} in this store`);
    const loaded = loadStream(sql, fold, row);
    streams.set(stream, loaded);
    return loaded;
  };
  return {
    openStream(booth) {
      const row = sql.streamOfBooth.get(booth) ?? addStream(sql, booth, tools);
      return live(row.stream_id).info;
    },
    ingest(stream, records, lastTake) {
      const started = tools.now();
      const target = live(stream);
      if (lastTake <= target.info.last_take) {
        return ingested(target, [], 0);
      }
      try {
        const facts = ingest({ db, sql, fold }, target, { records, lastTake });
        return ingested(target, facts, tools.now() - started);
      } catch (error) {
        streams.delete(stream);
        throw error;
      }
    },
    read: (stream, from, limit) => read(sql, live(stream).info, { from, limit }),
    ack(stream, upTo) {
      const target = live(stream);
      const acked_seq = Math.min(Math.max(upTo, target.info.acked_seq), target.info.newest_seq);
      target.info = { ...target.info, acked_seq };
      return target.info;
    },
    info: (stream) => live(stream).info,
    state: (stream) => shownOf(live(stream)),
    rebuilder: createRebuilder({ db, sql, fold, now: tools.now, live }),
    close() {
      db.transaction(() => {
        for (const one of streams.values()) saveForNextStart(sql, one);
      })();
      db.close();
    },
  };
}

/** What people are shown: with what waits for a sync, by a clock that nobody vouches for. */
function shownOf({ fold, shown }: LiveStream): unknown {
  return shown ?? fold;
}

function ingested(live: LiveStream, facts: Ingested["facts"], commit_ms: Milliseconds): Ingested {
  const { newest_seq, sendable_seq } = live.info;
  return { newest_seq, sendable_seq, facts, state: shownOf(live), commit_ms };
}

function addStream(sql: Statements, booth: BoothId, tools: WriterTools) {
  const stream = tools.uuid();
  sql.addStream.run({ stream, booth, at: tools.wall() });
  const row = sql.streamById.get(stream);
  if (row === undefined) throw new Error("a stream just added can't be read back");
  return row;
}

/** The cursor, and the state, so that the next start folds nothing again. */
function saveForNextStart(sql: Statements, { info, fold, hold }: LiveStream): void {
  sql.moveStream.run({ stream: info.stream, newest: info.newest_seq, acked: info.acked_seq, take: info.last_take });
  const seq = sendableSeq(info.newest_seq, hold);
  if (seq > 0) sql.saveState.run(stateRow(info.stream, seq, fold));
}

/** What waits for a sync is not given out: it has no time yet. */
function read(sql: Statements, info: StreamInfo, ask: { from: Seq; limit: number }): readonly Placed[] {
  const rows = sql.logRowsFrom.all({ stream: info.stream, from: ask.from, rows: READ_ROWS });
  const log = rows.flatMap(unpackLog).filter(({ seq }) => seq >= ask.from && seq <= info.sendable_seq);
  // Facts after the last log row read belong to a later answer, unless there is no later log row.
  const to = rows.length === READ_ROWS ? (rows.at(-1)?.last_seq ?? 0) : info.newest_seq;
  const facts = sql.factsFrom.all({ stream: info.stream, from: ask.from, to }).map(unpackFact);
  const merged: Placed[] = [...log, ...facts];
  return merged.sort((a, b) => a.seq - b.seq).slice(0, ask.limit);
}
