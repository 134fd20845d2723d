import { createHash } from "node:crypto";
import type { StreamRecord } from "../core/types/record.ts";

/** JSON with the keys of every object sorted, so that both sides hash the same text. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

/** The hash of consecutive records as docs/wire.md defines it: SHA-256, hex. An ack that carries another one moves nothing. */
export function hashOf(records: readonly StreamRecord[]): string {
  const hash = createHash("sha256");
  for (const { kind, tag, boot, mono, value, quality } of records) {
    hash.update(`${canonical([kind, tag, boot, mono, value, quality])}\n`);
  }
  return hash.digest("hex");
}
