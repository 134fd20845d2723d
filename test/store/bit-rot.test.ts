import { expect, it } from "vitest";
import { rot } from "../support/bit-rot.ts";
import { memoryFolder } from "../support/temporary.ts";

const FLIPS = 20;

it("a flipped bit never gives a wrong value: what it hits is quarantined or salvaged, and declared", () => {
  const result = rot(memoryFolder(), FLIPS, 7);
  expect(result).toMatchObject({ refused: 0, wrong: 0, examples: [] });
  expect(result.quarantined + result.salvaged).toBeGreaterThan(FLIPS / 4);
});
