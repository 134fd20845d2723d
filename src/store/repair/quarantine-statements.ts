import type { Database, Statement } from "better-sqlite3";
import type { GivenUp } from "../retention/evict.ts";
import type { FactRow, LogRow } from "../log/rows.ts";

export interface QuarantineStatements {
  readonly rows: Statement<[{ stream: string; from: number; rows: number }], LogRow>;
  readonly facts: Statement<[{ stream: string; from: number; to: number }], FactRow>;
  readonly factPage: Statement<[{ stream: string; from: number; to: number; rows: number }], FactRow>;
  readonly factBefore: Statement<[{ stream: string; seq: number }], { seq: number }>;
  readonly factAfter: Statement<[{ stream: string; seq: number }], Pick<FactRow, "prev">>;
  readonly factsUpTo: Statement<[string], { facts_upto: number }>;
  readonly indexed: Statement<[{ stream: string; kind: string; start_ms: number; end_ms: number; seq: number }]>;
  readonly throughIndex: Statement<[string], { rows: number }>;
  readonly waitingIn: Statement<[{ stream: string; first: number; last: number }], { rows: number }>;
  readonly dropRow: Statement<[{ stream: string; seq: number }]>;
  readonly dropFact: Statement<[{ stream: string; seq: number }]>;
  readonly note: Statement<[{ stream: string; from: number; to: number; reason: string }]>;
  readonly known: Statement<[{ stream: string; from: number; to: number }], GivenUp>;
  readonly undeclared: Statement<[string], GivenUp>;
  readonly declare: Statement<[string]>;
  readonly tellAgain: Statement<[{ stream: string; acked: number }]>;
  readonly declared: Statement<[string], GivenUp>;
  readonly forget: Statement<[{ stream: string; from: number; to: number }]>;
  readonly count: Statement<[string], { records: number }>;
  readonly newest: Statement<[string, number], { from: number; to: number }>;
}

export function prepareQuarantine(db: Database): QuarantineStatements {
  return {
    rows: db.prepare(
      `SELECT * FROM log WHERE stream_id = @stream AND first_seq >= ifnull(
         (SELECT max(first_seq) FROM log WHERE stream_id = @stream AND first_seq <= @from), 0)
       ORDER BY first_seq LIMIT @rows`,
    ),
    facts: db.prepare(`SELECT * FROM fact WHERE stream_id = @stream AND seq BETWEEN @from AND @to ORDER BY seq`),
    factPage: db.prepare(
      `SELECT * FROM fact WHERE stream_id = @stream AND seq BETWEEN @from AND @to ORDER BY seq LIMIT @rows`,
    ),
    factBefore: db.prepare(`SELECT ifnull(max(seq), 0) AS seq FROM fact WHERE stream_id = @stream AND seq < @seq`),
    factAfter: db.prepare(`SELECT prev FROM fact WHERE stream_id = @stream AND seq > @seq ORDER BY seq LIMIT 1`),
    factsUpTo: db.prepare(`SELECT facts_upto FROM stream WHERE stream_id = ?`),
    indexed: db.prepare(
      `SELECT 1 FROM fact INDEXED BY fact_by_time WHERE stream_id = @stream AND kind = @kind AND start_ms = @start_ms
       AND end_ms = @end_ms AND seq = @seq`,
    ),
    throughIndex: db.prepare(
      `SELECT count(*) AS rows, sum(start_ms), sum(end_ms), sum(seq), sum(length(kind)) FROM fact INDEXED BY fact_by_time
       WHERE stream_id = ?`,
    ),
    waitingIn: db.prepare(
      `SELECT count(*) AS rows FROM log INDEXED BY log_waiting
       WHERE stream_id = @stream AND placed = 0 AND first_seq BETWEEN @first AND @last`,
    ),
    dropRow: db.prepare(`DELETE FROM log WHERE stream_id = @stream AND first_seq = @seq`),
    dropFact: db.prepare(`DELETE FROM fact WHERE stream_id = @stream AND seq = @seq`),
    note: db.prepare(
      `INSERT OR REPLACE INTO quarantine (stream_id, from_seq, to_seq, reason, declared)
       VALUES (@stream, @from, @to, @reason, 0)`,
    ),
    known: db.prepare(
      `SELECT from_seq AS "from", to_seq AS "to", reason FROM quarantine
       WHERE stream_id = @stream AND from_seq <= @to AND to_seq >= @from`,
    ),
    undeclared: db.prepare(
      `SELECT from_seq AS "from", to_seq AS "to", reason FROM quarantine WHERE stream_id = ? AND declared = 0`,
    ),
    declared: db.prepare(
      `SELECT from_seq AS "from", to_seq AS "to", reason FROM quarantine WHERE stream_id = ? AND declared = 1 ORDER BY from_seq`,
    ),
    forget: db.prepare(`DELETE FROM quarantine WHERE stream_id = @stream AND from_seq = @from AND to_seq = @to`),
    declare: db.prepare(`UPDATE quarantine SET declared = 1 WHERE stream_id = ?`),
    tellAgain: db.prepare(
      `UPDATE quarantine SET declared = 0 WHERE stream_id = @stream AND to_seq > @acked AND declared = 1`,
    ),
    count: db.prepare(`SELECT ifnull(sum(to_seq - from_seq + 1), 0) AS records FROM quarantine WHERE stream_id = ?`),
    newest: db.prepare(
      `SELECT from_seq AS "from", to_seq AS "to" FROM quarantine WHERE stream_id = ? ORDER BY from_seq DESC LIMIT ?`,
    ),
  };
}
