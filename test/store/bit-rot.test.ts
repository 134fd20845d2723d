import { expect, it } from "vitest";
import { rot } from "../support/bit-rot.ts";
import { recordFault } from "../support/faults.ts";
import { memoryFolder } from "../support/temporary.ts";

const FLIPS = 50;

it("a flipped bit never gives a wrong value: rows it hits are quarantined and declared", () => {
  const result = rot(memoryFolder(), FLIPS, 7);
  const passed = result.wrong === 0;
  recordFault({ row: 5, fault: "bit flip", injected: FLIPS, lost: 0, doubled: 0, wrong: result.wrong, passed });
  expect(result).toMatchObject({ wrong: 0, examples: [] });
  expect(result.quarantined).toBeGreaterThan(FLIPS / 4);
});
