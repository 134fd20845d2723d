import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Fold } from "../../src/store/facts/fold.ts";

/** The files of a data folder as stored on the disk. */
export type Image = ReadonlyMap<string, Buffer>;

/** SQLite recreates the -shm file, which is shared memory. */
function isOnDisk(name: string): boolean {
  return /\.db(-wal|-journal)?$/.test(name);
}

export function imageOf(folder: string): Image {
  return new Map(
    readdirSync(folder)
      .filter(isOnDisk)
      .map((name) => [name, readFileSync(join(folder, name))]),
  );
}

/** Restores the files. Closing a database changes them, which neither a kill nor a power cut does. */
export function restore(folder: string, image: Image): void {
  for (const name of readdirSync(folder)) if (/\.db-/.test(name)) rmSync(join(folder, name));
  for (const [name, bytes] of image) writeFileSync(join(folder, name), bytes);
}

const SECTOR_BYTES = 512;

/**
 * Simulates a power cut during a commit that wasn't yet reported as durable: each sector of the write-ahead log is old
 * or new. Once the main file has been written to, the log is complete, and the main file's sectors are mixed.
 */
export function torn(before: Image, after: Image, random: () => number): Image {
  const name = "store.db";
  const old = before.get(name);
  const fresh = after.get(name);
  const part = old !== undefined && fresh !== undefined && !old.equals(fresh) ? name : `${name}-wal`;
  const from = before.get(part) ?? Buffer.alloc(0);
  const to = after.get(part);
  if (to === undefined) return after;
  const mixed = Buffer.from(to);
  // The log's first sector contains its header, which is synced before anything after it.
  for (let at = part === name ? 0 : SECTOR_BYTES; at < mixed.length; at += SECTOR_BYTES)
    if (random() < 0.5) copySector(from, mixed, at);
  return new Map([...after, [part, mixed]]);
}

/** The old file ends before this position. */
function copySector(from: Buffer, to: Buffer, at: number): void {
  to.fill(0, at, Math.min(to.length, at + SECTOR_BYTES));
  if (at < from.length) from.copy(to, at, at, at + SECTOR_BYTES);
}

/** Flips one bit of the store; does nothing if there is no store. */
export function flipBit(folder: string, where: number): void {
  const path = join(folder, "store.db");
  if (!existsSync(path)) return;
  const bytes = readFileSync(path);
  const bit = Math.floor(where * bytes.length * 8);
  bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  writeFileSync(path, bytes);
}

/** SQLite's error codes for a failing disk. */
const CODES = { full: "SQLITE_FULL", io: "SQLITE_IOERR_WRITE", fsync: "SQLITE_IOERR_FSYNC" } as const;
export type DiskFault = keyof typeof CODES;

/**
 * A fold that throws in the middle of a commit while `fault` returns a disk fault, so that the commit is rolled back.
 */
export function failingFold(fold: Fold, fault: () => DiskFault | null): Fold {
  return {
    ...fold,
    step(state, record) {
      const now = fault();
      if (now !== null) throw Object.assign(new Error(`the simulated disk: ${now}`), { code: CODES[now] });
      return fold.step(state, record);
    },
  };
}
