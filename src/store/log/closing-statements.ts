import type { Database, Statement } from "better-sqlite3";
import type { LogRow } from "./rows.ts";

/** Seqs, both of them lost. */
export interface LostRange {
  readonly from_seq: number;
  readonly to_seq: number;
}

/** What putting rows together needs of the database. */
export interface ClosingStatements {
  readonly closedSeq: Statement<[string], { closed_seq: number }>;
  readonly openRows: Statement<[{ stream: string; after: number; rows: number }], LogRow>;
  readonly dropLogRows: Statement<[{ stream: string; from: number; to: number }]>;
  /** What damage took between the rows that are left. */
  readonly lostBehind: Statement<[{ stream: string; after: number }], LostRange>;
  readonly moveClosed: Statement<[{ stream: string; closed: number }]>;
}

export function prepareClosing(db: Database): ClosingStatements {
  return {
    closedSeq: db.prepare(`SELECT closed_seq FROM stream WHERE stream_id = ?`),
    openRows: db.prepare(
      `SELECT * FROM log WHERE stream_id = @stream AND first_seq > @after ORDER BY first_seq LIMIT @rows`,
    ),
    dropLogRows: db.prepare(`DELETE FROM log WHERE stream_id = @stream AND first_seq BETWEEN @from AND @to`),
    lostBehind: db.prepare(
      `SELECT from_seq, to_seq FROM quarantine WHERE stream_id = @stream AND from_seq > @after ORDER BY from_seq`,
    ),
    moveClosed: db.prepare(`UPDATE stream SET closed_seq = @closed WHERE stream_id = @stream`),
  };
}
