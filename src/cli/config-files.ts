import {
  closeSync,
  copyFileSync,
  existsSync,
  fchownSync,
  fsyncSync,
  openSync,
  renameSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";

/** The configuration as it was when it was last found in order. */
export function lastGoodOf(file: string): string {
  return `${file}.last-good`;
}

/** What a rollback put aside. */
export function replacedOf(file: string): string {
  return `${file}.replaced`;
}

/** Puts the text in the file's place, whole or not at all, with the file's own mode and owner; durable when it returns. */
export function replaceFile(file: string, text: string): void {
  const { mode, uid, gid } = statSync(file);
  const fresh = `${file}.new`;
  const open = openSync(fresh, "w", mode & 0o777);
  try {
    if (process.getuid?.() === 0) fchownSync(open, uid, gid);
    writeSync(open, text);
    fsyncSync(open);
  } finally {
    closeSync(open);
  }
  renameSync(fresh, file);
  syncFolder(file);
}

/** A copy, whole or not at all. */
export function copyWhole(from: string, to: string): void {
  const fresh = `${to}.new`;
  copyFileSync(from, fresh);
  renameSync(fresh, to);
  syncFolder(to);
}

/** Puts the last good one in the file's place; what stood there is kept beside it. */
export function rollBack(file: string): void {
  if (existsSync(file)) copyWhole(file, replacedOf(file));
  copyWhole(lastGoodOf(file), file);
}

function syncFolder(file: string): void {
  const folder = openSync(dirname(file), "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
