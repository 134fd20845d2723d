import { existsSync, readFileSync } from "node:fs";

/**
 * Size of a page in every store. A commit changes few bytes in few pages. For 60 tags at 1 Hz, committed every 10 s, the device writes 74
 * MB a day with pages of 512 bytes; 105 MB with 1,024; 114 MB with 2,048; 158 MB with 4,096 (npm run bench store). The drawback: a fact
 * needs an overflow page, 640 bytes in all instead of 365 with pages of 2,048.
 */
export const PAGE_BYTES = 512;
const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
const FRAME_BYTES = FRAME_HEADER_BYTES + PAGE_BYTES;
/** First word of a write-ahead log whose checksums use little-endian words. All supported machines write this kind. */
const MAGIC = 0x377f0682;

interface WalContent {
  /** Images of pages in write order, up to the last commit, even if SQLite would stop before it. */
  readonly frames: readonly { readonly page: number; readonly image: Buffer }[];
  /**
   * Whether SQLite reads the write-ahead log to its end. "torn": SQLite stops in the last commit, as after a power cut before that commit
   * was confirmed. No durable record is missing then. "hurt": SQLite stops at a frame with a flipped bit, or before several commits. All of
   * them but the last were confirmed, and SQLite would drop them without an error.
   */
  readonly end: "whole" | "torn" | "hurt";
}

interface Sum {
  readonly a: number;
  readonly b: number;
}

interface Frame {
  readonly bytes: Buffer;
  readonly isCommit: boolean;
  readonly hasSalt: boolean;
  /** Whether the frame's checksum continues the checksum of all earlier frames. */
  readonly fits: boolean;
  /** Running checksum up to the previous frame, if the checksums of all frames so far are right. */
  readonly before: Sum;
}

/** Reads the write-ahead log of a database as SQLite's recovery does, and also reads the rest after the point at which SQLite stops. */
export function readWal(path: string): WalContent {
  const wal = existsSync(`${path}-wal`) ? readFileSync(`${path}-wal`) : Buffer.alloc(0);
  const header = wal.subarray(0, HEADER_BYTES);
  if (header.length < HEADER_BYTES) return { frames: [], end: "whole" };
  const start = sumOf(header.subarray(0, 24), { a: 0, b: 0 });
  const isHeaderWhole = header.readUInt32BE(0) === MAGIC && isSumAt(header, 24, start);
  const salt = isHeaderWhole ? header.subarray(16, 24) : wal.subarray(HEADER_BYTES + 8, HEADER_BYTES + 16);
  const all = framesIn(wal, salt, start);
  const stop = isHeaderWhole ? all.findIndex(({ fits, hasSalt }) => !fits || !hasSalt) : 0;
  const isCommit = ({ isCommit: ends, hasSalt, fits }: Frame): boolean => ends && (hasSalt || fits);
  const frames = all.slice(0, all.findLastIndex(isCommit) + 1).map(({ bytes }) => {
    return { page: bytes.readUInt32BE(0), image: bytes.subarray(FRAME_HEADER_BYTES) };
  });
  if (stop < 0 || all.length === 0) return { frames, end: "whole" };
  const commits = all.slice(stop).filter(isCommit).length;
  // Treats a damaged header as rot, because a power cut can't damage it: it is written and confirmed before any frame.
  const isRot = isHeaderWhole ? isOneBitOff(all.slice(stop), salt) : commits > 0;
  if (isRot || commits > 1) return { frames, end: "hurt" };
  return { frames, end: commits === 1 ? "torn" : "whole" };
}

function framesIn(wal: Buffer, salt: Buffer, start: Sum): Frame[] {
  const frames: Frame[] = [];
  let sum = start;
  let fits = true;
  for (let at = HEADER_BYTES; at + FRAME_BYTES <= wal.length; at += FRAME_BYTES) {
    const bytes = wal.subarray(at, at + FRAME_BYTES);
    const before = sum;
    if (fits) sum = sumOfFrame(bytes, before);
    fits &&= isSumAt(bytes, 16, sum);
    frames.push({ bytes, isCommit: isCommitFrame(bytes), hasSalt: bytes.subarray(8, 16).equals(salt), fits, before });
  }
  return frames;
}

/** Returns whether the frame ends a commit. Such a frame holds the number of pages of the file. */
function isCommitFrame(bytes: Buffer): boolean {
  return bytes.readUInt32BE(4) > 0;
}

/**
 * Returns whether a single flipped bit in the first frame keeps SQLite from reaching a commit. Decaying flash flips a bit or two; after a
 * power cut, whole sectors have their old content.
 */
function isOneBitOff([first, ...rest]: readonly Frame[], salt: Buffer): boolean {
  if (first === undefined) return false;
  const bytes = Buffer.from(first.bytes);
  const frames = [bytes, ...rest.map((frame) => frame.bytes)];
  for (let bit = 0; bit < bytes.length * 8; bit += 1) {
    flip(bytes, bit);
    // Accepts a flipped bit only if the later frames then fit up to a commit. The checksum alone is weak: flipping another bit may make it
    // fit too.
    if (leadsToCommit(frames, salt, first.before)) return true;
    flip(bytes, bit);
  }
  return false;
}

function leadsToCommit(frames: readonly Buffer[], salt: Buffer, before: Sum): boolean {
  let sum = before;
  for (const frame of frames) {
    sum = sumOfFrame(frame, sum);
    if (!frame.subarray(8, 16).equals(salt) || !isSumAt(frame, 16, sum)) return false;
    if (isCommitFrame(frame)) return true;
  }
  return false;
}

function flip(bytes: Buffer, bit: number): void {
  bytes.writeUInt8(bytes.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
}

/** Returns the checksum over a frame's page number, its file size (set if it ends a commit) and its image. */
function sumOfFrame(frame: Buffer, before: Sum): Sum {
  return sumOf(frame.subarray(FRAME_HEADER_BYTES), sumOf(frame.subarray(0, 8), before));
}

function isSumAt(bytes: Buffer, at: number, { a, b }: Sum): boolean {
  return bytes.readUInt32BE(at) === a && bytes.readUInt32BE(at + 4) === b;
}

/** Computes SQLite's checksum of a write-ahead log: two sums over 32-bit words, modulo 2^32. */
function sumOf(bytes: Buffer, from: Sum): Sum {
  let { a, b } = from;
  for (let at = 0; at < bytes.length; at += 8) {
    a = (a + bytes.readUInt32LE(at) + b) >>> 0;
    b = (b + bytes.readUInt32LE(at + 4) + a) >>> 0;
  }
  return { a, b };
}
