import { constants, gunzipSync, zstdDecompressSync } from "node:zlib";
import { textOf } from "../base/utf8.ts";

/** Size limits of a batch before and after unpacking: four times the usual size. */
export const MAX_ZIPPED_BYTES = 256 * 1024;
export const MAX_UNZIPPED_BYTES = 512 * 1024;
/** The first bytes of each zstd frame (RFC 8878, 3.1.1). */
const ZSTD_MAGIC = Buffer.of(0x28, 0xb5, 0x2f, 0xfd);
/** 8 MiB, the minimum that a decoder should support (RFC 8878, 3.1.1.1.2). A message could ask for 2 GiB. */
const ZSTD_PARAMS = { [constants.ZSTD_d_windowLogMax]: 23 };

/**
 * Buffer sizes of a decoder. By default it allocates 64 KiB per message, which is most of the cost of a live booth's
 * batch of 2 KB.
 */
const CHUNK_BYTES = { least: 4 * 1024, most: 64 * 1024, for_each: 8 };

/** Returns the JSON object in a gzip or zstd payload, or the reason why it can't be read. */
export function unpack(payload: Uint8Array): { readonly batch: unknown } | { readonly error: string } {
  if (payload.byteLength > MAX_ZIPPED_BYTES) return { error: "too_large" };
  const { least, most, for_each } = CHUNK_BYTES;
  const chunkSize = Math.min(most, Math.max(least, payload.byteLength * for_each));
  const limits = { maxOutputLength: MAX_UNZIPPED_BYTES, chunkSize };
  try {
    const unzipped = ZSTD_MAGIC.equals(payload.subarray(0, ZSTD_MAGIC.length))
      ? zstdDecompressSync(payload, { ...limits, params: ZSTD_PARAMS })
      : gunzipSync(payload, limits);
    return { batch: JSON.parse(textOf(unzipped)) as unknown };
  } catch (cause) {
    const tooLarge = cause instanceof Error && "code" in cause && cause.code === "ERR_BUFFER_TOO_LARGE";
    return { error: tooLarge ? "too_large" : "malformed" };
  }
}
