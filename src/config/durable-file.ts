import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Writes a file that only the agent's user can read, and makes its folder if it is missing. When the function returns, the file is on the
 * disk. After a power cut, the disk has either the old file or the new one. Throws the error of the file system.
 */
export function writeDurably(path: string, text: string): void {
  const folder = dirname(path);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const fresh = `${path}.new`;
  try {
    writeFileSync(fresh, text, { mode: 0o600, flush: true });
  } catch (error) {
    rmSync(fresh, { force: true });
    throw error;
  }
  replaceDurably(fresh, path);
}

/** Renames a file over another one, and makes the new name durable. */
export function replaceDurably(fresh: string, path: string): void {
  renameSync(fresh, path);
  const folder = openSync(dirname(path), "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
