import { gunzipSync, zstdDecompressSync } from "node:zlib";

/** Unpacks a batch and names its compression. Any other payload is returned as text. */
export function unzipped(payload: Buffer): { readonly text: string; readonly packed: "gzip" | "zstd" | null } {
  if (payload.readUInt16BE(0) === 0x1f8b) return { text: gunzipSync(payload).toString("utf8"), packed: "gzip" };
  if (payload.length > 4 && payload.readUInt32BE(0) === 0x28b52ffd)
    return { text: zstdDecompressSync(payload).toString("utf8"), packed: "zstd" };
  return { text: payload.toString("utf8"), packed: null };
}
