import { gunzipSync } from "node:zlib";

/** Limits of one batch as it arrives and unzipped: four times what a well-behaved gateway sends. */
export const MAX_ZIPPED_BYTES = 256 * 1024;
export const MAX_UNZIPPED_BYTES = 512 * 1024;

/** The JSON object in a gzipped payload, or why there is none. */
export function unpack(payload: Uint8Array): { readonly batch: unknown } | { readonly error: string } {
  if (payload.byteLength > MAX_ZIPPED_BYTES) return { error: "too_large" };
  try {
    const text = gunzipSync(payload, { maxOutputLength: MAX_UNZIPPED_BYTES }).toString("utf8");
    return { batch: JSON.parse(text) as unknown };
  } catch (cause) {
    const tooLarge = cause instanceof Error && "code" in cause && cause.code === "ERR_BUFFER_TOO_LARGE";
    return { error: tooLarge ? "too_large" : "malformed" };
  }
}
