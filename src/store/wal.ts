import { existsSync, readFileSync } from "node:fs";

/**
 * Bytes of a page in every store. A commit changes few bytes in few pages. For 60 tags at 1 Hz, committed every 10 s, the device writes
 * 74 MB a day with pages of 512 bytes; 105 MB with 1,024; 114 MB with 2,048; 158 MB with 4,096 (npm run bench store). The drawback: a fact
 * needs a page of overflow, 640 bytes in all instead of 365 with pages of 2,048.
 */
export const PAGE_BYTES = 512;
const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
const FRAME_BYTES = FRAME_HEADER_BYTES + PAGE_BYTES;
/** First word of a log with checksums over little-endian words, as all supported machines write them. */
const MAGIC = 0x377f0682;

interface WalContent {
  /** Page images in the order of writing, up to the last commit, whether or not SQLite would still reach it. */
  readonly frames: readonly { readonly page: number; readonly image: Buffer }[];
  /**
   * Whether SQLite reads the log to its end. "torn": it stops in the last commit, as after a power cut before that commit was confirmed,
   * so that nothing durable is missing. "hurt": it stops at a frame with a flipped bit, or before several commits. All but the last of
   * them had been confirmed, and SQLite would drop them without an error.
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
  /** Its checksum continues that of all frames before it. */
  readonly fits: boolean;
  /** Checksum up to the frame before it, as long as all fit. */
  readonly before: Sum;
}

/** Reads the write-ahead log of a database as SQLite does at its recovery, and also what follows the point at which SQLite stops. */
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
  // The header is written and confirmed before any frame: no power cut spoils it.
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

/** A commit's last frame says how many pages the file has. */
function isCommitFrame(bytes: Buffer): boolean {
  return bytes.readUInt32BE(4) > 0;
}

/**
 * Returns whether one flipped bit in the first of the frames keeps SQLite from reaching a commit. Rot flips a bit or two; a power cut
 * leaves whole sectors as they were before.
 */
function isOneBitOff([first, ...rest]: readonly Frame[], salt: Buffer): boolean {
  if (first === undefined) return false;
  const bytes = Buffer.from(first.bytes);
  const frames = [bytes, ...rest.map((frame) => frame.bytes)];
  for (let bit = 0; bit < bytes.length * 8; bit += 1) {
    flip(bytes, bit);
    // The checksum is weak, so that other bits may make it fit. The frames after it tell which one was flipped.
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

/** Returns the checksum over page number, size after a commit, and the image. */
function sumOfFrame(frame: Buffer, before: Sum): Sum {
  return sumOf(frame.subarray(FRAME_HEADER_BYTES), sumOf(frame.subarray(0, 8), before));
}

function isSumAt(bytes: Buffer, at: number, { a, b }: Sum): boolean {
  return bytes.readUInt32BE(at) === a && bytes.readUInt32BE(at + 4) === b;
}

/** SQLite's checksum of its log: two sums over 32-bit words, modulo 2^32. */
function sumOf(bytes: Buffer, from: Sum): Sum {
  let { a, b } = from;
  for (let at = 0; at < bytes.length; at += 8) {
    a = (a + bytes.readUInt32LE(at) + b) >>> 0;
    b = (b + bytes.readUInt32LE(at + 4) + a) >>> 0;
  }
  return { a, b };
}
