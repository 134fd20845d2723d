import type { Database } from "better-sqlite3";
import type { StoreMade, StreamInfo } from "../port.ts";
import type { Origin } from "../identity/identity.ts";
import type { LogRow } from "../log/rows.ts";
import { createQuarantine } from "../retention/quarantine.ts";
import { find } from "./find.ts";
import { mend } from "./mend.ts";
import type { FoundStream } from "./proven.ts";
import { say } from "../../domain/sentences.ts";

export interface Known {
  readonly wall: () => number;
  /** What the identity knows of the streams. */
  readonly origins: readonly Origin[];
}

interface Extent {
  readonly stream_id: string;
  readonly first: number;
  readonly last: number;
}

/** Gives each stream whose rows were found its own row again, notes what is missing of it, and says from where on it needs a new name. */
export function settleStreams(
  db: Database,
  found: ReadonlyMap<string, FoundStream>,
  { origins, wall }: Known,
): StoreMade["streams"] {
  const extents = db
    .prepare<[], Extent>(
      `SELECT stream_id, min(first) AS first, max(last) AS last FROM (
         SELECT stream_id, first_seq AS first, last_seq AS last FROM log
         UNION ALL SELECT stream_id, seq, seq FROM fact) GROUP BY stream_id`,
    )
    .all();
  const empty = [...found.keys()].filter((id) => !extents.some(({ stream_id }) => stream_id === id));
  const all = [...extents, ...empty.map((stream_id) => ({ stream_id, first: 1, last: 0 }))];
  return all.map((extent) => {
    const own = found.get(extent.stream_id);
    const row = own === undefined ? rowFor(db, extent, origins) : upTo(own, extent.last);
    const renew_from = extent.last + 1;
    settle(db, row, { renew_from, wall });
    const missing = noteMissing(db, row, own !== undefined);
    const detail = say("incident.store_damaged", { count: missing });
    const due = `INSERT OR REPLACE INTO due (stream_id, event, detail) VALUES (?, 'store_damaged', ?)`;
    db.prepare(due).run(row.stream_id, detail);
    return { stream: row.stream_id, booth: row.booth_id, newest_seq: row.newest_seq, missing, renew_from };
  });
}

/** The row found, brought up to the rows that were. One from before the newest of these doesn't know how much has been taken in. */
function upTo(found: FoundStream, last: number): FoundStream {
  return last <= found.newest_seq ? found : { ...found, newest_seq: last, last_take: 0 };
}

/** Where it is gone, what follows from the rows. */
function rowFor(db: Database, { stream_id, first, last }: Extent, origins: readonly Origin[]): FoundStream {
  const own = db
    .prepare<[string], Omit<Origin, "stream">>("SELECT booth_id AS booth, created_at FROM origin WHERE stream_id = ?")
    .get(stream_id);
  const origin = own ?? origins.find(({ stream }) => stream === stream_id);
  const oldest_seq =
    db
      .prepare<[string], { first: number | null }>("SELECT min(first_seq) AS first FROM log WHERE stream_id = ?")
      .get(stream_id)?.first ?? last + 1;
  return {
    stream_id,
    // Without a booth it is kept, for people to look at.
    booth_id: origin?.booth ?? `unknown ${stream_id}`,
    created_at: origin?.created_at ?? 0,
    oldest_seq,
    newest_seq: last,
    acked_seq: oldest_seq - 1,
    last_take: 0,
    rebuilds: 0,
    facts_upto: first - 1,
    closed_seq: 0,
  };
}

function settle(
  db: Database,
  row: FoundStream,
  { renew_from, wall }: { readonly renew_from: number; readonly wall: () => number },
): void {
  const { stream_id: stream, booth_id: booth } = row;
  db.transaction(() => {
    dropStale(db, row);
    db.prepare(
      `INSERT INTO stream (stream_id, booth_id, created_at, oldest_seq, newest_seq, acked_seq, last_take, rebuilds, facts_upto, closed_seq, sum)
       VALUES (@stream_id, @booth_id, @created_at, @oldest_seq, @newest_seq, @acked_seq, @last_take, @rebuilds + 1, @facts_upto, @closed_seq,
       row_sum(@stream_id, @booth_id, @newest_seq, @acked_seq, @last_take, @oldest_seq, @facts_upto))`,
    ).run(row);
    db.prepare(
      `INSERT OR IGNORE INTO origin (stream_id, booth_id, created_at, sum)
       VALUES (@stream, @booth, @at, row_sum(@stream, @booth, @at))`,
    ).run({ stream, booth, at: row.created_at === 0 ? wall() : row.created_at });
    db.prepare(
      `INSERT OR REPLACE INTO fork (stream_id, from_seq, sum) VALUES (@stream, @from, row_sum(@stream, @from))`,
    ).run({ stream, from: renew_from });
  })();
}

/** Free pages still hold rows that were dropped, or replaced by the same records placed in time. */
function dropStale(db: Database, { stream_id: stream, oldest_seq, newest_seq, facts_upto }: FoundStream): void {
  db.prepare(`DELETE FROM log WHERE stream_id = ? AND last_seq < ?`).run(stream, oldest_seq);
  db.prepare(`DELETE FROM fact WHERE stream_id = ? AND seq <= ?`).run(stream, facts_upto);
  db.prepare(`DELETE FROM state WHERE stream_id = ? AND seq > ?`).run(stream, newest_seq);
  const drop = db.prepare(`DELETE FROM log WHERE stream_id = ? AND first_seq = ?`);
  const rows = db.prepare<[string], Kept>(
    `SELECT first_seq, last_seq, placed FROM log WHERE stream_id = ? ORDER BY first_seq`,
  );
  let before: Kept | undefined;
  for (const row of rows.all(stream)) {
    const worse = before === undefined || before.last_seq < row.first_seq ? undefined : worseOf(before, row);
    if (worse !== undefined) drop.run(stream, worse.first_seq);
    if (worse !== row) before = row;
  }
}

type Kept = Pick<LogRow, "first_seq" | "last_seq" | "placed">;

/** Of two rows that hold the same records: the one that still waits, else the shorter. */
function worseOf(a: Kept, b: Kept): Kept {
  if (a.placed !== b.placed) return a.placed < b.placed ? a : b;
  return a.last_seq - a.first_seq < b.last_seq - b.first_seq ? a : b;
}

/** Where the stream's row is gone nobody knows which records before the first found had been thinned: all of them are noted. */
function noteMissing(db: Database, row: FoundStream, isKnown: boolean): number {
  const { stream_id: stream, booth_id: booth, newest_seq, ...rest } = row;
  const info: StreamInfo = { stream, booth, newest_seq, sendable_seq: newest_seq, ...rest };
  for (const found of find(db, () => [info])) mend(db, found, true);
  // What the service has needs no gap record.
  db.prepare(`UPDATE quarantine SET declared = 1 WHERE stream_id = ? AND to_seq <= ?`).run(stream, row.acked_seq);
  if (!isKnown && row.oldest_seq > 1) {
    db.prepare(
      `INSERT OR REPLACE INTO quarantine (stream_id, from_seq, to_seq, reason, declared)
       VALUES (?, 1, ?, 'gone before a salvage: by age, or by the damage', 0)`,
    ).run(stream, row.oldest_seq - 1);
  }
  return createQuarantine(db).count(stream);
}
