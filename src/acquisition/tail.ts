import { closeSync, mkdirSync, openSync, readSync, renameSync, truncateSync, writeSync } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import type { TakenEntry } from "../domain/taken.ts";
import type { StreamId, TakeNumber } from "../domain/units.ts";
import type { Tail } from "./port.ts";

/** Size of the pieces in which the file is read and copied, so that a start needs little memory, even if the file is long. */
const PIECE_BYTES = 1_048_576;
/** Size limit of a line. The agent never writes longer lines; such lines are not read into memory. */
const MAX_LINE_BYTES = 4 * 1_048_576;
const NEWLINE = 10;

/** A line that is not durable in the store yet. */
interface Line {
  at: number;
  readonly bytes: number;
  readonly stream: StreamId;
  readonly take: TakeNumber;
  /** True if an earlier process wrote the line. */
  readonly isLeftover: boolean;
}

/**
 * Opens the tail file, which has one line per entry: "crc32 json". The file is on a tmpfs: a write doesn't wear the flash and doesn't wait,
 * and a written line survives the process. Lines with a wrong checksum are skipped: an incomplete last line is the result of a crash, and
 * damaged lines before it are counted. Only the positions of uncommitted lines are in memory. After a commit, the file is rewritten
 * atomically as soon as at most half of it is uncommitted.
 */
export function openTail(runtimeDir: string): Tail {
  mkdirSync(runtimeDir, { recursive: true, mode: 0o750 });
  const path = join(runtimeDir, "tail.jsonl");
  /** Uncommitted lines in the order of the file. */
  let lines: Line[] = [];
  let file = openSync(path, "a+", 0o600);
  let end = 0;
  let damaged = 0;
  const add = ({ stream, take }: TakenEntry, bytes: number, isLeftover: boolean): void => {
    lines.push({ stream, take, at: end, bytes, isLeftover });
    end += bytes;
  };
  /** Copies the uncommitted lines to a new file, which atomically replaces the old file. */
  const rewrite = (): void => {
    const fresh = openSync(`${path}.new`, "w", 0o600);
    copyLines(lines, file, fresh);
    closeSync(fresh);
    renameSync(`${path}.new`, path);
    closeSync(file);
    file = openSync(path, "a+");
    end = 0;
    for (const line of lines) {
      line.at = end;
      end += line.bytes;
    }
  };
  for (const { bytes, text } of linesIn(file)) {
    const entry = text === null ? undefined : entryIn(text);
    if (entry !== undefined) add(entry, bytes, true);
    else {
      damaged += 1;
      end += bytes;
    }
  }
  // Removes a line that a crash cut short. Otherwise an entry appended to it would be unreadable.
  if (damaged > 0) rewrite();
  else truncateSync(path, end);
  return {
    leftover: (part) => {
      const left = lines.filter((line) => line.isLeftover && (part === undefined || line.stream === part.stream));
      const from = part === undefined ? 0 : left.findIndex(({ take }) => take > part.after);
      if (from === -1) return [];
      return left.slice(from, from + (part?.limit ?? left.length)).flatMap((line) => entryIn(textAt(file, line)) ?? []);
    },
    damaged: () => damaged,
    append(entries) {
      const texts = entries.map(lineOf);
      writeSync(file, texts.join(""));
      for (const [index, entry] of entries.entries()) add(entry, Buffer.byteLength(texts[index] ?? ""), false);
    },
    committed(stream, take) {
      lines = lines.filter((line) => line.stream !== stream || line.take > take);
      const kept = lines.reduce((sum, { bytes }) => sum + bytes, 0);
      // Rewrites the file only if enough of it is committed. Committed lines do no harm, because a start ignores them.
      if (end > 0 && kept <= end / 2) rewrite();
    },
    close() {
      closeSync(file);
    },
  };
}

/** Copies the lines to another file. Neighboring lines are copied together. */
function copyLines(lines: readonly Line[], from: number, to: number): void {
  const piece = Buffer.alloc(PIECE_BYTES);
  const copy = (start: number, stop: number): void => {
    for (let at = start; at < stop;) {
      const count = readSync(from, piece, 0, Math.min(piece.length, stop - at), at);
      if (count === 0) return;
      writeSync(to, piece, 0, count);
      at += count;
    }
  };
  let start = 0;
  let stop = 0;
  for (const { at, bytes } of lines) {
    if (at !== stop) {
      copy(start, stop);
      start = at;
    }
    stop = at + bytes;
  }
  copy(start, stop);
}

/** Reads every complete line of a file, in pieces. Ignores text after the last line break, because a crash cut it short. */
function* linesIn(file: number): Generator<{ readonly bytes: number; readonly text: string | null }> {
  const buffer = Buffer.alloc(PIECE_BYTES);
  let begun: Buffer[] = [];
  let begunBytes = 0;
  for (let read = 0; ;) {
    const piece = buffer.subarray(0, readSync(file, buffer, 0, PIECE_BYTES, read));
    if (piece.length === 0) return;
    read += piece.length;
    let from = 0;
    for (let stop = piece.indexOf(NEWLINE); stop !== -1; stop = piece.indexOf(NEWLINE, from)) {
      const bytes = begunBytes + stop + 1 - from;
      const isOurs = bytes <= MAX_LINE_BYTES;
      yield { bytes, text: isOurs ? Buffer.concat([...begun, piece.subarray(from, stop)]).toString("utf8") : null };
      from = stop + 1;
      begun = [];
      begunBytes = 0;
    }
    begunBytes += piece.length - from;
    if (begunBytes > MAX_LINE_BYTES) begun = [];
    else begun.push(Buffer.from(piece.subarray(from)));
  }
}

function textAt(file: number, { at, bytes }: Line): string {
  const line = Buffer.alloc(bytes);
  readSync(file, line, 0, bytes, at);
  return line.subarray(0, -1).toString("utf8");
}

function checksumOf(body: string): string {
  return crc32(body).toString(16).padStart(8, "0");
}

function lineOf(entry: TakenEntry): string {
  const body = JSON.stringify(entry);
  return `${checksumOf(body)} ${body}\n`;
}

function entryIn(line: string): TakenEntry | undefined {
  const body = line.slice(9);
  if (line[8] !== " " || checksumOf(body) !== line.slice(0, 8)) return undefined;
  // Casts without a check, because the right checksum proves that this agent wrote the line.
  return JSON.parse(body) as TakenEntry;
}
