import type { Database } from "better-sqlite3";
import type { Seq, StreamId } from "../../domain/units.ts";
import type { GapRecord } from "../../domain/record.ts";
import type { Span } from "./missing.ts";

/** Maximum number of ranges in a report: a failing disk makes thousands. */
const MOST_REPORTED = 5;

export type Quarantine = ReturnType<typeof createQuarantine>;

const RANGE = `from_seq AS "from", to_seq AS "to"`;

/** The ranges of seqs that were lost by damage. Each call may be made alone or inside the caller's transaction. */
export function createQuarantine(db: Database) {
  /** Prepares a query of ranges. Each question mark in `which` takes a seq, after the stream. */
  const ranges = (which: string) => {
    const found = db.prepare<[string, ...Seq[]], { readonly from: number; readonly to: number }>(
      `SELECT ${RANGE} FROM quarantine WHERE stream_id = ? ${which}`,
    );
    return (stream: StreamId, ...more: Seq[]): Span[] => found.all(stream, ...more).map(({ from, to }) => [from, to]);
  };
  const change = (sql: string) => {
    const made = db.prepare<[string, ...Seq[]]>(sql);
    return (stream: StreamId, ...more: Seq[]): void => void made.run(stream, ...more);
  };
  const undeclared = db.prepare<[string], GapRecord["value"]>(
    `SELECT ${RANGE}, reason FROM quarantine WHERE stream_id = ? AND declared = 0`,
  );
  const count = db.prepare<[string], { records: number }>(
    `SELECT ifnull(sum(to_seq - from_seq + 1), 0) AS records FROM quarantine WHERE stream_id = ?`,
  );
  const newest = ranges(`ORDER BY from_seq DESC LIMIT ${MOST_REPORTED}`);
  return {
    /** Notes the range [from, to] as lost. */
    note: change(
      `INSERT OR REPLACE INTO quarantine (stream_id, from_seq, to_seq, reason, declared)
       VALUES (?, ?, ?, 'damaged in the store', 0)`,
    ),
    /** Returns the ranges that overlap [from, to]. */
    known: ranges("AND to_seq >= ? AND from_seq <= ?"),
    /** Returns the ranges after a seq, ascending. */
    behind: ranges("AND from_seq > ? ORDER BY from_seq"),
    /** Returns the first range that may have held log records. A range inside a whole row held only facts. */
    firstOfLog: ranges(
      `AND NOT EXISTS (SELECT 1 FROM log
         WHERE log.stream_id = quarantine.stream_id AND first_seq < from_seq AND last_seq > to_seq)
       ORDER BY from_seq LIMIT 1`,
    ),
    /** Returns the ranges that no gap record has reported yet. */
    undeclared: (stream: StreamId): readonly GapRecord["value"][] => undeclared.all(stream),
    /** Marks all ranges as reported by a gap record of this commit. */
    declare: change(`UPDATE quarantine SET declared = 1 WHERE stream_id = ?`),
    /** Marks the ranges that the service hasn't acked for another report, because their gap records may be lost too. */
    declareAgain: change(`UPDATE quarantine SET declared = 0 WHERE stream_id = ? AND to_seq > ? AND declared = 1`),
    /** Returns the ranges that a gap record reports or that the service had stored before the loss, ascending. */
    declared: ranges("AND declared = 1 ORDER BY from_seq"),
    /** Removes a range whose records were restored. */
    forget: change(`DELETE FROM quarantine WHERE stream_id = ? AND from_seq = ? AND to_seq = ?`),
    /** Returns the number of lost records. */
    count: (stream: StreamId) => count.get(stream)?.records ?? 0,
    /** Returns the newest ranges, ascending. */
    newest: (stream: StreamId): readonly Span[] => newest(stream).reverse(),
  };
}
