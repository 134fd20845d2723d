import { createHash } from "node:crypto";
import type { StreamRecord } from "../domain/record.ts";

/**
 * JSON with the keys of every object sorted as text, so that both sides hash the same. Built by hand: an object made anew with
 * sorted keys would put keys that look like numbers ("10", as mode codes are) in the order of numbers.
 */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).filter(([, inner]) => inner !== undefined);
  const sorted = fields.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${sorted.map(([key, inner]) => `${JSON.stringify(key)}:${canonical(inner)}`).join(",")}}`;
}

/** The hash of consecutive records as docs/reference/wire.md defines it: SHA-256, hex. An ack that carries another one moves nothing. */
export function hashOf(records: readonly StreamRecord[]): string {
  const hash = recordHash();
  hash.add(records);
  return hash.hex();
}

/** The same, piece by piece. */
export function recordHash(): { add(records: readonly StreamRecord[]): void; hex(): string } {
  const hash = createHash("sha256");
  return {
    add(records) {
      let text = "";
      for (const { kind, tag, boot, mono, value, quality } of records) {
        // What holds no object has no keys to sort: nearly all of a log.
        const record = [kind, tag, boot, mono, value, quality];
        const line = typeof value === "object" ? canonical(record) : JSON.stringify(record);
        text += `${line}\n`;
      }
      // All at once: a call for each line costs as much as the hash.
      hash.update(text);
    },
    hex: () => hash.digest("hex"),
  };
}

/** Lower-case hex; of a credential it is all that the service is told. */
export function sha256(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}
