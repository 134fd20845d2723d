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
   * Commits stand behind a frame that SQLite stops at: they would be lost without a word. Rot does this; so does a power cut that
   * tore the last commit, which nobody was told of then.
   */
  readonly isCut: boolean;
}

const NOTHING: WalContent = { page_bytes: 0, frames: [], isCut: false };

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

interface Seen extends Frame {
  readonly isCommit: boolean;
  readonly hasSalt: boolean;
  /** Its checksum goes on from all before it. */
  readonly fits: boolean;
}

function contentOf(file: number, expected_page_bytes: number): WalContent {
  const head = Buffer.alloc(HEADER_BYTES);
  if (readSync(file, head, 0, HEADER_BYTES, 0) < HEADER_BYTES) return NOTHING;
  const magic = head.readUInt32BE(0);
  const bigEndian = (magic & 1) === 1;
  const start = sumOf(head.subarray(0, 24), { a: 0, b: 0 }, bigEndian);
  const isHeadWhole = magic >>> 1 === MAGIC >>> 1 && sumAt(head, 24, start);
  const page_bytes = isHeadWhole ? head.readUInt32BE(8) : expected_page_bytes;
  if (page_bytes === 0) return { ...NOTHING, isCut: fstatSync(file).size > HEADER_BYTES };
  const salt = isHeadWhole ? head.subarray(16, 24) : saltOfFirst(file);
  const seen = [...framesIn(file, { page_bytes, salt, start, bigEndian })];
  const stop = isHeadWhole ? seen.findIndex(({ fits, hasSalt }) => !fits || !hasSalt) : 0;
  const last = seen.findLastIndex(({ isCommit, hasSalt, fits }) => isCommit && (hasSalt || fits));
  return { page_bytes, frames: seen.slice(0, last + 1), isCut: stop >= 0 && last >= stop };
}

function saltOfFirst(file: number): Buffer {
  const salt = Buffer.alloc(8);
  readSync(file, salt, 0, 8, HEADER_BYTES + 8);
  return salt;
}

interface Way {
  readonly page_bytes: number;
  readonly salt: Buffer;
  readonly start: Sum;
  readonly bigEndian: boolean;
}

function* framesIn(file: number, { page_bytes, salt, start, bigEndian }: Way): Generator<Seen> {
  const length = FRAME_HEADER_BYTES + page_bytes;
  const bytes = fstatSync(file).size;
  const frame = Buffer.alloc(length);
  let sum: Sum | null = start;
  for (let at = HEADER_BYTES; at + length <= bytes; at += length) {
    readSync(file, frame, 0, length, at);
    if (sum !== null) {
      sum = sumOf(frame.subarray(FRAME_HEADER_BYTES), sumOf(frame.subarray(0, 8), sum, bigEndian), bigEndian);
      if (!sumAt(frame, 16, sum)) sum = null;
    }
    yield {
      page: frame.readUInt32BE(0),
      at: at + FRAME_HEADER_BYTES,
      isCommit: frame.readUInt32BE(4) > 0,
      hasSalt: frame.subarray(8, 16).equals(salt),
      fits: sum !== null,
    };
  }
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
