import { randomBytes, randomUUID } from "node:crypto";
import type { Random } from "../ports.ts";

/** The machine's own source: good for identifiers and credentials as well as for jitter. */
export function systemRandom(): Random {
  return {
    next: () => randomBytes(6).readUIntBE(0, 6) / 2 ** 48,
    uuid: () => randomUUID(),
    bytes: (count) => randomBytes(count),
  };
}
