import { rmSync } from "node:fs";
import type { Database, Statement } from "better-sqlite3";
import { openPages, PAGE_SIZES, type Pages, rowsOfPage, saidPageSize } from "./pages.ts";
import { isExport, rowsOfExport } from "../export.ts";
import { originsIn } from "../identity/identity.ts";
import type { LogRow } from "../log/rows.ts";
import { openWriter, storePath } from "../open.ts";
import type { StoreMade, StoreProgress } from "../port.ts";
import { finishReplacing, freshPath, readyFresh } from "../replace.ts";
import { columnsOf, foundIn, type Found, type FoundStream, type Table } from "./proven.ts";
import { type Known, settleStreams } from "./settle.ts";
import { prepareSchema } from "../schema.ts";

/** A file that is hurt as a whole, or brought from elsewhere. Nobody has the folder's store open. */
interface HurtFile {
  readonly dataDir: string;
  /** Absent: nothing is wrong with it, it is brought from elsewhere. */
  readonly reason?: string;
  /** Where the rows are: a store's file, or an export. Absent: the folder's own store. */
  readonly source?: string;
  /** Dates what is made. */
  readonly wall: () => number;
  readonly progress?: StoreProgress;
}

/** What was found in a file, and written into a new one. */
type Salvaged = Pick<Recovery, "pages" | "log_rows" | "facts" | "streams">;

/** A salvage that was carried out. */
export interface Recovery extends StoreMade {
  /** Of the file that was read; absent: it was an export. */
  readonly pages?: number;
  readonly reason?: string;
}

/** Pages between two words of progress. */
const PROGRESS_PAGES = 256;

/**
 * Reads every page of a damaged store file and of its write-ahead log by itself, whatever leads to it, or an export, and puts each row that
 * its own checksum proves into a new file, which takes the store's place. What is missing is noted for a gap record, and each
 * stream goes on under a new name, since nobody knows what the service was given under the lost seqs.
 */
export function salvage({ dataDir, reason, source, wall, progress = () => undefined }: HurtFile): Recovery {
  const origins = source === undefined ? originsIn(dataDir) : [];
  const salvaged = copied(source ?? storePath(dataDir), progress, (found) =>
    storeOf(found, freshPath(dataDir), { wall, origins }),
  );
  if (source !== undefined && salvaged.streams.length === 0) {
    throw new Error(`nothing in ${source} is a store's: it is no export and no backup`);
  }
  readyFresh(dataDir);
  const why = reason === undefined ? {} : { reason };
  return { ...salvaged, ...why, aside: finishReplacing(dataDir, true) };
}

function copied(source: string, progress: StoreProgress, make: (found: Iterable<Found>) => Salvaged): Salvaged {
  if (isExport(source)) return make(provenOf(source, progress));
  const pages = openPages(source, pageSizeOf(source));
  try {
    return { pages: pages.images, ...make(rowsIn(pages, progress)) };
  } finally {
    pages.close();
  }
}

/** An export says of itself that it is whole: each of its rows must be. */
function* provenOf(file: string, progress: StoreProgress): Generator<Found> {
  let row = 0;
  for (const cells of rowsOfExport(file, progress)) {
    const found = foundIn(cells);
    row += 1;
    if (found === undefined) throw new Error(`row ${row} of ${file} is damaged: take another copy`);
    yield found;
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
      return { page_bytes, rows: [...rowsIn({ ...pages, images: Math.min(pages.images, SAMPLE_PAGES) })].length };
    } finally {
      pages.close();
    }
  });
  return counts.reduce((best, one) => (one.rows > best.rows ? one : best)).page_bytes;
}

/** Makes a store of proven rows, wherever they come from, at `target`, which is replaced. */
function storeOf(found: Iterable<Found>, target: string, known: Known): Salvaged {
  for (const suffix of ["", "-wal", "-shm"]) rmSync(target + suffix, { force: true });
  const db = openWriter(target);
  try {
    prepareSchema(db);
    const newest = new Map<string, FoundStream>();
    const put = prepareInserts(db);
    db.transaction(() => {
      for (const row of found) gather(put, newest, row);
      dropNested(db);
    })();
    const streams = settleStreams(db, newest, known);
    db.pragma("wal_checkpoint(TRUNCATE)");
    const counts = db.prepare<[], { log_rows: number; facts: number }>(
      `SELECT (SELECT count(*) FROM log) AS log_rows, (SELECT count(*) FROM fact) AS facts`,
    );
    return { ...(counts.get() ?? { log_rows: 0, facts: 0 }), streams };
  } finally {
    db.close();
  }
}

/** The file's pages first, then those of its log in order: where several images hold a row, one of the earliest comes first. */
function* rowsIn(pages: Pages, progress?: StoreProgress): Generator<Found> {
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

/** `newest`: of each stream's own rows. */
function gather(put: Inserts, newest: Map<string, FoundStream>, { table, row }: Found): void {
  if (table !== "stream") {
    put[table].run(row);
    return;
  }
  const known = newest.get(row.stream_id);
  if (known === undefined || isLater(row, known)) newest.set(row.stream_id, row);
}

function isLater(row: FoundStream, known: FoundStream): boolean {
  const moves = ["newest_seq", "acked_seq", "oldest_seq", "facts_upto"] as const;
  const moved = moves.find((name) => row[name] !== known[name]);
  return moved !== undefined && row[moved] > known[moved];
}

/** Of several images of a row the one that came later is kept: placed after waiting, chunks after rows, replaced after standing. */
const COMES_LATER = {
  log: "excluded.placed > placed OR (excluded.placed = placed AND excluded.last_seq > last_seq)",
  fact: "excluded.replaced > replaced",
  state: "excluded.seq > seq",
  fork: "excluded.from_seq > from_seq",
  dead_letter: "excluded.declared > declared",
  // These are written once.
  boot: "FALSE",
  origin: "FALSE",
} as const;

type Inserts = Readonly<Record<keyof typeof COMES_LATER, Statement<[object]>>>;

function prepareInserts(db: Database): Inserts {
  const statements = Object.entries(COMES_LATER).map(([table, comesLater]) => {
    const names = columnsOf(table as Table);
    // A log row's body is empty; its checksum doesn't say so.
    const values = names.map((name) => (table === "log" && name === "body" ? "''" : `@${name}`));
    const later = names.map((name) => `${name} = excluded.${name}`);
    const insert = `INSERT INTO ${table} (${names.join(", ")}) VALUES (${values.join(", ")})`;
    return [table, db.prepare(`${insert} ON CONFLICT DO UPDATE SET ${later.join(", ")} WHERE ${comesLater}`)] as const;
  });
  return Object.fromEntries(statements) as Inserts;
}

type Row = Pick<LogRow, "stream_id" | "first_seq" | "last_seq">;

/** Drops log rows whose records a chunk holds as well: pages that nobody uses any more still show them. */
function dropNested(db: Database): void {
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
