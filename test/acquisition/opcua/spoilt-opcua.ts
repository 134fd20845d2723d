import { expect } from "vitest";

import { never, readGroup, values } from "../driver-calls.ts";
import type { OpcuaBed } from "./opcua-bed.ts";
import { seededRandom } from "../../support/seeded-random.ts";

/** How a run with a spoilt answer ended, with what was read or with which kind of LinkError, and how often. */
export type Endings = ReadonlyMap<string, number>;

export interface SpoiltRuns {
  readonly runs: number;
  readonly right: readonly unknown[];
  readonly seed?: number;
  readonly mode?: "read" | "subscribe";
  /** Where the machine is busy with other things, a short one ends runs before their spoilt answer has come. */
  readonly deadline_ms?: number;
  /** Called whenever a spoilt answer is on its way to the driver. */
  readonly onSpoilt?: () => void;
}

const DEADLINE_MS = 250;

/** Connects and reads `runs` times, one bit of one answer being wrong each time, or the rest of it missing. */
export async function spoiltRuns(
  bed: OpcuaBed,
  { runs, right, seed = 7, mode = "read", deadline_ms = DEADLINE_MS, onSpoilt }: SpoiltRuns,
): Promise<Endings> {
  const random = seededRandom(seed);
  const kinds = new Map<string, number>();
  for (let run = 0; run < runs; run++) {
    let left = Math.floor(random.next() * 12);
    bed.gate.alter = (bytes) => {
      if (left-- !== 0) return bytes;
      onSpoilt?.();
      const spoilt = Buffer.from(bytes);
      const at = Math.floor(random.next() * spoilt.length);
      spoilt[at] = (spoilt[at] ?? 0) ^ (1 << Math.floor(random.next() * 8));
      return random.next() < 0.1 ? spoilt.subarray(0, at) : spoilt;
    };
    const address = bed.address({ mode });
    const driver = bed.make({
      address,
      timeouts: { connect_ms: deadline_ms, answer_ms: deadline_ms, farewell_ms: 20 },
    });
    const outcome = await driver
      .open(never)
      .then(() => readGroup(driver, "fast"))
      .then(values, (error: unknown) => error);
    await driver.close();
    if (Array.isArray(outcome)) expect(outcome).toEqual(right);
    else expect(outcome).toMatchObject({ name: "LinkError" });
    const kind = Array.isArray(outcome) ? "read" : (outcome as { readonly kind: string }).kind;
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  }
  bed.gate.alter = null;
  return kinds;
}
