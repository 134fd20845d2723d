import { planCost, planReads } from "../../src/acquisition/rules/plan.ts";
import { isBitTable, type ModbusPoint, pointWidth } from "../../src/domain/profile.ts";
import { point, QUIRKS } from "../support/profiles.ts";
import type { Family, Figure } from "./figure.ts";

/** Requests per poll of 60 tags in 300 registers and 40 bits, against the fewest possible; and what a slow line pays for them. */

/** A round trip at 19200 baud takes about as long as ten registers. */
const SERIAL_ROUND_TRIP_REGISTERS = 10;
const GROUPS = 10;
const GROUP_WORDS = 6;
const GROUP_SPACING = 30;

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

/** Ten groups of six words each, with more room between them than a round trip is worth. */
function groups(): readonly ModbusPoint[] {
  return Array.from({ length: GROUPS * GROUP_WORDS }, (_, i) =>
    point({ address: Math.floor(i / GROUP_WORDS) * GROUP_SPACING + (i % GROUP_WORDS) }),
  );
}

/** The least that reading those words from `from` on can cost, by trying every end of the first block. */
function leastCost(points: readonly ModbusPoint[], from = 0, known = new Map<number, number>()): number {
  const first = points[from];
  if (first === undefined) return 0;
  const costs = points.slice(from).flatMap(({ address }, index) => {
    const count = address - first.address + 1;
    if (count > QUIRKS.max_registers) return [];
    const next = from + index + 1;
    const rest = known.get(next) ?? leastCost(points, next, known);
    known.set(next, rest);
    return [SERIAL_ROUND_TRIP_REGISTERS + count + rest];
  });
  return Math.min(...costs);
}

function serialFigure(): Figure {
  const points = groups();
  const cost = (round_trip_registers: number): number =>
    planCost(planReads(points, { ...QUIRKS, round_trip_registers }).blocks, SERIAL_ROUND_TRIP_REGISTERS);
  const least = leastCost(points);
  const widest = cost(500);
  const ratio = cost(SERIAL_ROUND_TRIP_REGISTERS) / least;
  const target = "of what the best plan costs at 19200 baud: 1.00; anchor: the fewest requests";
  const figure = { name: "plan.serial_cost_ratio", value: ratio, unit: "", anchor: widest / least };
  return { ...figure, ratio: (ratio * least) / widest, target, reached: ratio === 1 };
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
    serialFigure(),
  ]);
}

export const planFamily: Family = { name: "plan", run };
