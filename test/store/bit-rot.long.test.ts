import { expect, it } from "vitest";
import { rot } from "../support/bit-rot.ts";
import { recordFault } from "../support/faults.ts";
import { memoryFolder } from "../support/temporary.ts";

const FLIPS = 200;

it("a flipped bit never gives a wrong value, nor hides one: 200 copies of database and write-ahead log", () => {
  const result = rot(memoryFolder(), FLIPS, 11);
  const { examples, wrong, ...counts } = result;
  process.stdout.write(`${JSON.stringify({ ...counts, wrong })}\n`);
  const passed = wrong === 0;
  const fault = "bit flip";
  recordFault({ row: 5, fault, injected: FLIPS, lost: 0, doubled: 0, wrong, passed });
  expect(examples).toEqual([]);
  expect(result).toMatchObject({ wrong: 0, refused: 0 });
  expect(result.quarantined + result.salvaged).toBeGreaterThan(FLIPS / 4);
});
