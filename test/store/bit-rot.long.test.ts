import { expect, it } from "vitest";
import { rot } from "./bit-rot.ts";
import { recordFault } from "../support/faults.ts";
import { rotIdentity } from "./identity-rot.ts";
import { memoryFolder } from "../support/temporary.ts";

const FLIPS = 40;

it("a flipped bit never gives a wrong value, nor hides one: 40 copies of database and write-ahead log", () => {
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

it("a flipped bit never gives another gateway, credential or provisioning row: 40 copies of the identity", () => {
  const { examples, ...counts } = rotIdentity(memoryFolder(), FLIPS, 11);
  process.stdout.write(`${JSON.stringify(counts)}\n`);
  const passed = counts.wrong === 0 && examples.length === 0;
  const fault = "bit flip in the identity";
  recordFault({ row: 5, fault, injected: FLIPS, lost: 0, doubled: 0, wrong: counts.wrong, passed });
  expect(examples).toEqual([]);
  expect(counts.wrong).toBe(0);
  expect(counts.from_copy).toBeGreaterThan(FLIPS / 20);
});
