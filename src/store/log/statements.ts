import type { Database, Statement } from "better-sqlite3";
import { prepareClosing, type ClosingStatements } from "./closing-statements.ts";
import type { FactRow, LogRow, StateRow } from "./rows.ts";
import { addRowSum } from "../schema.ts";

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

/** Every statement of the writer, prepared once, named as a sentence. */
export interface Statements extends ClosingStatements {
  readonly streamOfBooth: Statement<[string], StreamRow>;
  readonly streamById: Statement<[string], StreamRow>;
  readonly addStream: Statement<[{ stream: string; booth: string; at: number }]>;
  readonly addOrigin: Statement<[{ stream: string; booth: string; at: number }]>;
  readonly moveStream: Statement<[{ stream: string; newest: number; acked: number; take: number }]>;
  readonly addLogRow: Statement<[LogRow]>;
  readonly dropLogRow: Statement<[{ stream: string; seq: number }]>;
  readonly firstWaitingRows: Statement<[{ stream: string; rows: number }], LogRow>;
  readonly addBootPlace: Statement<[{ stream: string; boot: string; offset: number; uncertain: number }]>;
  readonly bootPlaces: Statement<[string], { boot: string; offset_ms: number; uncertain: number }>;
  /** Boots with records after a seq. */
  readonly bootsAfter: Statement<[{ stream: string; seq: number }], { boot: string }>;
  readonly addFact: Statement<[FactRow]>;
  readonly saveState: Statement<[StateRow]>;
  readonly savedState: Statement<[string], StateRow>;
  /** Finds a row where the stream's own doesn't fit its checksum. */
  readonly damagedStream: Statement<[string]>;
  /** A range that was damaged and taken out, and may have held log records: what lies inside a whole row was facts. */
  readonly quarantined: Statement<[string], { from_seq: number; to_seq: number }>;
  readonly savedSeq: Statement<[string], { saved_seq: number }>;
  readonly logRowsFrom: Statement<[{ stream: string; from: number; rows: number }], LogRow>;
  readonly factsFrom: Statement<[{ stream: string; from: number; to: number; rows: number }], FactRow>;
  readonly standingFacts: Statement<[{ stream: string; from: number }], FactRow>;
  /** Version, mark and time, with the checksum that goes with them. */
  readonly changeFact: Statement<[FactRow]>;
  readonly newestFact: Statement<[string], { seq: number }>;
  readonly factBefore: Statement<[{ stream: string; seq: number }], { seq: number | null }>;
  /** Events that the stream's next commit logs. */
  readonly dueEvents: Statement<[string], { event: string; detail: string }>;
  readonly dropDue: Statement<[string]>;
  readonly countRebuild: Statement<[{ stream: string }]>;
}

const STREAM_COLUMNS = `stream_id, booth_id, oldest_seq, newest_seq, acked_seq, last_take, ifnull(
  (SELECT min(first_seq) - 1 FROM log WHERE log.stream_id = stream.stream_id AND placed = 0), newest_seq) AS sendable_seq,
  ifnull((SELECT from_seq FROM fork WHERE fork.stream_id = stream.stream_id), 0) AS renew_from`;

/** Log rows that hold seq `from` or later; the row that spans `from` included. */
const LOG_ROWS_FROM = `
  SELECT * FROM log WHERE stream_id = @stream AND first_seq >= ifnull(
    (SELECT max(first_seq) FROM log WHERE stream_id = @stream AND first_seq <= @from), 0)
  ORDER BY first_seq LIMIT @rows`;

/** Those that only read, as far as readers share them. */
export type ReadStatements = Pick<
  Statements,
  "streamById" | "savedState" | "logRowsFrom" | "bootPlaces" | "bootsAfter"
> & {
  readonly allStreams: Statement<[], StreamRow>;
};

export function prepareReadStatements(db: Database): ReadStatements {
  return {
    allStreams: db.prepare(`SELECT ${STREAM_COLUMNS} FROM stream ORDER BY created_at`),
    streamById: db.prepare(`SELECT ${STREAM_COLUMNS} FROM stream WHERE stream_id = ?`),
    savedState: db.prepare(`SELECT stream_id, seq, crc, body, whole FROM state WHERE stream_id = ?`),
    logRowsFrom: db.prepare(LOG_ROWS_FROM),
    bootPlaces: db.prepare(`SELECT boot, offset_ms, uncertain FROM boot WHERE stream_id = ?`),
    bootsAfter: db.prepare(`SELECT DISTINCT boot FROM log WHERE stream_id = @stream AND last_seq > @seq`),
  };
}

export function prepareStatements(db: Database): Statements & Pick<ReadStatements, "allStreams"> {
  addRowSum(db);
  return {
    ...prepareReadStatements(db),
    ...prepareClosing(db),
    streamOfBooth: db.prepare(
      `SELECT ${STREAM_COLUMNS} FROM stream WHERE booth_id = ? ORDER BY created_at DESC LIMIT 1`,
    ),
    addStream: db.prepare(
      `INSERT INTO stream (stream_id, booth_id, created_at, oldest_seq, newest_seq, acked_seq, last_take, sum)
       VALUES (@stream, @booth, @at, 1, 0, 0, 0, row_sum(@stream, @booth, 0, 0, 0, 1, 0))`,
    ),
    addOrigin: db.prepare(
      `INSERT INTO origin (stream_id, booth_id, created_at, sum) VALUES (@stream, @booth, @at, row_sum(@stream, @booth, @at))`,
    ),
    moveStream: db.prepare(
      `UPDATE stream SET newest_seq = @newest, acked_seq = @acked, last_take = @take,
       sum = row_sum(stream_id, booth_id, @newest, @acked, @take, oldest_seq, facts_upto) WHERE stream_id = @stream`,
    ),
    addLogRow: db.prepare(
      `INSERT INTO log (stream_id, first_seq, last_seq, boot, mono0, t0, crc, body, placed, whole, packed)
       VALUES (@stream_id, @first_seq, @last_seq, @boot, @mono0, @t0, @crc, '', @placed, @whole, @packed)`,
    ),
    dropLogRow: db.prepare(`DELETE FROM log WHERE stream_id = @stream AND first_seq = @seq`),
    firstWaitingRows: db.prepare(
      `SELECT * FROM log WHERE stream_id = @stream AND placed = 0 ORDER BY first_seq LIMIT @rows`,
    ),
    addBootPlace: db.prepare(
      `INSERT INTO boot (stream_id, boot, offset_ms, uncertain, sum)
       VALUES (@stream, @boot, @offset, @uncertain, row_sum(@stream, @boot, @offset, @uncertain))
       ON CONFLICT (stream_id, boot) DO UPDATE
       SET offset_ms = excluded.offset_ms, uncertain = excluded.uncertain, sum = excluded.sum`,
    ),
    damagedStream: db.prepare(
      `SELECT 1 FROM stream WHERE stream_id = ?
       AND sum <> row_sum(stream_id, booth_id, newest_seq, acked_seq, last_take, oldest_seq, facts_upto)`,
    ),
    quarantined: db.prepare(`SELECT from_seq, to_seq FROM quarantine AS lost WHERE stream_id = ? AND NOT EXISTS (
         SELECT 1 FROM log WHERE log.stream_id = lost.stream_id AND first_seq < from_seq AND last_seq > to_seq)
       ORDER BY from_seq LIMIT 1`),
    savedSeq: db.prepare(`SELECT seq AS saved_seq FROM state WHERE stream_id = ?`),
    addFact: db.prepare(
      `INSERT INTO fact (stream_id, seq, kind, start_ms, end_ms, time, crc, body, version, replaced, prev, whole)
       VALUES (@stream_id, @seq, @kind, @start_ms, @end_ms, @time, @crc, @body, @version, @replaced, @prev, @whole)`,
    ),
    saveState: db.prepare(
      `INSERT INTO state (stream_id, seq, crc, body, whole) VALUES (@stream_id, @seq, @crc, @body, @whole)
       ON CONFLICT (stream_id) DO UPDATE
       SET seq = excluded.seq, crc = excluded.crc, body = excluded.body, whole = excluded.whole`,
    ),
    standingFacts: db.prepare(
      `SELECT * FROM fact WHERE stream_id = @stream AND seq >= @from AND replaced = 0 ORDER BY seq`,
    ),
    changeFact: db.prepare(
      `UPDATE fact SET version = @version, replaced = @replaced, time = @time, whole = @whole, crc = @crc
       WHERE stream_id = @stream_id AND seq = @seq`,
    ),
    factBefore: db.prepare(`SELECT max(seq) AS seq FROM fact WHERE stream_id = @stream AND seq < @seq`),
    newestFact: db.prepare(`SELECT ifnull(max(seq), 0) AS seq FROM fact WHERE stream_id = ?`),
    dueEvents: db.prepare(`SELECT event, detail FROM due WHERE stream_id = ?`),
    dropDue: db.prepare(`DELETE FROM due WHERE stream_id = ?`),
    countRebuild: db.prepare(`UPDATE stream SET rebuilds = rebuilds + 1 WHERE stream_id = @stream`),
    factsFrom: db.prepare(
      `SELECT * FROM fact WHERE stream_id = @stream AND seq BETWEEN @from AND @to ORDER BY seq LIMIT @rows`,
    ),
  };
}
