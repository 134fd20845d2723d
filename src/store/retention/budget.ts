import type { Database, Statement } from "better-sqlite3";
import type { StoreBudget } from "../../domain/storage.ts";
import { statfsSync } from "node:fs";
import { dirname } from "node:path";

/** The write-ahead log is folded back after this many pages at most; a small budget takes a 16th of its own. */
const WAL_PAGES = 1_000;
/** Of the pages left beside the WAL: from here on room is made, down to there. What is between bounds how often. */
const HIGH_MARK = 15 / 16;
const LOW_MARK = 14 / 16;

/** In pages. */
export interface Limits {
  /** Room is made when more are in use. */
  readonly high: number;
  readonly low: number;
  /** SQLite refuses to grow beyond. */
  readonly most: number;
  readonly page_bytes: number;
}

/** The byte budget of one store file: that of a booth times the booths it holds. */
export interface FileBudget {
  readonly budget: StoreBudget;
  limits(): Limits;
  usedPages(): number;
  /** After a booth has been added. */
  refresh(): void;
}

/**
 * Sets the file's bounds. A WAL is let grow to three times its checkpoint, since one large commit, or a reader that holds the
 * checkpoint up, comes on top. A file that is already larger than the budget doesn't shrink: what is freed in it is used again.
 */
export function fileBudget(db: Database, budget: StoreBudget): FileBudget {
  const booths: Statement<[], { booths: number }> = db.prepare("SELECT count(DISTINCT booth_id) AS booths FROM stream");
  const used: Statement<[], { used: number }> = db.prepare(
    "SELECT page_count - freelist_count AS used FROM pragma_page_count, pragma_freelist_count",
  );
  const page_bytes = Number(db.pragma("page_size", { simple: true }));
  const set = (): Limits => {
    const pages = Math.floor((budget.max_bytes * Math.max(1, booths.get()?.booths ?? 1)) / page_bytes);
    const wal = Math.min(WAL_PAGES, Math.max(8, pages >> 4));
    const most = pages - 3 * wal;
    db.pragma(`wal_autocheckpoint = ${wal.toString()}`);
    db.pragma(`max_page_count = ${most.toString()}`);
    return { most, high: Math.floor(most * HIGH_MARK), low: Math.floor(most * LOW_MARK), page_bytes };
  };
  let limits = set();
  return {
    budget,
    limits: () => limits,
    usedPages: () => used.get()?.used ?? 0,
    refresh: () => {
      limits = set();
    },
  };
}

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
