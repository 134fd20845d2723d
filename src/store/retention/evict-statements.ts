import type { Database, Statement } from "better-sqlite3";
import type { LogRow } from "../log/rows.ts";

export interface OldRow {
  readonly first_seq: number;
  readonly last_seq: number;
  readonly t0: number;
  /** It has the mark of a gap record; a text of old that looks like one may, too. */
  readonly has_gap: number;
}

/** What making room needs of the database. */
export interface EvictStatements {
  readonly oldestRows: Statement<[{ stream: string; rows: number }], OldRow>;
  /** Those of boots that wait for a sync. */
  readonly oldestWaiting: Statement<[{ stream: string; rows: number }], OldRow>;
  readonly row: Statement<[{ stream: string; seq: number }], LogRow>;
  readonly dropRows: Statement<[{ stream: string; upTo: number }]>;
  readonly firstRow: Statement<[string], { first_seq: number; t0: number }>;
  readonly lastRow: Statement<[string], { t0: number }>;
  readonly oldestFacts: Statement<[{ stream: string; upTo: number; rows: number }], { seq: number; end_ms: number }>;
  /** Pages that hold facts, found by reading them all. */
  readonly factPages: Statement<[], { pages: number }>;
  readonly dropFacts: Statement<[{ stream: string; upTo: number }]>;
  readonly moveFacts: Statement<[{ stream: string; upTo: number }]>;
  readonly moveOldest: Statement<[{ stream: string; oldest: number }]>;
  /** Streams with the seq that may go without a word: acked, and part of a saved state. */
  readonly freeUpTo: Statement<[], { stream_id: string; up_to: number }>;
}

const OLD_ROW = `SELECT first_seq, last_seq, t0, substr(packed, 1, 1) = x'02' AS has_gap FROM log`;

export function prepareEvictStatements(db: Database): EvictStatements {
  return {
    oldestRows: db.prepare(`${OLD_ROW} WHERE stream_id = @stream AND placed = 1 ORDER BY first_seq LIMIT @rows`),
    oldestWaiting: db.prepare(`${OLD_ROW} WHERE stream_id = @stream AND placed = 0 ORDER BY first_seq LIMIT @rows`),
    row: db.prepare(`SELECT * FROM log WHERE stream_id = @stream AND first_seq = @seq`),
    dropRows: db.prepare(`DELETE FROM log WHERE stream_id = @stream AND first_seq <= @upTo`),
    firstRow: db.prepare(`SELECT first_seq, t0 FROM log WHERE stream_id = ? ORDER BY first_seq LIMIT 1`),
    lastRow: db.prepare(`SELECT t0 FROM log WHERE stream_id = ? ORDER BY first_seq DESC LIMIT 1`),
    oldestFacts: db.prepare(
      `SELECT seq, end_ms FROM fact WHERE stream_id = @stream AND seq <= @upTo ORDER BY seq LIMIT @rows`,
    ),
    factPages: db.prepare(
      `SELECT ifnull(sum(pageno), 0) AS pages FROM dbstat WHERE name IN ('fact', 'fact_by_time') AND aggregate = 1`,
    ),
    dropFacts: db.prepare(`DELETE FROM fact WHERE stream_id = @stream AND seq <= @upTo`),
    moveFacts: db.prepare(
      `UPDATE stream SET facts_upto = @upTo,
       sum = row_sum(stream_id, booth_id, newest_seq, acked_seq, last_take, oldest_seq, @upTo) WHERE stream_id = @stream`,
    ),
    moveOldest: db.prepare(
      `UPDATE stream SET oldest_seq = @oldest,
       sum = row_sum(stream_id, booth_id, newest_seq, acked_seq, last_take, @oldest, facts_upto) WHERE stream_id = @stream`,
    ),
    freeUpTo: db.prepare(
      `SELECT stream.stream_id, min(acked_seq, state.seq) AS up_to FROM stream JOIN state USING (stream_id)`,
    ),
  };
}
