import type { Database } from "better-sqlite3";

/**
 * The file is damaged beyond single rows: rows are hidden or out of order, or the stream's own row is wrong. What it holds has to
 * be salvaged into a new file. `code` is told to the main thread.
 */
export class StoreDamaged extends Error {
  readonly code = "DAMAGED";
}

/** A cell of another sort than its column: its row's checksum shows that too, and it costs that row alone. */
const CELL = /^(?:NULL|TEXT|NUMERIC|non-[A-Z]+) value in /;

/**
 * Asked before anything is written to pages that may have been hurt, and before a damaged row goes: where a pointer leads to another row's
 * pages, or into the list of free ones, these would be written over. Reads the whole file, 2 ms of CPU a megabyte (x86). Throws
 * StoreDamaged where its pages don't hold together.
 */
export function mustHoldTogether(db: Database): void {
  const verdict = String(db.pragma("quick_check(1)", { simple: true }));
  if (verdict === "ok" || CELL.test(verdict)) return;
  // SQLite says which database before what.
  throw new StoreDamaged(`the store is damaged: ${verdict.split("\n").at(1) ?? verdict}`);
}
