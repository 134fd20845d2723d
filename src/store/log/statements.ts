import type { Database } from "better-sqlite3";
import type { EventRecord } from "../../domain/record.ts";
import { type FactRow, type LogRow, type StateRow, addRowSum } from "./rows.ts";

export interface StreamRow {
  readonly stream_id: string;
  readonly booth_id: string;
  readonly oldest_seq: number;
  readonly newest_seq: number;
  readonly sendable_seq: number;
  readonly acked_seq: number;
  readonly last_take: number;
  readonly renew_from: number;
}

const STREAM_COLUMNS = `stream_id, booth_id, oldest_seq, newest_seq, acked_seq, last_take, ifnull(
  (SELECT min(first_seq) - 1 FROM log WHERE log.stream_id = stream.stream_id AND placed = 0), newest_seq) AS sendable_seq,
  ifnull((SELECT from_seq FROM fork WHERE fork.stream_id = stream.stream_id), 0) AS renew_from`;

/** Selects the log rows that hold seq `from` or later, including a row that begins before `from`. */
export const LOG_ROWS_FROM = `
  SELECT * FROM log WHERE stream_id = @stream AND first_seq >= ifnull(
    (SELECT max(first_seq) FROM log WHERE stream_id = @stream AND first_seq <= @from), 0)
  ORDER BY first_seq LIMIT @rows`;

interface Rows {
  readonly stream: string;
  readonly rows: number;
}

interface At {
  readonly stream: string;
  readonly seq: number;
}

interface UpTo {
  readonly stream: string;
  readonly upTo: number;
}

interface Named {
  readonly stream: string;
  readonly booth: string;
  readonly at: number;
}

/** Number of log rows fetched at a time. No statement stays open between two fetches. */
const PAGE_ROWS = 50;

/** Yields a stream's log rows with records after a seq, in order. Rows may change between two yields. */
export function* logRowsAfter(sql: ReadStatements, stream: string, seq: number): Generator<LogRow> {
  for (let from = seq + 1; ;) {
    const rows = sql.logRowsFrom.all({ stream, from, rows: PAGE_ROWS });
    const last = rows.at(-1);
    if (last === undefined || last.last_seq < from) return;
    for (const row of rows) if (row.last_seq >= from) yield row;
    from = last.last_seq + 1;
  }
}

/** The read-only statements that several modules share. */
export type ReadStatements = ReturnType<typeof prepareReadStatements>;

export function prepareReadStatements(db: Database) {
  return {
    allStreams: db.prepare<[], StreamRow>(`SELECT ${STREAM_COLUMNS} FROM stream ORDER BY created_at`),
    streamById: db.prepare<[string], StreamRow>(`SELECT ${STREAM_COLUMNS} FROM stream WHERE stream_id = ?`),
    savedState: db.prepare<[string], StateRow>(`SELECT * FROM state WHERE stream_id = ?`),
    logRowsFrom: db.prepare<[Rows & { from: number }], LogRow>(LOG_ROWS_FROM),
    firstWaitingRows: db.prepare<[Rows], LogRow>(
      `SELECT * FROM log WHERE stream_id = @stream AND placed = 0 ORDER BY first_seq LIMIT @rows`,
    ),
    factsFrom: db.prepare<[Rows & { from: number; to: number }], FactRow>(
      `SELECT * FROM fact WHERE stream_id = @stream AND seq BETWEEN @from AND @to ORDER BY seq LIMIT @rows`,
    ),
    factBefore: db.prepare<[At], { seq: number }>(
      `SELECT ifnull(max(seq), 0) AS seq FROM fact WHERE stream_id = @stream AND seq < @seq`,
    ),
    bootPlaces: db.prepare<[string], { boot: string; offset_ms: number; uncertain: number }>(
      `SELECT boot, offset_ms, uncertain FROM boot WHERE stream_id = ?`,
    ),
    /** Returns the boots with records after a seq. */
    bootsAfter: db.prepare<[At], { boot: string }>(
      `SELECT DISTINCT boot FROM log WHERE stream_id = @stream AND last_seq > @seq`,
    ),
  };
}

/** The writer's statements for streams, log, facts and states. */
export type Statements = ReturnType<typeof prepareStatements>;

export function prepareStatements(db: Database) {
  addRowSum(db);
  return { ...prepareReadStatements(db), ...prepareStreams(db), ...prepareLog(db), ...prepareFacts(db) };
}

function prepareStreams(db: Database) {
  return {
    streamOfBooth: db.prepare<[string], StreamRow>(
      `SELECT ${STREAM_COLUMNS} FROM stream WHERE booth_id = ? ORDER BY created_at DESC LIMIT 1`,
    ),
    addStream: db.prepare<[Named]>(
      `INSERT INTO stream (stream_id, booth_id, created_at, oldest_seq, newest_seq, acked_seq, last_take, sum)
       VALUES (@stream, @booth, @at, 1, 0, 0, 0, row_sum(@stream, @booth, 0, 0, 0, 1, 0))`,
    ),
    addOrigin: db.prepare<[Named]>(
      `INSERT INTO origin (stream_id, booth_id, created_at, sum) VALUES (@stream, @booth, @at, row_sum(@stream, @booth, @at))`,
    ),
    moveStream: db.prepare<[{ stream: string; newest: number; acked: number; take: number }]>(
      `UPDATE stream SET newest_seq = @newest, acked_seq = @acked, last_take = @take,
       sum = row_sum(stream_id, booth_id, @newest, @acked, @take, oldest_seq, facts_upto) WHERE stream_id = @stream`,
    ),
    closedSeq: db.prepare<[string], { closed_seq: number }>(`SELECT closed_seq FROM stream WHERE stream_id = ?`),
    moveClosed: db.prepare<[UpTo]>(`UPDATE stream SET closed_seq = @upTo WHERE stream_id = @stream`),
    countRebuild: db.prepare<[string]>(`UPDATE stream SET rebuilds = rebuilds + 1 WHERE stream_id = ?`),
    /** Returns a row if the checksum of the stream's row is wrong. */
    damagedStream: db.prepare<[string]>(
      `SELECT 1 FROM stream WHERE stream_id = ?
       AND sum <> row_sum(stream_id, booth_id, newest_seq, acked_seq, last_take, oldest_seq, facts_upto)`,
    ),
    addBootPlace: db.prepare<[{ stream: string; boot: string; offset: number; uncertain: number }]>(
      `INSERT INTO boot (stream_id, boot, offset_ms, uncertain, sum)
       VALUES (@stream, @boot, @offset, @uncertain, row_sum(@stream, @boot, @offset, @uncertain))
       ON CONFLICT (stream_id, boot) DO UPDATE
       SET offset_ms = excluded.offset_ms, uncertain = excluded.uncertain, sum = excluded.sum`,
    ),
    saveState: db.prepare<[StateRow]>(
      `INSERT INTO state (stream_id, seq, crc, body, whole) VALUES (@stream_id, @seq, @crc, @body, @whole)
       ON CONFLICT (stream_id) DO UPDATE
       SET seq = excluded.seq, crc = excluded.crc, body = excluded.body, whole = excluded.whole`,
    ),
    /** Returns the events that the stream's next commit must log. */
    dueEvents: db.prepare<[string], EventRecord["value"]>(`SELECT event, detail FROM due WHERE stream_id = ?`),
    dropDue: db.prepare<[string]>(`DELETE FROM due WHERE stream_id = ?`),
  };
}

function prepareLog(db: Database) {
  return {
    addLogRow: db.prepare<[LogRow]>(
      `INSERT INTO log (stream_id, first_seq, last_seq, boot, mono0, t0, crc, body, placed, whole, packed)
       VALUES (@stream_id, @first_seq, @last_seq, @boot, @mono0, @t0, @crc, '', @placed, @whole, @packed)`,
    ),
    dropLogRow: db.prepare<[At]>(`DELETE FROM log WHERE stream_id = @stream AND first_seq = @seq`),
    dropLogRows: db.prepare<[{ stream: string; from: number; to: number }]>(
      `DELETE FROM log WHERE stream_id = @stream AND first_seq BETWEEN @from AND @to`,
    ),
    /** Returns the rows that are not merged into a chunk yet. */
    openRows: db.prepare<[Rows & { after: number }], LogRow>(
      `SELECT * FROM log WHERE stream_id = @stream AND first_seq > @after ORDER BY first_seq LIMIT @rows`,
    ),
    logRow: db.prepare<[At], LogRow>(`SELECT * FROM log WHERE stream_id = @stream AND first_seq = @seq`),
    /** Returns the first seq of the next row, without reading its records. */
    rowBehind: db.prepare<[At], { first_seq: number }>(
      `SELECT first_seq FROM log WHERE stream_id = @stream AND first_seq > @seq ORDER BY first_seq LIMIT 1`,
    ),
    /** Returns the time between the first and the last row of a log. */
    keptMs: db.prepare<[{ stream: string }], { kept_ms: number | null }>(
      `SELECT (SELECT t0 FROM log WHERE stream_id = @stream ORDER BY first_seq DESC LIMIT 1)
         - (SELECT t0 FROM log WHERE stream_id = @stream ORDER BY first_seq LIMIT 1) AS kept_ms`,
    ),
  };
}

function prepareFacts(db: Database) {
  return {
    addFact: db.prepare<[FactRow]>(
      `INSERT INTO fact (stream_id, seq, kind, start_ms, end_ms, time, crc, body, version, replaced, prev, whole)
       VALUES (@stream_id, @seq, @kind, @start_ms, @end_ms, @time, @crc, @body, @version, @replaced, @prev, @whole)`,
    ),
    standingFacts: db.prepare<[{ stream: string; from: number }], FactRow>(
      `SELECT * FROM fact WHERE stream_id = @stream AND seq >= @from AND replaced = 0 ORDER BY seq`,
    ),
    /** Changes a fact's version, its mark as replaced, its time and its checksum. */
    changeFact: db.prepare<[FactRow]>(
      `UPDATE fact SET version = @version, replaced = @replaced, time = @time, whole = @whole, crc = @crc
       WHERE stream_id = @stream_id AND seq = @seq`,
    ),
  };
}
