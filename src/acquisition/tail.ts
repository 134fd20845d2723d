import { closeSync, mkdirSync, openSync, readSync, renameSync, truncateSync, writeSync } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import type { TakenEntry } from "../domain/taken.ts";
import type { StreamId } from "../domain/units.ts";
import type { Tail } from "./port.ts";

/** The file is read and copied in pieces of this size, so that a start needs little memory however long the file is. */
const PIECE_BYTES = 1_048_576;
/** Longer than any line that the agent writes. Nothing that is longer is read into memory. */
const MAX_LINE_BYTES = 4 * 1_048_576;
const NEWLINE = 10;

/** The lines of one stream that no commit holds yet, as parallel lists: millions of lines take 24 bytes each. */
interface Lines {
  takes: number[];
  ats: number[];
  bytes: number[];
  /** The first line that isn't committed. */
  first: number;
  /** Lines before this one were left by an earlier process. */
  left: number;
}

/**
 * Opens the tail file: one line per entry, "crc32 json". The file lies on a tmpfs: a write costs no flash and no wait, and a written
 * line outlives the process. A line that fails its checksum is skipped: the last one was cut short by a crash, one in the middle is
 * damage, and counted. In memory are only the places of the lines.
 */
export function openTail(runtimeDir: string): Tail {
  mkdirSync(runtimeDir, { recursive: true, mode: 0o750 });
  const path = join(runtimeDir, "tail.jsonl");
  const streams = new Map<StreamId, Lines>();
  let file = openSync(path, "a+", 0o600);
  let kept = 0;
  let end = 0;
  let damaged = 0;
  const note = ({ stream, take }: TakenEntry, at: number, bytes: number): void => {
    const own = streams.get(stream) ?? { takes: [], ats: [], bytes: [], first: 0, left: 0 };
    streams.set(stream, own);
    own.takes.push(take);
    own.ats.push(at);
    own.bytes.push(bytes);
    kept += bytes;
  };
  /** Copies the lines that no commit holds into a new file, which replaces the old one in one step. */
  const rewrite = (): void => {
    const fresh = openSync(`${path}.new`, "w", 0o600);
    end = copyLines(streams, file, fresh);
    closeSync(fresh);
    renameSync(`${path}.new`, path);
    closeSync(file);
    file = openSync(path, "a+");
  };
  for (const { at, bytes, text } of linesIn(file)) {
    const entry = text === null ? undefined : entryIn(text);
    if (entry === undefined) damaged += 1;
    else note(entry, at, bytes);
    end = at + bytes;
  }
  for (const own of streams.values()) own.left = own.takes.length;
  // A line that a crash cut short would make what is appended to it unreadable.
  if (damaged > 0) rewrite();
  else truncateSync(path, end);
  return {
    leftover: (part) => leftIn(streams, part).flatMap(({ at, bytes }) => entryIn(textAt(file, at, bytes)) ?? []),
    damaged: () => damaged,
    append(entries) {
      const texts = entries.map(lineOf);
      writeSync(file, texts.join(""));
      for (const [index, entry] of entries.entries()) {
        const bytes = Buffer.byteLength(texts[index] ?? "");
        note(entry, end, bytes);
        end += bytes;
      }
    },
    committed(stream, take) {
      const own = streams.get(stream);
      if (own === undefined) return;
      for (; (own.takes[own.first] ?? Infinity) <= take; own.first += 1) kept -= own.bytes[own.first] ?? 0;
      // A committed line does no harm: what a start finds of it has no effect. So a long file isn't copied for a few of them.
      if (end > 0 && kept <= end / 2) rewrite();
    },
    close() {
      closeSync(file);
    },
  };
}

interface Place {
  readonly at: number;
  readonly bytes: number;
}

/** The places of lines that an earlier process left: of all streams, or the first ones of a stream after a take. */
function leftIn(streams: ReadonlyMap<StreamId, Lines>, part: Parameters<Tail["leftover"]>[0]): readonly Place[] {
  if (part === undefined) {
    const places = [...streams.values()].flatMap((own) => placesOf(own, own.first, own.left));
    return places.sort((one, other) => one.at - other.at);
  }
  const own = streams.get(part.stream);
  if (own === undefined) return [];
  let from = own.first;
  while (from < own.left && (own.takes[from] ?? Infinity) <= part.after) from += 1;
  return placesOf(own, from, Math.min(own.left, from + part.limit));
}

function placesOf({ ats, bytes }: Lines, from: number, to: number): readonly Place[] {
  return ats.slice(from, Math.max(from, to)).map((at, index) => ({ at, bytes: bytes[from + index] ?? 0 }));
}

/** Copies each stream's lines that aren't committed, in the order of the file, and notes their new places. Returns the new length. */
function copyLines(streams: Map<StreamId, Lines>, from: number, to: number): number {
  const all = [...streams.values()];
  for (const own of all) {
    own.left = Math.max(0, own.left - own.first);
    own.takes = own.takes.slice(own.first);
    own.ats = own.ats.slice(own.first);
    own.bytes = own.bytes.slice(own.first);
    own.first = 0;
  }
  const heads = all.map((own) => ({ own, next: 0 }));
  const nextAt = ({ own, next }: (typeof heads)[number]): number => own.ats[next] ?? Infinity;
  const run = { at: 0, bytes: 0 };
  let end = 0;
  for (;;) {
    const head = heads.reduce<(typeof heads)[number] | null>(
      (least, one) => (least === null || nextAt(one) < nextAt(least) ? one : least),
      null,
    );
    const at = head === null ? Infinity : nextAt(head);
    if (at !== run.at + run.bytes) {
      copyPart(from, to, run);
      Object.assign(run, { at, bytes: 0 });
    }
    if (head === null || at === Infinity) return end;
    const bytes = head.own.bytes[head.next] ?? 0;
    head.own.ats[head.next] = end;
    head.next += 1;
    run.bytes += bytes;
    end += bytes;
  }
}

function copyPart(from: number, to: number, { at, bytes }: Place): void {
  const piece = Buffer.alloc(Math.min(bytes, PIECE_BYTES));
  for (let done = 0; done < bytes;) {
    const count = readSync(from, piece, 0, Math.min(piece.length, bytes - done), at + done);
    if (count === 0) return;
    writeSync(to, piece, 0, count);
    done += count;
  }
}

interface Line extends Place {
  /** null: the line is too long to be one of ours. */
  readonly text: string | null;
}

/** Every complete line of a file, read in pieces. What follows the last line's end is left out: a crash cut it short. */
function* linesIn(file: number): Generator<Line> {
  const buffer = Buffer.alloc(PIECE_BYTES);
  let begun: Buffer[] = [];
  let begunBytes = 0;
  let at = 0;
  for (let read = 0; ;) {
    const piece = buffer.subarray(0, readSync(file, buffer, 0, PIECE_BYTES, read));
    if (piece.length === 0) return;
    read += piece.length;
    let from = 0;
    for (let stop = piece.indexOf(NEWLINE); stop !== -1; stop = piece.indexOf(NEWLINE, from)) {
      const bytes = begunBytes + stop + 1 - from;
      const isOurs = bytes <= MAX_LINE_BYTES;
      yield { at, bytes, text: isOurs ? Buffer.concat([...begun, piece.subarray(from, stop)]).toString("utf8") : null };
      at += bytes;
      from = stop + 1;
      begun = [];
      begunBytes = 0;
    }
    begunBytes += piece.length - from;
    if (begunBytes > MAX_LINE_BYTES) begun = [];
    else begun.push(Buffer.from(piece.subarray(from)));
  }
}

function textAt(file: number, at: number, bytes: number): string {
  const line = Buffer.alloc(bytes);
  readSync(file, line, 0, bytes, at);
  return line.subarray(0, -1).toString("utf8");
}

function lineOf(entry: TakenEntry): string {
  const body = JSON.stringify(entry);
  return `${crc32(body).toString(16).padStart(8, "0")} ${body}\n`;
}

function entryIn(line: string): TakenEntry | undefined {
  const body = line.slice(9);
  if (line[8] !== " " || crc32(body).toString(16).padStart(8, "0") !== line.slice(0, 8)) return undefined;
  // The checksum holds, so the line is one that this agent wrote.
  return JSON.parse(body) as TakenEntry;
}
