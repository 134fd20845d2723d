import { closeSync, existsSync, fsyncSync, openSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { storePath } from "./open.ts";

/** Number of damaged files kept for inspection. Each may be as large as the budget. */
const KEPT_DAMAGED = 2;
const SUFFIXES = ["", "-wal", "-shm"] as const;

/** Returns the path at which a new store file is made. */
export function freshPath(dataDir: string): string {
  return `${storePath(dataDir)}.new`;
}

/** Returns the path of a new store file that is complete and synced. This file replaces the store, even after a crash. */
function readyPath(dataDir: string): string {
  return `${storePath(dataDir)}.renewed`;
}

/**
 * Makes the file at freshPath the next store once the disk has confirmed it. The file must be closed and have no write-ahead log. After
 * this call the old store must not be written. Throws if the disk refuses, and then changes nothing.
 */
export function readyFresh(dataDir: string): void {
  syncFile(freshPath(dataDir));
  try {
    renameSync(freshPath(dataDir), readyPath(dataDir));
    syncFile(dataDir);
  } catch (error) {
    rmSync(readyPath(dataDir), { force: true });
    throw error;
  }
}

/**
 * Replaces the closed store by the file at readyPath, if that exists. So it also completes a replacement that a crash interrupted. Keeps
 * the old store with its write-ahead log under another name, or deletes it. Returns the new path of the old store; null: it was deleted, or
 * there was none.
 */
export function finishReplacing(dataDir: string, keepOld: boolean): string | null {
  if (!existsSync(readyPath(dataDir))) return null;
  const path = storePath(dataDir);
  const aside = keepOld && existsSync(path) ? nextAside(dataDir) : null;
  for (const suffix of SUFFIXES) {
    if (aside !== null && suffix !== "-shm" && existsSync(path + suffix)) renameSync(path + suffix, aside + suffix);
    rmSync(path + suffix, { force: true });
  }
  renameSync(readyPath(dataDir), path);
  syncFile(dataDir);
  return aside;
}

/** Returns the paths of the damaged files kept for inspection, oldest first. */
export function damagedFiles(dataDir: string): readonly string[] {
  const pattern = /^store\.db\.damaged-(\d+)$/;
  return readdirSync(dataDir)
    .flatMap((name) => {
      const number = pattern.exec(name)?.[1];
      return number === undefined ? [] : [{ name, number: Number(number) }];
    })
    .sort((a, b) => a.number - b.number)
    .map(({ name }) => join(dataDir, name));
}

function nextAside(dataDir: string): string {
  const kept = damagedFiles(dataDir);
  for (const old of kept.slice(0, Math.max(0, kept.length - KEPT_DAMAGED + 1))) {
    for (const suffix of SUFFIXES) rmSync(old + suffix, { force: true });
  }
  const last = Number(kept.at(-1)?.split("-").at(-1) ?? 0);
  return `${storePath(dataDir)}.damaged-${last + 1}`;
}

/** Syncs a file, or the entries of a folder. */
export function syncFile(path: string): void {
  const file = openSync(path, "r");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
