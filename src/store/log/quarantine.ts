import type { Database } from "better-sqlite3";
import type { Seq, StreamId } from "../../domain/units.ts";
import type { GapRecord } from "../../domain/record.ts";
import type { Span } from "./missing.ts";

/** Ranges that people are told of: a disk that rots makes thousands. */
const MOST_TOLD = 5;

export type Quarantine = ReturnType<typeof createQuarantine>;

const RANGE = `from_seq AS "from", to_seq AS "to"`;

/** What damage took: ranges that were found missing. Every call stands for itself or inside the caller's transaction. */
export function createQuarantine(db: Database) {
  /** Each asks for as many seqs as its SQL has marks behind the stream. */
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
  const newest = ranges(`ORDER BY from_seq DESC LIMIT ${MOST_TOLD}`);
  return {
    /** From and to; so do the others that take a range. */
    note: change(
      `INSERT OR REPLACE INTO quarantine (stream_id, from_seq, to_seq, reason, declared)
       VALUES (?, ?, ?, 'damaged in the store', 0)`,
    ),
    /** Those that touch the range. */
    known: ranges("AND to_seq >= ? AND from_seq <= ?"),
    /** Those behind a seq, ascending. */
    behind: ranges("AND from_seq > ? ORDER BY from_seq"),
    /** The first that may have held log records, if there is one: what lies inside a whole row was facts. */
    firstOfLog: ranges(
      `AND NOT EXISTS (SELECT 1 FROM log
         WHERE log.stream_id = quarantine.stream_id AND first_seq < from_seq AND last_seq > to_seq)
       ORDER BY from_seq LIMIT 1`,
    ),
    /** Those that no gap record tells of yet. */
    undeclared: (stream: StreamId): readonly GapRecord["value"][] => undeclared.all(stream),
    /** They are declared by this commit. */
    declare: change(`UPDATE quarantine SET declared = 1 WHERE stream_id = ?`),
    /** Among what is lost may be the gap records that told of earlier losses: what isn't acked is declared again. */
    declareAgain: change(`UPDATE quarantine SET declared = 0 WHERE stream_id = ? AND to_seq > ? AND declared = 1`),
    /** Those of which a gap record tells, or that the service had before they were lost; ascending. */
    declared: ranges("AND declared = 1 ORDER BY from_seq"),
    /** What was lost there stands again. */
    forget: change(`DELETE FROM quarantine WHERE stream_id = ? AND from_seq = ? AND to_seq = ?`),
    /** Records in quarantine. */
    count: (stream: StreamId) => count.get(stream)?.records ?? 0,
    /** Where they stood: the newest few ranges, ascending. */
    newest: (stream: StreamId): readonly Span[] => newest(stream).reverse(),
  };
}
