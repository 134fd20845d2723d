import { expect, it } from "vitest";
import { rot } from "./bit-rot.ts";
import { recordFault } from "../support/faults.ts";
import { rotIdentity } from "./identity-rot.ts";
import { casesOf } from "../support/seed.ts";
import { memoryFolder } from "../support/temporary.ts";

const FLIPS = casesOf(40);
const SEED = 2026;

function report(
  fault: string,
  { examples, ...counts }: { readonly wrong: number; readonly examples: readonly string[] },
) {
  process.stdout.write(`${JSON.stringify(counts)}\n`);
  const { wrong } = counts;
  const passed = wrong === 0 && examples.length === 0;
  recordFault({ row: 5, fault: `${fault}, ${FLIPS} copies`, injected: FLIPS, lost: 0, doubled: 0, wrong, passed });
  expect(examples).toEqual([]);
}

it("a flipped bit in the database or write-ahead log never gives a wrong value, and a gap record covers each lost value", () => {
  const result = rot(memoryFolder(), FLIPS, SEED);
  report("bit flip", result);
  expect(result).toMatchObject({ wrong: 0, refused: 0 });
  expect(result.quarantined + result.salvaged).toBeGreaterThan(FLIPS / 4);
});

it("a flipped bit in the identity file never gives another gateway id, credential or provisioning row", () => {
  const counts = rotIdentity(memoryFolder(), FLIPS, SEED);
  report("bit flip in the identity", counts);
  expect(counts.wrong).toBe(0);
  expect(counts.from_copy).toBeGreaterThan(FLIPS / 20);
});
