import { expect, test } from "vitest";

import { seededRandom } from "../../support/seeded-random.ts";
import { never, readGroup, values } from "../driver-calls.ts";
import { opcuaBed } from "./opcua-bed.ts";

const bed = opcuaBed();
/** Long enough for the damaged answer to arrive on a busy machine. */
const DEADLINE_MS = 1000;

/**
 * Connects and reads `runs` times. Each time one answer has a flipped bit or is truncated. Counts the results by kind.
 */
async function spoiltRuns(mode: "read" | "subscribe", runs: number, right: readonly unknown[]) {
  const random = seededRandom(1);
  let spoilt = 0;
  const kinds = new Map<string, number>();
  for (let run = 0; run < runs; run++) {
    let left = Math.floor(random.next() * 12);
    bed().gate.alter = (bytes) => {
      if (left-- !== 0) return bytes;
      spoilt++;
      const damaged = Buffer.from(bytes);
      const at = Math.floor(random.next() * damaged.length);
      damaged[at] = (damaged[at] ?? 0) ^ (1 << Math.floor(random.next() * 8));
      return random.next() < 0.1 ? damaged.subarray(0, at) : damaged;
    };
    const address = bed().address({ mode });
    const driver = bed().make({
      address,
      timeouts: { connect_ms: DEADLINE_MS, answer_ms: DEADLINE_MS, farewell_ms: 20 },
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
  bed().gate.alter = null;
  return { kinds, spoilt };
}

test.each([
  ["read", 5000],
  ["subscribe", 1000],
] as const)(
  "an OPC UA driver in mode %s reads %i times with damaged answers without a crash or a wrong value",
  { timeout: 10_800_000 },
  async (mode, runs) => {
    const driver = bed().make();
    await driver.open(never);
    const { kinds, spoilt } = await spoiltRuns(mode, runs, values(await readGroup(driver, "fast")));
    process.stdout.write(`${mode}: ${spoilt} damaged, ${JSON.stringify(Object.fromEntries(kinds))}\n`);
    // Most bits are in encrypted bytes or lengths, so many runs end at their deadline. Only the injected faults count.
    expect(spoilt).toBeGreaterThan(runs / 2);
    expect(kinds.get("malformed") ?? 0).toBeGreaterThan(0);
  },
);
