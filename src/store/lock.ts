import { mkdirSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";

/** Another agent runs on the same data folder. */
export class FolderInUse extends Error {}

/**
 * Takes a data folder for this process alone: two writers would spoil each other's log. The lock is an open exclusive
 * transaction on a file of its own, which the kernel ends with the process, however it ends. Throws FolderInUse; else as the disk does.
 */
export function lockFolder(dataDir: string): { release(): void } {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const db = new Database(join(dataDir, "agent.lock"), { timeout: 0 });
  try {
    db.exec("BEGIN EXCLUSIVE");
  } catch (cause) {
    db.close();
    // The disk lets nobody write: whether another runs can't be told by this.
    if (!(cause instanceof Database.SqliteError) || cause.code !== "SQLITE_BUSY") throw cause;
    throw new FolderInUse(`another agent runs on ${dataDir}: stop it first, or give this one a data_dir of its own`, {
      cause,
    });
  }
  return { release: () => db.close() };
}
