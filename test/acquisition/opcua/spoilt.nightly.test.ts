import { expect, test } from "vitest";

import { never, readGroup, values } from "../driver-calls.ts";
import { opcuaBed } from "./opcua-bed.ts";
import { spoiltRuns } from "./spoilt-opcua.ts";

const bed = opcuaBed();
/** By night nobody waits. */
const DEADLINE_MS = 1000;

test.each([
  ["read", 5000],
  ["subscribe", 1000],
] as const)(
  "mode %s: %i connections with spoilt answers: no crash, no wrong value",
  { timeout: 10_800_000 },
  async (mode, runs) => {
    const driver = bed().make();
    await driver.open(never);
    const right = values(await readGroup(driver, "fast"));
    let spoilt = 0;
    const onSpoilt = (): void => {
      spoilt++;
    };
    const kinds = await spoiltRuns(bed(), { runs, right, mode, seed: 1, deadline_ms: DEADLINE_MS, onSpoilt });
    process.stdout.write(`${mode}: ${spoilt} spoilt, ${JSON.stringify(Object.fromEntries(kinds))}\n`);
    // Most bits are of encrypted bytes or lengths, so that many a run ends at its deadline: what counts is what was injected.
    expect(spoilt).toBeGreaterThan(runs / 2);
    expect(kinds.get("malformed") ?? 0).toBeGreaterThan(0);
  },
);
