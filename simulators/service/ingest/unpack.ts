import { gunzipSync } from "node:zlib";
import { textOf } from "../utf8.ts";

/** Limits of one batch as it arrives and unzipped: four times what a well-behaved gateway sends. */
export const MAX_ZIPPED_BYTES = 256 * 1024;
export const MAX_UNZIPPED_BYTES = 512 * 1024;

/** The JSON object in a gzipped payload, or why there is none. */
export function unpack(payload: Uint8Array): { readonly batch: unknown } | { readonly error: string } {
  if (payload.byteLength > MAX_ZIPPED_BYTES) return { error: "too_large" };
  try {
    const unzipped = gunzipSync(payload, { maxOutputLength: MAX_UNZIPPED_BYTES });
    return { batch: JSON.parse(textOf(unzipped)) as unknown };
  } catch (cause) {
    const tooLarge = cause instanceof Error && "code" in cause && cause.code === "ERR_BUFFER_TOO_LARGE";
    return { error: tooLarge ? "too_large" : "malformed" };
  }
}
