import { closeSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import type { TakenEntry } from "../core/types/taken.ts";
import type { Tail } from "../ports.ts";

/**
 * The tail file: one line per entry, "crc32 json". It lies on tmpfs: writing costs no flash and no wait, and what
 * write() has taken outlives the process. A line that fails its checksum is left out: the last one was cut short by a crash, one in
 * the midst is damage, and counted.
 */
export function openTail(runtimeDir: string): Tail {
  mkdirSync(runtimeDir, { recursive: true, mode: 0o750 });
  const path = join(runtimeDir, "tail.jsonl");
  const { entries: leftover, damaged } = readEntries(path);
  let pending: TakenEntry[] = [...leftover];
  // Rewritten at once: a line cut short by a crash would make everything after it unreadable.
  let file = rewrite(path, pending);
  return {
    leftover: () => leftover,
    damaged: () => damaged,
    append(entry) {
      pending.push(entry);
      writeSync(file, lineOf(entry));
    },
    committed(stream, take) {
      pending = pending.filter((entry) => entry.stream !== stream || entry.take > take);
      closeSync(file);
      file = rewrite(path, pending);
    },
    close() {
      closeSync(file);
    },
  };
}

function lineOf(entry: TakenEntry): string {
  const body = JSON.stringify(entry);
  return `${crc32(body).toString(16).padStart(8, "0")} ${body}\n`;
}

/** Makes a file with the entries that no commit holds yet, and puts it in the old one's place in one step. */
function rewrite(path: string, entries: readonly TakenEntry[]): number {
  const fresh = `${path}.new`;
  const file = openSync(fresh, "w", 0o600);
  writeSync(file, entries.map(lineOf).join(""));
  renameSync(fresh, path);
  return file;
}

function readEntries(path: string): { readonly entries: TakenEntry[]; readonly damaged: number } {
  const entries: TakenEntry[] = [];
  let damaged = 0;
  const lines = readIfThere(path).split("\n");
  // Behind the last line's end nothing stands, or what a crash cut short.
  lines.pop();
  for (const line of lines) {
    const entry = entryIn(line);
    if (entry === undefined) damaged += 1;
    else entries.push(entry);
  }
  return { entries, damaged };
}

function entryIn(line: string): TakenEntry | undefined {
  const body = line.slice(9);
  if (line[8] !== " " || crc32(body).toString(16).padStart(8, "0") !== line.slice(0, 8)) return undefined;
  // The checksum holds, so the line is one that this agent wrote.
  return JSON.parse(body) as TakenEntry;
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return "";
    throw error;
  }
}
