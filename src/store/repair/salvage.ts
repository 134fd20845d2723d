import { rmSync } from "node:fs";
import type { Database } from "better-sqlite3";
import { rowsOfPage } from "./cells.ts";
import { openWriter } from "../open.ts";
import type { Origin } from "../log/origins.ts";
import { openPages, PAGE_SIZES, saidPageSize, type Pages } from "./pages.ts";
import { settleStreams, type SalvagedStream } from "./salvage-streams.ts";
import { foundIn, type Found, type FoundStream } from "./salvage-rows.ts";
import { prepareSchema } from "../schema.ts";

export interface SalvageTools {
  readonly wall: () => number;
  /** Called with the pages done and the pages there are. */
  readonly progress?: (done: number, of: number) => void;
  /** What is known elsewhere of the streams in the file. */
  readonly origins?: readonly Origin[];
}

/** What was found in a damaged file, and written into a new one. */
export interface Salvaged {
  readonly pages: number;
  readonly log_rows: number;
  readonly facts: number;
  readonly streams: readonly SalvagedStream[];
}

/** Pages between two words of progress. */
const PROGRESS_PAGES = 256;

/**
 * Reads every page of a damaged store file and of its write-ahead log by itself, whatever leads to it, and puts each row that
 * its own checksum proves into a new file at `target`, which is replaced. What is missing is noted for a gap record, and each
 * stream goes on under a new name, since nobody knows what the service was given under the lost seqs.
 */
export function salvage(damaged: string, target: string, tools: SalvageTools): Salvaged {
  const pages = openPages(damaged, pageSizeOf(damaged));
  try {
    return { pages: pages.images, ...storeOf(rowsIn(pages, tools), target, tools) };
  } finally {
    pages.close();
  }
}

/** Images looked at to find out how large pages are. */
const SAMPLE_PAGES = 2_000;

/** What the header says, if it is a size at all: no single bit makes one size another. Else that at which most rows can be proven. */
function pageSizeOf(path: string): number {
  const said = saidPageSize(path);
  if (said !== undefined) return said;
  const counts = PAGE_SIZES.map((page_bytes) => {
    const pages = openPages(path, page_bytes);
    try {
      return { page_bytes, rows: [...rowsIn({ ...pages, images: Math.min(pages.images, SAMPLE_PAGES) }, {})].length };
    } finally {
      pages.close();
    }
  });
  return counts.reduce((best, one) => (one.rows > best.rows ? one : best)).page_bytes;
}

/** Makes a store of proven rows, wherever they come from, at `target`, which is replaced. Streams are settled as by a salvage. */
export function storeOf(
  found: Iterable<Found>,
  target: string,
  tools: Pick<SalvageTools, "wall" | "origins">,
): Omit<Salvaged, "pages"> {
  for (const suffix of ["", "-wal", "-shm"]) rmSync(target + suffix, { force: true });
  const db = openWriter(target);
  try {
    prepareSchema(db);
    const streamsFound: Gathered = new Map();
    const put = prepare(db);
    db.transaction(() => {
      for (const row of found) gather(put, streamsFound, row);
      dropNested(db);
    })();
    const streams = settleStreams(db, streamsFound, tools);
    db.pragma("wal_checkpoint(TRUNCATE)");
    return { ...(put.counts.get() ?? { log_rows: 0, facts: 0 }), streams };
  } finally {
    db.close();
  }
}

/** The newest row found of each stream. */
type Gathered = Map<string, FoundStream>;

/** The file's pages first, then those of its log in order: where several images hold a row, one of the earliest comes first. */
function* rowsIn(pages: Pages, { progress }: Pick<SalvageTools, "progress">): Generator<Found> {
  for (let index = 0; index < pages.images; index += 1) {
    const image = pages.image(index);
    // Page 1 begins with the file's header, in the log as well.
    const head = index === 0 || image?.toString("latin1", 0, 15) === "SQLite format 3" ? 100 : 0;
    if (image !== undefined) {
      for (const cells of rowsOfPage(pages, image, head)) {
        const found = foundIn(cells);
        if (found !== undefined) yield found;
      }
    }
    const done = index + 1;
    if (done % PROGRESS_PAGES === 0 || done === pages.images) progress?.(done, pages.images);
  }
}

function gather(put: ReturnType<typeof prepare>, found: Gathered, one: Found): void {
  switch (one.table) {
    case "stream": {
      const known = found.get(one.row.stream_id);
      if (known === undefined || isLater(one.row, known)) found.set(one.row.stream_id, one.row);
      return;
    }
    case "log":
      put.log.run(one.row);
      return;
    case "fact":
      put.fact.run(one.row);
      return;
    case "state":
      put.state.run(one.row);
      return;
    case "boot":
    case "origin":
    case "fork":
    case "dead_letter":
      put[one.table].run(...one.cells);
  }
}

function isLater(row: FoundStream, known: FoundStream): boolean {
  const moves = ["newest_seq", "acked_seq", "oldest_seq", "facts_upto"] as const;
  const moved = moves.find((name) => row[name] !== known[name]);
  return moved !== undefined && row[moved] > known[moved];
}

/** Of several images of a row the one that came later is kept: placed after waiting, chunks after rows, replaced after standing. */
function prepare(db: Database) {
  return {
    log: db.prepare<[object]>(
      `INSERT INTO log (stream_id, first_seq, last_seq, boot, mono0, t0, crc, body, placed, whole, packed)
       VALUES (@stream_id, @first_seq, @last_seq, @boot, @mono0, @t0, @crc, '', @placed, @whole, @packed)
       ON CONFLICT (stream_id, first_seq) DO UPDATE SET last_seq = excluded.last_seq, boot = excluded.boot,
       mono0 = excluded.mono0, t0 = excluded.t0, crc = excluded.crc, placed = excluded.placed,
       whole = excluded.whole, packed = excluded.packed
       WHERE excluded.placed > placed OR (excluded.placed = placed AND excluded.last_seq > last_seq)`,
    ),
    fact: db.prepare<[object]>(
      `INSERT INTO fact (stream_id, seq, kind, start_ms, end_ms, time, crc, body, version, replaced, whole, prev)
       VALUES (@stream_id, @seq, @kind, @start_ms, @end_ms, @time, @crc, @body, @version, @replaced, @whole, @prev)
       ON CONFLICT (stream_id, seq) DO UPDATE SET version = excluded.version, replaced = excluded.replaced,
       whole = excluded.whole, crc = excluded.crc WHERE excluded.replaced > replaced`,
    ),
    state: db.prepare<[object]>(
      `INSERT INTO state (stream_id, seq, crc, body, whole) VALUES (@stream_id, @seq, @crc, @body, @whole)
       ON CONFLICT (stream_id) DO UPDATE SET seq = excluded.seq, crc = excluded.crc, body = excluded.body,
       whole = excluded.whole WHERE excluded.seq > seq`,
    ),
    boot: db.prepare(`INSERT OR IGNORE INTO boot (stream_id, boot, offset_ms, uncertain, sum) VALUES (?, ?, ?, ?, ?)`),
    origin: db.prepare(`INSERT OR IGNORE INTO origin (stream_id, booth_id, created_at, sum) VALUES (?, ?, ?, ?)`),
    fork: db.prepare(
      `INSERT INTO fork (stream_id, from_seq, sum) VALUES (?, ?, ?)
       ON CONFLICT (stream_id) DO UPDATE SET from_seq = excluded.from_seq, sum = excluded.sum
       WHERE excluded.from_seq > from_seq`,
    ),
    dead_letter: db.prepare(
      `INSERT INTO dead_letter (stream_id, seq, at, reason, record, declared, sum) VALUES (?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (stream_id, seq) DO UPDATE SET declared = excluded.declared, sum = excluded.sum
       WHERE excluded.declared > declared`,
    ),
    counts: db.prepare<[], { log_rows: number; facts: number }>(
      `SELECT (SELECT count(*) FROM log) AS log_rows, (SELECT count(*) FROM fact) AS facts`,
    ),
  };
}

interface Row {
  readonly stream_id: string;
  readonly first_seq: number;
  readonly last_seq: number;
}

/** Drops log rows whose records a chunk holds as well: pages that nobody uses any more still show them. */
export function dropNested(db: Database): void {
  const drop = db.prepare<[Row]>(`DELETE FROM log WHERE stream_id = @stream_id AND first_seq = @first_seq`);
  const rows = db
    .prepare<[], Row>(`SELECT stream_id, first_seq, last_seq FROM log ORDER BY stream_id, first_seq`)
    .all();
  let widest: Row | undefined;
  for (const row of rows) {
    if (widest?.stream_id === row.stream_id && row.last_seq <= widest.last_seq) drop.run(row);
    else widest = row;
  }
}
