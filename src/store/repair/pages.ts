import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import Database from "better-sqlite3";
import type { StoreProgress } from "../port.ts";
import type { Cell } from "../schema.ts";
import { PAGE_BYTES, readWal } from "../wal.ts";

/** Possible first bytes of a page with rows: an inner page or a leaf of a table WITHOUT ROWID. All tables of the store are of this kind. */
const ROW_PAGES: readonly unknown[] = [0x02, 0x0a];
/** Names for as many columns as the widest table has. If a row has fewer columns, the last values are NULL. */
const COLUMNS = Array.from({ length: 12 }, (_, index) => `c${index}`);
/** Number of pages between two calls of `progress`. */
const PROGRESS_PAGES = 256;

/**
 * Yields all rows in a store's file that SQLite can read, even if no path of pages leads to them: once from the file as it is, and once
 * with all commits of the write-ahead log. Works on a copy with a new first page, which declares one table for rows of any kind. Each page
 * in turn is made the root of that table, so that a lost header or inner page hides nothing. Yields a row several times, and also old
 * versions of it that SQLite hasn't overwritten yet.
 */
export function* rowsOfPages(path: string, copy: string, progress: StoreProgress): Generator<readonly Cell[]> {
  const { frames } = readWal(path);
  try {
    const head = firstPage(copy);
    copyFileSync(path, copy, constants.COPYFILE_FICLONE);
    // Makes the copy writable, because the copy of a read-only file is read-only.
    chmodSync(copy, 0o600);
    writePages(copy, [{ page: 1, image: head }]);
    yield* rowsOfCopy(copy, progress);
    if (frames.length === 0) return;
    writePages(copy, [...frames, { page: 1, image: head }]);
    yield* rowsOfCopy(copy, progress);
  } finally {
    rmSync(copy, { force: true });
  }
}

/** Returns the first page of a file with a single table for rows of any kind. The header has file size 0, so SQLite uses the real size. */
function firstPage(path: string): Buffer {
  rmSync(path, { force: true });
  const db = new Database(path);
  db.pragma(`page_size = ${PAGE_BYTES}`);
  db.exec(`CREATE TABLE found (${COLUMNS.join(", ")}, PRIMARY KEY (c0)) WITHOUT ROWID`);
  db.close();
  const page = readFileSync(path).subarray(0, PAGE_BYTES);
  page.writeUInt32BE(0, 28);
  return page;
}

function writePages(path: string, pages: Iterable<{ readonly page: number; readonly image: Buffer }>): void {
  const file = openSync(path, "r+");
  for (const { page, image } of pages) writeSync(file, image, 0, PAGE_BYTES, (page - 1) * PAGE_BYTES);
  closeSync(file);
}

function* rowsOfCopy(copy: string, progress: StoreProgress): Generator<readonly Cell[]> {
  const pages = Math.floor(statSync(copy).size / PAGE_BYTES);
  if (pages < 2) return;
  const db = new Database(copy).unsafeMode();
  const file = openSync(copy, "r");
  const type = Buffer.alloc(1);
  try {
    db.pragma("journal_mode = OFF");
    db.pragma("synchronous = OFF");
    for (let page = 2; page <= pages; page += 1) {
      if (page % PROGRESS_PAGES === 0) progress(page, pages);
      readSync(file, type, 0, 1, (page - 1) * PAGE_BYTES);
      if (!ROW_PAGES.includes(type[0])) continue;
      db.exec(
        `PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = ${page}; PRAGMA writable_schema = RESET`,
      );
      // Searches from both ends, because a damaged cell ends a search before the rows after it.
      for (const order of ["ASC", "DESC"]) if (yield* rowsBelow(db, order)) break;
    }
    progress(pages, pages);
  } finally {
    closeSync(file);
    db.close();
  }
}

/** Yields the rows below the root. Returns whether all of them could be read. */
function* rowsBelow(db: Database.Database, order: string): Generator<readonly Cell[], boolean> {
  try {
    for (const row of db.prepare(`SELECT * FROM found ORDER BY c0 ${order}`).raw().iterate()) {
      const cells = row as readonly Cell[];
      yield cells.slice(0, cells.findLastIndex((cell) => cell !== null) + 1);
    }
    return true;
  } catch (error) {
    if (error instanceof Database.SqliteError) return false;
    throw error;
  }
}
