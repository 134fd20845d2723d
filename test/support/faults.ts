import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import Database from "better-sqlite3";

const RESULTS = fileURLToPath(new URL("../results", import.meta.url));
/** Test files run in separate processes. Each process holds the lock for some milliseconds. */
const LOCK_TIMEOUT_MS = 10_000;

/** An exercised row of the fault matrix. */
export interface FaultEntry {
  /** Number of the row. */
  readonly row: number;
  readonly fault: string;
  /** Number of times that the test injected the fault. */
  readonly injected: number;
  readonly lost: number;
  readonly doubled: number;
  readonly wrong: number;
  readonly passed: boolean;
}

/** Writes the entry to test/results/faults.json. It replaces an earlier entry for the same row and fault. */
export function recordFault(entry: FaultEntry, folder: string = RESULTS): void {
  mkdirSync(folder, { recursive: true });
  // An exclusive transaction is a lock that the operating system releases when the process ends.
  const lock = new Database(join(folder, "faults.lock"), { timeout: LOCK_TIMEOUT_MS });
  try {
    lock.exec("BEGIN EXCLUSIVE");
    const file = join(folder, "faults.json");
    const others = readEntries(file).filter(({ row, fault }) => row !== entry.row || fault !== entry.fault);
    const entries = [...others, entry].sort((a, b) => a.row - b.row || (a.fault < b.fault ? -1 : 1));
    writeFileSync(`${file}.new`, `${JSON.stringify(entries, null, 2)}\n`);
    renameSync(`${file}.new`, file);
  } finally {
    lock.close();
  }
}

function readEntries(file: string): FaultEntry[] {
  try {
    // Only this module writes the file.
    return JSON.parse(readFileSync(file, "utf8")) as FaultEntry[];
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  }
}
