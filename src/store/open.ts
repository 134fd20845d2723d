import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { prepareSchema } from "./schema.ts";

/** SQLite waits this long for a reader that holds a lock; the only writer never meets another writer. */
const BUSY_TIMEOUT_MS = 5_000;
/**
 * Of new files. A commit changes few bytes in few pages: with 512 bytes a page the store of 60 tags at 1 Hz, committed every
 * 10 s, made a device write 74 MB a day, with 1,024 105, with 2,048 114, with 4,096 158 (npm run bench store). The price: a
 * fact needs a page of overflow, 640 bytes in all where 2,048 need 365.
 */
const PAGE_BYTES = 512;
/** Pages of WAL after which a commit checkpoints; the file is reused, not truncated, to spare flash. */
const WAL_AUTOCHECKPOINT_PAGES = 1_000;

export function storePath(dataDir: string): string {
  return join(dataDir, "store.db");
}

/**
 * Opens a database of the store for writing. synchronous=FULL: NORMAL loses acknowledged commits at a power cut.
 * Throws when the folder can't be made or the file can't be opened.
 */
export function openWriter(path: string): Database.Database {
  const db = new Database(path, { timeout: BUSY_TIMEOUT_MS });
  db.pragma(`page_size = ${PAGE_BYTES.toString()}`);
  db.pragma("journal_mode = WAL");
  db.pragma("synchronous = FULL");
  db.pragma("foreign_keys = ON");
  db.pragma(`wal_autocheckpoint = ${WAL_AUTOCHECKPOINT_PAGES.toString()}`);
  db.pragma("trusted_schema = OFF");
  chmodSync(path, 0o600);
  return db;
}

/** Opens the log store of a data folder for writing, with its tables; throws where an agent of another schema wrote it. */
export function openStoreFile(dataDir: string): Database.Database {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const db = openWriter(storePath(dataDir));
  prepareSchema(db);
  return db;
}
