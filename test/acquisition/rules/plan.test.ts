import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { decodePoint } from "../../../src/acquisition/rules/decode.ts";
import {
  type Block,
  gapBetween,
  halves,
  overlapGroups,
  pieceOf,
  type Plan,
  planCost,
  type PlanOptions,
  planReads,
  touchesHole,
} from "../../../src/acquisition/rules/plan.ts";
import { isBitTable, type ModbusPoint, type ModbusTable, pointWidth } from "../../../src/domain/profile.ts";
import { pattern } from "../modbus/fake-modbus.ts";
import { point, QUIRKS } from "../../support/profiles.ts";

const OPTIONS: PlanOptions = { ...QUIRKS, round_trip_registers: 20 };
const CODES: Readonly<Record<ModbusTable, number>> = { coil: 1, discrete: 2, holding: 3, input: 4 };

const register = fc
  .record({
    table: fc.constantFrom<ModbusTable>("holding", "input"),
    address: fc.nat(40),
    type: fc.constantFrom<ModbusPoint["type"]>("uint16", "int32", "float32", "string", "bool"),
    length: fc.integer({ min: 1, max: 5 }),
    bit: fc.nat(15),
  })
  .map((made) => point(made));
const bit = fc
  .record({ table: fc.constantFrom<ModbusTable>("coil", "discrete"), address: fc.nat(60) })
  .map((made) => point({ ...made, type: "bool" }));
const options = fc.record({
  max_registers: fc.integer({ min: 5, max: 30 }),
  max_bits: fc.integer({ min: 4, max: 50 }),
  round_trip_registers: fc.nat(30),
  holes: fc.array(fc.tuple(fc.nat(40), fc.nat(3)), { maxLength: 3 }).map((all) => ({
    holding: all.map(([first, more]): [number, number] => [first, first + more - 1]),
  })),
});

/** Returns the cost of the cheapest way to put the points into allowed blocks. */
function bruteForce(points: readonly ModbusPoint[], limits: PlanOptions): number {
  const [first, ...rest] = points;
  if (first === undefined) return 0;
  let best = Infinity;
  for (let mask = 0; mask < 1 << rest.length; mask++) {
    const together = [first, ...rest.filter((_, i) => (mask & (1 << i)) !== 0)];
    const block = blockOf(together);
    if (block === null || (together.length > 1 && !allowed(block, limits))) continue;
    const others = rest.filter((_, i) => (mask & (1 << i)) === 0);
    best = Math.min(best, planCost([block], limits.round_trip_registers) + bruteForce(others, limits));
  }
  return best;
}

function blockOf(points: readonly ModbusPoint[]): Block | null {
  const [first] = points;
  if (first === undefined || points.some(({ table }) => table !== first.table)) return null;
  const address = Math.min(...points.map((at) => at.address));
  return { table: first.table, address, count: Math.max(...points.map((at) => at.address + pointWidth(at))) - address };
}

function allowed(block: Block, limits: PlanOptions): boolean {
  return (
    block.count <= (isBitTable(block.table) ? limits.max_bits : limits.max_registers) &&
    !touchesHole(block, limits.holes)
  );
}

function readBlock({ table, address, count }: Block): readonly number[] {
  return Array.from({ length: count }, (_, i) => pattern(CODES[table], address + i));
}

function decodeByPlan(points: readonly ModbusPoint[], { blocks, places }: Plan): unknown[] {
  const answers = blocks.map(readBlock);
  return points.map((at, i) => {
    const words = answers[places[i]?.block ?? -1];
    return words === undefined ? null : decodePoint(at, QUIRKS, { words, index: places[i]?.offset ?? -1 });
  });
}

describe("read plan", () => {
  test("is as cheap as the cheapest of all possible plans", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(register, bit), { maxLength: 7 }), options, (points, limits) => {
        const { blocks } = planReads(points, limits);
        expect(planCost(blocks, limits.round_trip_registers)).toBeCloseTo(bruteForce(points, limits), 9);
      }),
    );
  });

  test("reads a point that overlaps a hole in a separate block", () => {
    const holes = { holding: [[13, 12]] } as const;
    const points = [point({ address: 9 }), point({ address: 10, type: "string", length: 5 }), point({ address: 11 })];
    const { blocks } = planReads(points, { ...OPTIONS, holes });
    expect(blocks).toEqual([
      { table: "holding", address: 9, count: 3 },
      { table: "holding", address: 10, count: 5 },
    ]);
  });

  test("decodes every point of a random map to the same value as a separate read", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(register, bit), { maxLength: 60 }), options, (points, limits) => {
        const single = points.map((at) => {
          const block = { table: at.table, address: at.address, count: pointWidth(at) };
          return decodePoint(at, QUIRKS, { words: readBlock(block), index: 0 });
        });
        expect(decodeByPlan(points, planReads(points, limits))).toEqual(single);
      }),
    );
  });

  test("has no block of several points that exceeds a limit or touches a hole", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(register, bit), { maxLength: 60 }), options, (points, limits) => {
        const { blocks, places } = planReads(points, limits);
        return blocks.every(
          (block, i) => places.filter((place) => place.block === i).length === 1 || allowed(block, limits),
        );
      }),
    );
  });

  test("skips a long gap and includes a short one, depending on the cost of a round trip", () => {
    const points = [point({ address: 0 }), point({ address: 10 }), point({ address: 60 })];
    const blocks = (round_trip_registers: number): readonly Block[] =>
      planReads(points, { ...OPTIONS, round_trip_registers }).blocks;
    expect(blocks(20)).toEqual([
      { table: "holding", address: 0, count: 11 },
      { table: "holding", address: 60, count: 1 },
    ]);
    expect(blocks(5).length).toBe(3);
    expect(blocks(500)).toEqual([{ table: "holding", address: 0, count: 61 }]);
  });

  test("has no block that crosses a border, but may have a block on each side", () => {
    const points = [0, 1, 2, 3].map((address) => point({ address }));
    expect(planReads(points, { ...OPTIONS, holes: { holding: [[2, 1]] } }).blocks).toEqual([
      { table: "holding", address: 0, count: 2 },
      { table: "holding", address: 2, count: 2 },
    ]);
  });

  test("has at least one point in each block", () => {
    expect(planReads([], OPTIONS)).toEqual({ blocks: [], places: [] });
  });
});

describe("splitting a block", () => {
  test("keeps all points in its two halves, with the gap between the halves as a hole", () => {
    fc.assert(
      fc.property(fc.array(register, { minLength: 1, maxLength: 20 }), (made) => {
        const points = made.map((at): ModbusPoint => ({ ...at, table: "holding" }));
        const sorted = overlapGroups(points, [...points.keys()]).flat();
        const parts = halves(points, pieceOf(points, sorted));
        if (parts === null) return overlapGroups(points, sorted).length === 1;
        const [left, right] = parts;
        const whole = pieceOf(points, sorted).block;
        return (
          left.indices.length + right.indices.length === points.length &&
          left.block.address + left.block.count <= right.block.address &&
          touchesHole(whole, { holding: [gapBetween(left.block, right.block)] }) &&
          !touchesHole(left.block, { holding: [gapBetween(left.block, right.block)] }) &&
          !touchesHole(right.block, { holding: [gapBetween(left.block, right.block)] })
        );
      }),
    );
  });
});
