import { expect, it } from "vitest";
import { gapBetween, halves, overlapGroups, pieceOf, rangeOf } from "../../../src/acquisition/rules/plan.ts";
import { point } from "../../support/profiles.ts";

const at = (address: number, type: "uint16" | "uint32" = "uint16") => point({ address, type });
const block = (address: number, count: number) => ({ table: "holding", address, count }) as const;

it("pieceOf returns a block from the first point's address to the end of the last point", () => {
  expect(pieceOf([at(12, "uint32"), at(10)], [0, 1])).toEqual({ indices: [0, 1], block: block(10, 4) });
});

it("overlapGroups groups points that share an address, in order of address", () => {
  const points = [at(20), at(10, "uint32"), at(11)];
  expect(overlapGroups(points, [0, 1, 2])).toEqual([[1, 2], [0]]);
});

it("a piece of a read plan is split in the middle, but not through overlapping points", () => {
  const points = [at(1), at(2), at(3, "uint32"), at(4)];
  expect(halves(points, pieceOf(points, [0, 1, 2, 3]))?.map((half) => half.block)).toEqual([block(1, 2), block(3, 2)]);
  expect(halves(points, pieceOf(points, [2, 3]))).toBe(null);
});

it("gapBetween returns the addresses between two blocks as a hole, or a border if the blocks touch", () => {
  expect(gapBetween(block(0, 5), block(9, 2))).toEqual([5, 8]);
  expect(gapBetween(block(0, 5), block(5, 2))).toEqual([5, 4]);
  expect(rangeOf(block(3, 4))).toEqual([3, 6]);
});
