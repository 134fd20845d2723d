import { constants, deflateRawSync, inflateRawSync } from "node:zlib";

/** Much more than any row holds: what a damaged length may not exceed. */
const LARGEST_BYTES = 64_000_000;

/** Long columns of small numbers are shorter without a search for repeats, texts and constant ones with it. */
export function deflated(column: Buffer): Buffer {
  const searched = deflateRawSync(column, DEFLATE);
  if (column.length < TRIED_TWICE_BYTES) return searched;
  const plain = deflateRawSync(column, { ...DEFLATE, strategy: constants.Z_HUFFMAN_ONLY });
  return plain.length < searched.length ? plain : searched;
}

/** Most columns are short, and Node's own 16 KB of room for each would be most of the work. */
export function inflated(block: Buffer): Buffer {
  return inflateRawSync(block, {
    maxOutputLength: LARGEST_BYTES,
    chunkSize: Math.max(LEAST_ROOM_BYTES, 4 * block.length),
  });
}

const LEAST_ROOM_BYTES = 256;

/** Small tables: making them is most of what a short column costs. */
const DEFLATE = { level: 9, windowBits: 12, memLevel: 5 };
const TRIED_TWICE_BYTES = 512;
