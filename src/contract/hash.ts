import { createHash } from "node:crypto";
import type { StreamRecord } from "../domain/record.ts";

/**
 * Writes JSON with the keys of every object sorted as text, so that both sides compute the same hash. The keys can't be sorted in a new
 * object, because JavaScript puts keys that look like numbers ("10", as in mode codes) into numeric order.
 */
export function canonicalText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).filter(([, inner]) => inner !== undefined);
  const sorted = fields.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${sorted.map(([key, inner]) => `${JSON.stringify(key)}:${canonicalText(inner)}`).join(",")}}`;
}

/** Returns the SHA-256 of consecutive records in hex, as defined in docs/reference/wire.md. An ack with another hash is ignored. */
export function hashOf(records: readonly StreamRecord[]): string {
  const hash = recordHash();
  hash.add(records);
  return hash.hex();
}

/** Returns a hasher for consecutive records that come in several parts. */
export function recordHash(): { add(records: readonly StreamRecord[]): void; hex(): string } {
  const hash = createHash("sha256");
  return {
    add(records) {
      let text = "";
      for (const { kind, tag, boot, mono, value, quality } of records) {
        // Skips the sorting of keys for a record without an object, which is nearly every record of a log.
        const record = [kind, tag, boot, mono, value, quality];
        const line = typeof value === "object" ? canonicalText(record) : JSON.stringify(record);
        text += `${line}\n`;
      }
      // Hashes all lines in one call, because a call per line costs as much time as the hash itself.
      hash.update(text);
    },
    hex: () => hash.digest("hex"),
  };
}

/** Returns the SHA-256 in lower-case hex. The service knows a credential only by this hash. */
export function sha256(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}
