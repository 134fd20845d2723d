import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Fold } from "../../src/store/facts/fold.ts";

/** A data folder's files as they lie on the disk. */
export type Image = ReadonlyMap<string, Buffer>;

/** SQLite makes the -shm file again: it is memory. */
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

/** Puts the files back as they were: letting go of a database tidies up, which neither a kill nor a power cut does. */
export function restore(folder: string, image: Image): void {
  for (const name of readdirSync(folder)) if (/\.db-/.test(name)) rmSync(join(folder, name));
  for (const [name, bytes] of image) writeFileSync(join(folder, name), bytes);
}

const SECTOR_BYTES = 512;

/**
 * A power cut during a commit, before it was reported as durable: each sector of the write-ahead log is the old or
 * the new one. Once the main file has been written to, the log is complete, and the main file's sectors are mixed.
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
  // The log's first sector holds its header, which is synced before anything follows it.
  for (let at = part === name ? 0 : SECTOR_BYTES; at < mixed.length; at += SECTOR_BYTES)
    if (random() < 0.5) copySector(from, mixed, at);
  return new Map([...after, [part, mixed]]);
}

/** Beyond the old file's end there was nothing. */
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

/** A fold in the midst of whose commits the disk fails, while `fault` says so: what was written of them is taken back. */
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
