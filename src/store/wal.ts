import { closeSync, existsSync, fstatSync, openSync, readSync } from "node:fs";

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
/** The last bit says in which order the checksum takes a word's bytes. */
const MAGIC = 0x377f0682;

/** An image of a page in the write-ahead log. */
export interface Frame {
  readonly page: number;
  /** Of the image, in the log's file. */
  readonly at: number;
}

export interface WalContent {
  /** Of the pages; 0: there is no log, or its head is gone. */
  readonly page_bytes: number;
  /** Up to the last commit of the present round, whether or not SQLite would still find the way to it. */
  readonly frames: readonly Frame[];
  /**
   * Whether SQLite finds its way to the end. "torn": it stops in the last commit, as after a power cut that came before that commit was
   * confirmed, so that nothing durable is missing. "hurt": it stops at a frame that rot spoilt, or before several commits, of which
   * all but the last had been confirmed: they would be lost without a word.
   */
  readonly end: "whole" | "torn" | "hurt";
}

const NOTHING: WalContent = { page_bytes: 0, frames: [], end: "whole" };

/** Reads a database's write-ahead log as SQLite does at its recovery, and what stands behind the point where that ends. */
export function readWal(path: string, expected_page_bytes = 0): WalContent {
  if (!existsSync(`${path}-wal`)) return NOTHING;
  const file = openSync(`${path}-wal`, "r");
  try {
    return contentOf(file, expected_page_bytes);
  } finally {
    closeSync(file);
  }
}

interface Sum {
  readonly a: number;
  readonly b: number;
}

interface Way {
  readonly file: number;
  readonly page_bytes: number;
  readonly salt: Buffer;
  readonly start: Sum;
  readonly bigEndian: boolean;
}

interface Seen extends Frame {
  readonly isCommit: boolean;
  readonly hasSalt: boolean;
  /** Its checksum goes on from all before it. */
  readonly fits: boolean;
  /** Of all before it, as long as they fit. */
  readonly before: Sum;
}

function contentOf(file: number, expected_page_bytes: number): WalContent {
  const head = Buffer.alloc(HEADER_BYTES);
  if (readSync(file, head, 0, HEADER_BYTES, 0) < HEADER_BYTES) return NOTHING;
  const magic = head.readUInt32BE(0);
  const bigEndian = (magic & 1) === 1;
  const start = sumOf(head.subarray(0, 24), { a: 0, b: 0 }, bigEndian);
  const isHeadWhole = magic >>> 1 === MAGIC >>> 1 && sumAt(head, 24, start);
  const page_bytes = isHeadWhole ? head.readUInt32BE(8) : expected_page_bytes;
  if (page_bytes === 0) return { ...NOTHING, end: fstatSync(file).size > HEADER_BYTES ? "hurt" : "whole" };
  const salt = isHeadWhole ? head.subarray(16, 24) : bytesAt(file, HEADER_BYTES + 8, 8);
  const way = { file, page_bytes, salt, start, bigEndian };
  const seen = [...framesIn(way)];
  const stop = isHeadWhole ? seen.findIndex(({ fits, hasSalt }) => !fits || !hasSalt) : 0;
  const commits = seen.map(({ isCommit, hasSalt, fits }) => isCommit && (hasSalt || fits));
  const frames = seen.slice(0, commits.lastIndexOf(true) + 1);
  if (stop < 0) return { page_bytes, frames, end: "whole" };
  const behind = commits.slice(stop).filter((isOne) => isOne).length;
  const isRot = isHeadWhole ? isOneBitOff(way, seen[stop]) : behind > 0;
  if (isRot || behind > 1) return { page_bytes, frames, end: "hurt" };
  return { page_bytes, frames, end: behind === 1 ? "torn" : "whole" };
}

/**
 * Whether the way would lead on to a commit but for one bit of a frame. A power cut leaves whole sectors as they were before, rot
 * a bit or two. The head of a log is written and confirmed before any frame, so that no power cut spoils it.
 */
function isOneBitOff(way: Way, at: Seen | undefined): boolean {
  if (at === undefined) return false;
  const frame = frameAt(way, at.at);
  for (let bit = 0; bit < frame.length * 8; bit += 1) {
    flip(frame, bit);
    // Several bits may make the weak checksum fit: the rest of the way tells which is the one.
    if (leadsToCommit(way, frame, at)) return true;
    flip(frame, bit);
  }
  return false;
}

/** From a frame put right, over those after it that fit. */
function leadsToCommit(way: Way, frame: Buffer, at: Seen): boolean {
  let sum = sumIfRight(frame, way, at.before);
  for (let next = frame, from = at.at; sum !== null && next.length > 0;) {
    if (isCommitFrame(next)) return true;
    from += frame.length;
    next = frameAt(way, from);
    sum = next.length > 0 ? sumIfRight(next, way, sum) : null;
  }
  return false;
}

/** The frame whose image stands there, with its header; empty: the file ends before. */
function frameAt({ file, page_bytes }: Way, image: number): Buffer {
  const frame = Buffer.alloc(FRAME_HEADER_BYTES + page_bytes);
  const length = readSync(file, frame, 0, frame.length, image - FRAME_HEADER_BYTES);
  return length < frame.length ? Buffer.alloc(0) : frame;
}

/** The checksum up to and with this frame; null: it isn't of this round, or damaged. */
function sumIfRight(frame: Buffer, { salt, bigEndian }: Way, before: Sum): Sum | null {
  if (!frame.subarray(8, 16).equals(salt)) return null;
  const sum = sumOfFrame(frame, before, bigEndian);
  return sumAt(frame, 16, sum) ? sum : null;
}

function isCommitFrame(frame: Buffer): boolean {
  return frame.readUInt32BE(4) > 0;
}

function flip(bytes: Buffer, bit: number): void {
  bytes.writeUInt8(bytes.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
}

function* framesIn({ file, page_bytes, salt, start, bigEndian }: Way): Generator<Seen> {
  const length = FRAME_HEADER_BYTES + page_bytes;
  const bytes = fstatSync(file).size;
  const frame = Buffer.alloc(length);
  let sum = start;
  let fits = true;
  for (let at = HEADER_BYTES; at + length <= bytes; at += length) {
    readSync(file, frame, 0, length, at);
    const before = sum;
    if (fits) {
      sum = sumOfFrame(frame, sum, bigEndian);
      fits = sumAt(frame, 16, sum);
    }
    yield {
      page: frame.readUInt32BE(0),
      at: at + FRAME_HEADER_BYTES,
      isCommit: isCommitFrame(frame),
      hasSalt: frame.subarray(8, 16).equals(salt),
      fits,
      before,
    };
  }
}

/** Over page number, size after a commit, and the image. */
function sumOfFrame(frame: Buffer, before: Sum, bigEndian: boolean): Sum {
  return sumOf(frame.subarray(FRAME_HEADER_BYTES), sumOf(frame.subarray(0, 8), before, bigEndian), bigEndian);
}

function sumAt(bytes: Buffer, at: number, { a, b }: Sum): boolean {
  return bytes.readUInt32BE(at) === a && bytes.readUInt32BE(at + 4) === b;
}

/** SQLite's checksum of its log: two sums over 32-bit words, modulo 2^32. */
function sumOf(bytes: Buffer, from: Sum, bigEndian: boolean): Sum {
  let { a, b } = from;
  for (let at = 0; at < bytes.length; at += 8) {
    a = (a + (bigEndian ? bytes.readUInt32BE(at) : bytes.readUInt32LE(at)) + b) >>> 0;
    b = (b + (bigEndian ? bytes.readUInt32BE(at + 4) : bytes.readUInt32LE(at + 4)) + a) >>> 0;
  }
  return { a, b };
}

/** The first bytes of a file, zeros where it has none. */
export function headOf(path: string, length: number): Buffer {
  const file = openSync(path, "r");
  try {
    return bytesAt(file, 0, length);
  } finally {
    closeSync(file);
  }
}

function bytesAt(file: number, at: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  readSync(file, bytes, 0, length, at);
  return bytes;
}
