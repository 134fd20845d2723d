import { closeSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import type { TakenEntry } from "../domain/taken.ts";
import type { StreamId, TakeNumber } from "../domain/units.ts";
import type { Tail } from "./port.ts";

/**
 * The tail file: one line per entry, "crc32 json". It lies on tmpfs: writing costs no flash and no wait, and what
 * write() has taken outlives the process. A line that fails its checksum is left out: the last one was cut short by a crash, one in
 * the midst is damage, and counted.
 */
export function openTail(runtimeDir: string): Tail {
  mkdirSync(runtimeDir, { recursive: true, mode: 0o750 });
  const path = join(runtimeDir, "tail.jsonl");
  const { entries: leftover, damaged } = readEntries(path);
  let lines: Line[] = [];
  let end = 0;
  const note = ({ stream, take }: TakenEntry, bytes: number): void => {
    lines.push({ stream, take, at: end, bytes });
    end += bytes;
  };
  const left = leftover.map((entry) => Buffer.from(lineOf(entry)));
  for (const [index, entry] of leftover.entries()) note(entry, left[index]?.length ?? 0);
  // Rewritten at once: a line cut short by a crash would make everything after it unreadable.
  let file = replaceWith(path, Buffer.concat(left));
  return {
    leftover: () => leftover,
    damaged: () => damaged,
    append(entry) {
      note(entry, writeSync(file, lineOf(entry)));
    },
    committed(stream, take) {
      lines = lines.filter((line) => line.stream !== stream || line.take > take);
      const kept = lines.reduce((sum, { bytes }) => sum + bytes, 0);
      // A committed line does no harm: what a start finds of it has no effect. So a long file isn't copied for a few of them.
      if (end === 0 || kept > end / 2) return;
      const all = readFileSync(path);
      closeSync(file);
      file = replaceWith(path, Buffer.concat(lines.map(({ at, bytes }) => all.subarray(at, at + bytes))));
      end = 0;
      lines = lines.map((line) => {
        const at = end;
        end += line.bytes;
        return { ...line, at };
      });
    },
    close() {
      closeSync(file);
    },
  };
}

/** Where an entry that no commit holds yet stands in the file. */
interface Line {
  readonly stream: StreamId;
  readonly take: TakeNumber;
  readonly at: number;
  readonly bytes: number;
}

function lineOf(entry: TakenEntry): string {
  const body = JSON.stringify(entry);
  return `${crc32(body).toString(16).padStart(8, "0")} ${body}\n`;
}

/** Makes a file that holds this, and puts it in the old one's place in one step. */
function replaceWith(path: string, content: Buffer): number {
  const fresh = `${path}.new`;
  const file = openSync(fresh, "w", 0o600);
  writeSync(file, content);
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
