import { planReads } from "../../src/core/plan.ts";
import { isBitTable, pointWidth } from "../../src/core/profile.ts";
import type { ModbusPoint } from "../../src/core/types/profile.ts";
import { point, QUIRKS } from "../support/profiles.ts";
import type { Family, Figure } from "./figure.ts";

/** Requests per poll of 60 tags in 300 registers and 40 bits, against the fewest possible. */

function map(): readonly ModbusPoint[] {
  const words = Array.from({ length: 40 }, (_, i) =>
    point({ address: Math.floor(i * 7.5), type: i % 2 === 0 ? "uint32" : "uint16" }),
  );
  const bits = Array.from({ length: 20 }, (_, i) => point({ table: "coil", address: 2 * i, type: "bool" }));
  return [...words, ...bits];
}

/** Fewest blocks that cover the points of a map without overlaps and holes: take as much as fits, again and again. */
function fewest(points: readonly ModbusPoint[]): number {
  return [true, false].reduce((sum, bits) => {
    const limit = bits ? QUIRKS.max_bits : QUIRKS.max_registers;
    const sorted = points.filter(({ table }) => isBitTable(table) === bits).toSorted((a, b) => a.address - b.address);
    let reach = -1;
    let blocks = 0;
    for (const at of sorted) {
      if (at.address + pointWidth(at) <= reach) continue;
      reach = at.address + limit;
      blocks++;
    }
    return sum + blocks;
  }, 0);
}

function run(): Promise<readonly Figure[]> {
  const points = map();
  const requests = planReads(points, { ...QUIRKS, round_trip_registers: 500 }).blocks.length;
  const anchor = fewest(points);
  const ratio = requests / anchor;
  const target = "the fewest requests that a TCP link allows: 1.00";
  return Promise.resolve([
    { name: "plan.requests_ratio", value: ratio, unit: "", anchor: 1, ratio, target, reached: ratio === 1 },
    {
      name: "plan.requests",
      value: requests,
      unit: "requests",
      anchor: points.length,
      ratio: requests / points.length,
      target: "anchor: a request per tag",
      reached: null,
    },
  ]);
}

export const planFamily: Family = { name: "plan", run };
