import Database from "better-sqlite3";
import { chmodSync, existsSync, mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { isWholeState, type StateRow } from "./log/rows.ts";
import { prepareSchema, SCHEMA_VERSION, schemaOf, schemaText, schemaTextMadeBy } from "./schema.ts";
import { PAGE_BYTES, readWal } from "./wal.ts";

/** Time for which SQLite waits for a reader that holds a lock. There is only one writer. */
const BUSY_TIMEOUT_MS = 5_000;
/** Number of pages in the write-ahead log after which a commit checkpoints. The file is reused and not truncated, to spare the flash. */
const WAL_AUTOCHECKPOINT_PAGES = 1_000;
/** Size up to which a whole file is checked at the start, while polls wait. Larger files are checked later. */
const WHOLE_LOOK_BYTES = 64_000_000;

/**
 * An error: the file is damaged beyond single rows. Rows are hidden or out of order, or the row of a stream itself is wrong. The content
 * must be salvaged into a new file. `code` is sent to the main thread.
 */
export class StoreDamaged extends Error {
  readonly code = "DAMAGED";
}

export function storePath(dataDir: string): string {
  return join(dataDir, "store.db");
}

/**
 * Opens a database of the store for writing. Uses synchronous=FULL, because NORMAL loses acknowledged commits at a power cut. Throws if the
 * folder can't be created or the file can't be opened.
 */
export function openWriter(path: string): Database.Database {
  const db = new Database(path, { timeout: BUSY_TIMEOUT_MS });
  db.pragma(`page_size = ${PAGE_BYTES}`);
  db.pragma("journal_mode = WAL");
  db.pragma("synchronous = FULL");
  db.pragma("foreign_keys = ON");
  db.pragma(`wal_autocheckpoint = ${WAL_AUTOCHECKPOINT_PAGES}`);
  db.pragma("trusted_schema = OFF");
  chmodSync(path, 0o600);
  return db;
}

/** Opens the log store of a data folder for writing, with its tables. Throws if an agent with another schema wrote the file. */
export function openStoreFile(dataDir: string): Database.Database {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const db = openWriter(storePath(dataDir));
  prepareSchema(db);
  return db;
}

/**
 * Checks the store's file, then opens the store. Throws StoreDamaged if the file is damaged. Throws without changing the file if an agent
 * with another schema wrote it. Rethrows errors of the disk.
 */
export function openSound(dataDir: string): Database.Database {
  try {
    const { end } = readWal(storePath(dataDir));
    if (end === "hurt") {
      throw new StoreDamaged("the store is damaged: its write-ahead log breaks off before commits that it holds");
    }
    mustBeOurs(storePath(dataDir));
    const db = checked(openStoreFile(dataDir));
    // Removes an incomplete commit from the log. After a shorter new commit, its remains would look like damage.
    if (end === "torn") db.pragma("wal_checkpoint(TRUNCATE)");
    return db;
  } catch (error) {
    // Treats a failed statement as damage, because SQLite got only fixed statements, which only a damaged file can make fail.
    const isDamage = error instanceof Database.SqliteError && !NOT_THE_FILE.test(error.code);
    throw isDamage ? new StoreDamaged(error.message, { cause: error }) : error;
  }
}

/** SQLite's codes for errors that the disk or the system causes, not the file. */
const NOT_THE_FILE = /^SQLITE_(IOERR(?!_SHORT_READ)|FULL|READONLY|CANTOPEN|BUSY|LOCKED|NOMEM|PERM|AUTH|INTERRUPT)/;

/** Checks an open file and returns it. Closes the file if it is damaged. */
function checked(db: Database.Database): Database.Database {
  try {
    if (schemaText(db) !== ownSchema()) {
      throw new StoreDamaged("the store is damaged: its tables aren't as they were made");
    }
    const states = db.prepare<[], StateRow>("SELECT * FROM state").all();
    if (!states.every(isWholeState) || statSync(db.name).size <= WHOLE_LOOK_BYTES) mustHoldTogether(db);
    for (const table of ["stream", "state", "boot", "origin", "fork", "quarantine", "due", "base", "dead_letter"]) {
      const verdict = db.pragma(`quick_check('${table}')`, { simple: true });
      if (verdict !== "ok") throw new StoreDamaged(`the store is damaged: ${table}: ${String(verdict)}`);
    }
    if (db.prepare(DAMAGED_SMALL).get() !== undefined) {
      throw new StoreDamaged(
        "the store is damaged: a stream's row is gone, or that of a stream, a boot, an origin or of what was set aside doesn't fit its checksum",
      );
    }
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** SQLite's message about a cell with another type than its column. The row's checksum detects that too, and only that row is lost. */
export const CELL_PROBLEM = /^(?:NULL|TEXT|NUMERIC|non-[A-Z]+) value in /;

/** Returns the problems of the file's pages, tables and indexes, in SQLite's words. */
export function pageProblems(db: Database.Database): readonly string[] {
  const verdicts = db.prepare<[], string>("PRAGMA integrity_check(20)").pluck().all();
  return verdicts.filter((verdict) => verdict !== "ok");
}

/**
 * Throws StoreDamaged if pages or tables of the file are damaged. Reads the whole file, 2 ms of CPU per megabyte (x86). To be called before
 * writing to pages that may be damaged, and before deleting a damaged row: a wrong pointer could make SQLite overwrite pages of other rows.
 */
export function mustHoldTogether(db: Database.Database): void {
  const verdict = String(db.pragma("quick_check(1)", { simple: true }));
  if (verdict === "ok" || CELL_PROBLEM.test(verdict)) return;
  // Skips SQLite's first line, which only names the database.
  throw new StoreDamaged(`the store is damaged: ${verdict.split("\n").at(1) ?? verdict}`);
}

/**
 * Finds damaged rows of the small tables, which no other check finds. If a stream's row is missing or names another booth, the stream's log
 * would be ignored, and the booth would get a new log.
 */
const DAMAGED_SMALL = `SELECT 1 FROM stream
    WHERE sum <> row_sum(stream_id, booth_id, newest_seq, acked_seq, last_take, oldest_seq, facts_upto)
  UNION ALL SELECT 1 FROM origin WHERE stream_id NOT IN (SELECT stream_id FROM stream)
    AND EXISTS (SELECT 1 FROM log WHERE log.stream_id = origin.stream_id)
  UNION ALL SELECT 1 FROM boot WHERE sum <> row_sum(stream_id, boot, offset_ms, uncertain)
  UNION ALL SELECT 1 FROM origin WHERE sum <> row_sum(stream_id, booth_id, created_at)
  UNION ALL SELECT 1 FROM dead_letter WHERE sum <> row_sum(stream_id, seq, at, reason, record, declared)
  UNION ALL SELECT 1 FROM fork WHERE sum <> row_sum(stream_id, from_seq) LIMIT 1`;

/**
 * Throws StoreDamaged if the file has another schema version but this agent's tables. An agent with another schema would have changed both.
 */
function mustBeOurs(path: string): void {
  if (!existsSync(path)) return;
  const db = new Database(path, { fileMustExist: true });
  try {
    const version = schemaOf(db);
    if (version !== SCHEMA_VERSION && schemaText(db) === ownSchema()) {
      throw new StoreDamaged(`the store is damaged: its version says ${version}, its tables don't`);
    }
  } finally {
    db.close();
  }
}

let schemaOfOurs: string | undefined;

function ownSchema(): string {
  return (schemaOfOurs ??= schemaTextMadeBy(prepareSchema));
}

/** An error: another agent runs on the same data folder. */
export class FolderInUse extends Error {}

/**
 * Locks a data folder for this process, because two writers would corrupt each other's log. The lock is an exclusive transaction on a
 * separate file, which the kernel releases when the process ends. Throws FolderInUse, or the disk's errors.
 */
export function lockFolder(dataDir: string): { release(): void } {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const db = new Database(join(dataDir, "agent.lock"), { timeout: 0 });
  try {
    db.exec("BEGIN EXCLUSIVE");
  } catch (cause) {
    db.close();
    // Rethrows all errors but SQLITE_BUSY. On a read-only disk, for example, the error doesn't show whether another agent is running.
    if (!(cause instanceof Database.SqliteError) || cause.code !== "SQLITE_BUSY") throw cause;
    throw new FolderInUse(`another agent runs on ${dataDir}: stop it first, or give this one a data_dir of its own`, {
      cause,
    });
  }
  return { release: () => db.close() };
}
