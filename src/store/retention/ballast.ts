import { randomFillSync } from "node:crypto";
import { closeSync, fsyncSync, openSync, renameSync, rmSync, statfsSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";

/** Days of a booth's readings, at what a commit needs. */
export const BALLAST_BYTES = 4_000_000;
/** So much must be free beside it before it is made again: otherwise it would fill the disk itself. */
const FREE_FACTOR = 4;
const CHUNK_BYTES = 500_000;

/** A file that only takes space, for the day when others have filled the disk: removing it lets commits go on. */
export interface Ballast {
  isThere(): boolean;
  /** False: there was none, or the disk isn't full. */
  release(): boolean;
  /** Makes it where there is space enough. Never throws: without it everything goes on. */
  restore(): void;
}

/** `bytes` 0: none is kept. */
export function openBallast(dataDir: string, bytes: number): Ballast {
  const path = join(dataDir, "ballast");
  const isThere = (): boolean => sizeOf(path) >= bytes;
  return {
    isThere,
    release() {
      if (bytes === 0 || sizeOf(path) === 0 || freeBytes(dataDir) > bytes) return false;
      rmSync(path, { force: true });
      return true;
    },
    restore() {
      try {
        if (!isThere() && freeBytes(dataDir) > FREE_FACTOR * bytes) make(path, bytes);
      } catch (error) {
        // No space, no right: what it was for has come. It is tried again later, and status says that it isn't there.
        rmSync(`${path}.new`, { force: true });
        if (!(error instanceof Error && "code" in error)) throw error;
      }
    },
  };
}

/** Random bytes: a file system that compresses would keep zeros for nothing. */
function make(path: string, bytes: number): void {
  const file = openSync(`${path}.new`, "w", 0o600);
  try {
    for (let left = bytes; left > 0; left -= CHUNK_BYTES) {
      writeSync(file, randomFillSync(Buffer.alloc(Math.min(left, CHUNK_BYTES))));
    }
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(`${path}.new`, path);
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function freeBytes(dataDir: string): number {
  const { bavail, bsize } = statfsSync(dataDir);
  return bavail * bsize;
}
