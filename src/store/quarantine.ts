import type { Database, Statement } from "better-sqlite3";
import type { StreamInfo } from "../ports.ts";
import type { GivenUp } from "./evict.ts";
import { ifWhole, unpackFact, unpackLog, type FactRow, type LogRow } from "./rows.ts";

/** Rows looked at in one step of a check. */
const STEP_ROWS = 200;

export interface Quarantine {
  /**
   * Looks at the rows from seq on, some at a time: takes damaged ones out and notes which seqs are missing.
   * Returns where the next step goes on; null: the end is reached. Idempotent.
   */
  step(info: StreamInfo, from: number): number | null;
  /** Checks from seq on until the end, or until the clock says stop. True: reached the end. */
  checkFrom(info: StreamInfo, from: number, until: () => boolean): boolean;
  /** Ranges found missing that no gap record tells of yet. */
  undeclared(stream: string): readonly GivenUp[];
  /** They are declared by this commit. */
  declare(stream: string): void;
  /** Records in quarantine. */
  count(stream: string): number;
}

/** Cells that were written by a store of ours: nothing but damage makes others. */
export function createQuarantine(db: Database): Quarantine {
  const sql = prepare(db);
  const step = (info: StreamInfo, from: number): number | null => {
    const { stream } = info;
    const rows = sql.rows.all({ stream, from, rows: STEP_ROWS });
    const isEnd = rows.length < STEP_ROWS;
    const to = isEnd ? info.newest_seq : Math.min(info.newest_seq, rows.at(-1)?.first_seq ?? from);
    const facts = sql.facts.all({ stream, from, to });
    const present = spansOf(info, rows, facts);
    db.transaction(() => {
      for (const row of present.damagedRows) sql.dropRow.run({ stream, seq: row.first_seq });
      for (const fact of present.damagedFacts) sql.dropFact.run({ stream, seq: fact.seq });
      for (const range of missingIn(present.spans, [from, to])) {
        for (const [first, last] of without(range, sql.known.all({ stream, from: range[0], to: range[1] }))) {
          sql.note.run({ stream, from: first, to: last, reason: "damaged in the store" });
        }
      }
    })();
    return isEnd ? null : to;
  };
  return {
    step,
    checkFrom(info, from, until) {
      let at: number | null = from;
      while (at !== null && !until()) {
        const next: number | null = step(info, at);
        // A row that fills a whole step by itself can't be passed by its own first seq.
        at = next !== null && next <= at ? at + 1 : next;
      }
      return at === null;
    },
    undeclared: (stream) => sql.undeclared.all(stream),
    declare: (stream) => void sql.declare.run(stream),
    count: (stream) => sql.count.get(stream)?.records ?? 0,
  };
}

type Span = readonly [from: number, to: number];

function spansOf(info: StreamInfo, rows: readonly LogRow[], facts: readonly FactRow[]) {
  const spans: Span[] = [];
  const isOurs = (from: number, to: number): boolean => from <= to && to <= info.newest_seq;
  const damagedRows = rows.filter((row) => {
    const records = isOurs(row.first_seq, row.last_seq) ? ifWhole(unpackLog, row) : undefined;
    for (const { seq } of records ?? []) spans.push([seq, seq]);
    return records === undefined;
  });
  const damagedFacts = facts.filter((row) => {
    if (ifWhole(unpackFact, row) === undefined) return true;
    spans.push([row.seq, row.seq]);
    return false;
  });
  return { spans, damagedRows, damagedFacts };
}

/** Ranges of [from, to] that no span covers. */
export function missingIn(spans: readonly Span[], [from, to]: Span): Span[] {
  const missing: Span[] = [];
  let next = from;
  for (const [first, last] of [...spans].sort((a, b) => a[0] - b[0])) {
    if (first > to) break;
    if (first > next) missing.push([next, first - 1]);
    next = Math.max(next, last + 1);
  }
  if (next <= to) missing.push([next, to]);
  return missing;
}

function without(range: Span, known: readonly GivenUp[]): Span[] {
  return missingIn(
    known.map(({ from, to }) => [from, to] as const),
    range,
  );
}

function prepare(db: Database): QuarantineStatements {
  return {
    rows: db.prepare(
      `SELECT * FROM log WHERE stream_id = @stream AND first_seq >= ifnull(
         (SELECT max(first_seq) FROM log WHERE stream_id = @stream AND first_seq <= @from), 0)
       ORDER BY first_seq LIMIT @rows`,
    ),
    facts: db.prepare(`SELECT * FROM fact WHERE stream_id = @stream AND seq BETWEEN @from AND @to`),
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
    declare: db.prepare(`UPDATE quarantine SET declared = 1 WHERE stream_id = ?`),
    count: db.prepare(`SELECT ifnull(sum(to_seq - from_seq + 1), 0) AS records FROM quarantine WHERE stream_id = ?`),
  };
}

interface QuarantineStatements {
  readonly rows: Statement<[{ stream: string; from: number; rows: number }], LogRow>;
  readonly facts: Statement<[{ stream: string; from: number; to: number }], FactRow>;
  readonly dropRow: Statement<[{ stream: string; seq: number }]>;
  readonly dropFact: Statement<[{ stream: string; seq: number }]>;
  readonly note: Statement<[{ stream: string; from: number; to: number; reason: string }]>;
  readonly known: Statement<[{ stream: string; from: number; to: number }], GivenUp>;
  readonly undeclared: Statement<[string], GivenUp>;
  readonly declare: Statement<[string]>;
  readonly count: Statement<[string], { records: number }>;
}
