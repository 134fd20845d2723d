import type { Database } from "better-sqlite3";
import { recordText } from "../../domain/record-text.ts";
import { find, mend } from "../check.ts";
import type { Origin } from "../identity/identity.ts";
import type { LogRow } from "../log/rows.ts";
import { prepareReadStatements } from "../log/statements.ts";
import { infoOf } from "../log/streams.ts";
import type { StoreMade } from "../port.ts";
import { LASTING_SQL } from "../retention/budget.ts";
import { createQuarantine } from "../log/quarantine.ts";

interface Known {
  readonly wall: () => number;
  /** The booth of each stream, as stored in the identity database. */
  readonly origins: readonly Origin[];
}

interface StreamOfRows {
  readonly stream: string;
  readonly last: number;
  readonly oldest: number;
  readonly facts_upto: number;
  /** 0: the row of the stream itself was lost. */
  readonly is_known: number;
}

/**
 * Makes the rows of a new file consistent. Each stream gets its own row, ranges of missing records, and the seq from which it needs a new
 * name.
 */
export function settleStreams(db: Database, { origins, wall }: Known): StoreMade["streams"] {
  dropOverlaps(db);
  const streams = db.prepare<[], StreamOfRows>(
    `WITH found AS (
       SELECT stream_id, first_seq AS first, last_seq AS last, first_seq AS oldest FROM log
       UNION ALL SELECT stream_id, iif(kind IN ${LASTING_SQL}, NULL, seq), seq, NULL FROM fact
       UNION ALL SELECT stream_id, NULL, 0, NULL FROM stream)
     SELECT stream_id AS stream, max(last) AS last, ifnull(min(oldest), max(last) + 1) AS oldest, min(first) - 1 AS facts_upto,
       stream_id IN (SELECT stream_id FROM stream) AS is_known FROM found GROUP BY stream_id`,
  );
  const addOrigin = db.prepare(
    `INSERT OR IGNORE INTO origin (stream_id, booth_id, created_at, sum) VALUES (@stream, @booth, @created_at, row_sum(@stream, @booth, @created_at))`,
  );
  const ownOrigin = db.prepare<[string], Omit<Origin, "stream">>(
    "SELECT booth_id AS booth, created_at FROM stream WHERE stream_id = ?",
  );
  return streams.all().map((found) => {
    const { stream } = found;
    // Keeps the log of a stream without a known booth for inspection.
    const unknown = { booth: `unknown ${stream}`, created_at: wall() };
    const { booth, created_at } = ownOrigin.get(stream) ?? origins.find((one) => one.stream === stream) ?? unknown;
    addOrigin.run({ stream, booth, created_at });
    db.transaction(settle)(db, found);
    return finished(db, found);
  });
}

/** SQL statements that make the small tables consistent with the rows that were found. */
const SETTLE = [
  // Adds a missing row of a stream, with booth and creation time from the stream's origin.
  `INSERT OR IGNORE INTO stream (stream_id, booth_id, created_at, oldest_seq, newest_seq, acked_seq, last_take, facts_upto)
   SELECT stream_id, booth_id, created_at, @oldest, @last, @oldest - 1, 0, @facts_upto FROM origin WHERE stream_id = @stream`,
  // Updates a stream's row that is older than its newest record. The number of committed takes (tail entries) is then unknown.
  `UPDATE stream SET newest_seq = @last, last_take = 0 WHERE stream_id = @stream AND newest_seq < @last`,
  `UPDATE stream SET rebuilds = rebuilds + 1,
   sum = row_sum(stream_id, booth_id, newest_seq, acked_seq, last_take, oldest_seq, facts_upto) WHERE stream_id = @stream`,
  // Deletes rows that had been deleted earlier but were still found in free pages.
  `DELETE FROM log WHERE stream_id = @stream AND last_seq < (SELECT oldest_seq FROM stream WHERE stream_id = @stream)`,
  `DELETE FROM fact WHERE stream_id = @stream AND kind NOT IN ${LASTING_SQL} AND seq <= (SELECT facts_upto FROM stream WHERE stream_id = @stream)`,
  `DELETE FROM state WHERE stream_id = @stream AND seq > (SELECT newest_seq FROM stream WHERE stream_id = @stream)`,
  `INSERT OR REPLACE INTO fork (stream_id, from_seq, sum) VALUES (@stream, @last + 1, row_sum(@stream, @last + 1))`,
];

function settle(db: Database, found: StreamOfRows): void {
  for (const sql of SETTLE) db.prepare(sql).run(found);
}

function finished(db: Database, { stream, last, is_known }: StreamOfRows): StoreMade["streams"][number] {
  const row = prepareReadStatements(db).streamById.get(stream);
  if (row === undefined) throw new Error("a stream just added can't be read back");
  const info = infoOf(row);
  for (const found of find(db, () => [info])) mend(db, found, true);
  const quarantine = createQuarantine(db);
  // Records that the service has acked need no gap record.
  db.prepare("UPDATE quarantine SET declared = 1 WHERE stream_id = ? AND to_seq <= ?").run(stream, info.acked_seq);
  if (is_known === 0 && info.oldest_seq > 1) {
    // Without the stream's own row, it is unknown which of the missing records had been deleted by age.
    db.prepare(
      `INSERT OR REPLACE INTO quarantine (stream_id, from_seq, to_seq, reason, declared)
       VALUES (?, 1, ?, 'gone before a salvage: by age, or by the damage', 0)`,
    ).run(stream, info.oldest_seq - 1);
  }
  const missing = quarantine.count(stream);
  const detail = recordText("incident.store_damaged", { count: missing });
  db.prepare(`INSERT OR REPLACE INTO due (stream_id, event, detail) VALUES (?, 'store_damaged', ?)`).run(
    stream,
    detail,
  );
  return { stream, booth: info.booth, newest_seq: info.newest_seq, missing, renew_from: last + 1 };
}

type Held = Pick<LogRow, "stream_id" | "first_seq" | "last_seq" | "placed">;

/** Deletes old versions of rows. Of two overlapping rows, deletes the one that still waits for a clock sync, else the shorter one. */
function dropOverlaps(db: Database): void {
  const drop = db.prepare<[Held]>("DELETE FROM log WHERE stream_id = @stream_id AND first_seq = @first_seq");
  const rows = db.prepare<[], Held>(
    "SELECT stream_id, first_seq, last_seq, placed FROM log ORDER BY stream_id, first_seq",
  );
  let before: Held | undefined;
  for (const row of rows.all()) {
    const overlapped = before?.stream_id === row.stream_id && before.last_seq >= row.first_seq ? before : null;
    const isWorse = overlapped !== null && isEarlier(row, overlapped);
    if (overlapped !== null) drop.run(isWorse ? row : overlapped);
    if (!isWorse) before = row;
  }
}

function isEarlier(a: Held, b: Held): boolean {
  return a.placed === b.placed ? a.last_seq - a.first_seq <= b.last_seq - b.first_seq : a.placed < b.placed;
}
