import { expect, it } from "vitest";
import {
  addHole,
  forgetHoles,
  forgetRange,
  gapBetween,
  halves,
  overlapGroups,
  pieceOf,
  rangeOf,
  uniteHoles,
} from "../../../src/acquisition/rules/plan.ts";
import { point } from "../../support/profiles.ts";

const at = (address: number, type: "uint16" | "uint32" = "uint16") => point({ address, type });
const block = (address: number, count: number) => ({ table: "holding", address, count }) as const;

it("a piece reaches from its first address to the end of its widest point", () => {
  expect(pieceOf([at(12, "uint32"), at(10)], [0, 1])).toEqual({ indices: [0, 1], block: block(10, 4) });
});

it("points that share an address stand together, in order of address however they are given", () => {
  const points = [at(20), at(10, "uint32"), at(11)];
  expect(overlapGroups(points, [0, 1, 2])).toEqual([[1, 2], [0]]);
});

it("a piece is cut in the middle, and not through points that overlap", () => {
  const points = [at(1), at(2), at(3, "uint32"), at(4)];
  expect(halves(points, pieceOf(points, [0, 1, 2, 3]))?.map((half) => half.block)).toEqual([block(1, 2), block(3, 2)]);
  expect(halves(points, pieceOf(points, [2, 3]))).toBe(null);
});

it("between two blocks lies a hole, or a border where they touch", () => {
  expect(gapBetween(block(0, 5), block(9, 2))).toEqual([5, 8]);
  expect(gapBetween(block(0, 5), block(5, 2))).toEqual([5, 4]);
  expect(rangeOf(block(3, 4))).toEqual([3, 6]);
});

it("holes are kept in order, each once", () => {
  const one = addHole({}, "holding", [8, 9]);
  const two = addHole(one, "holding", [3, 4]);
  expect(two).toEqual({
    holding: [
      [3, 4],
      [8, 9],
    ],
  });
  expect(addHole(two, "holding", [3, 4])).toBe(two);
  // A border at an address where a hole begins, too.
  expect(addHole(two, "holding", [3, 2])).toEqual({
    holding: [
      [3, 2],
      [3, 4],
      [8, 9],
    ],
  });
  expect(uniteHoles(one, { holding: [[8, 9]], coil: [[1, 1]] })).toEqual({ holding: [[8, 9]], coil: [[1, 1]] });
});

it("a block that is answered after all takes its holes with it, those it touched and no others", () => {
  const holes = {
    holding: [
      [3, 4],
      [8, 9],
    ],
  } as const;
  expect(forgetHoles(holes, block(9, 1))).toEqual({ holding: [[3, 4]] });
  expect(forgetHoles(holes, block(5, 3))).toBe(holes);
  expect(forgetHoles({}, block(5, 3))).toEqual({});
  expect(forgetRange(holes, "holding", [3, 4])).toEqual({ holding: [[8, 9]] });
  expect(forgetRange(holes, "holding", [3, 5])).toEqual(holes);
  expect(forgetRange({}, "coil", [1, 1])).toEqual({ coil: [] });
});
