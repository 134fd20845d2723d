import { statfsSync } from "node:fs";
import { dirname } from "node:path";
import type { Database } from "better-sqlite3";
import type { FileBudget } from "./budget.ts";

/** Of the file's pages, kept free for one commit: how much it needs can only be guessed, as where weeks of records get their facts at once. */
const RESERVES = [0, 1 / 8, 1 / 4, 1 / 2] as const;

/**
 * Makes a commit with more room each time, until it fits into the budget. Throws as the commit does where the disk itself has no
 * space: others have filled it, and what is stored isn't given up for them.
 */
export function untilItFits<T>(db: Database, file: FileBudget, commit: (reserve_pages: number) => T): T {
  for (const [index, reserve] of RESERVES.entries()) {
    const { most, page_bytes } = file.limits();
    try {
      return commit(Math.floor(reserve * most));
    } catch (error) {
      const isLast = index === RESERVES.length - 1;
      if (isLast || !isFull(error) || freeBytes(db.name) < most * page_bytes) throw error;
    }
  }
  throw new Error("a commit without a try");
}

/** Whether a write found no room, in the budget or on the disk. */
export function isFull(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "SQLITE_FULL";
}

function freeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(dirname(path));
  return bavail * bsize;
}
