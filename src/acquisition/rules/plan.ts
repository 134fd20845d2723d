import { isBitTable, type ModbusPoint, type ModbusQuirks, type ModbusTable, pointWidth } from "../../domain/profile.ts";

/** One request: `count` registers, or bits in a bit table. */
export interface Block {
  readonly table: ModbusTable;
  readonly address: number;
  readonly count: number;
}

/**
 * Address ranges that no block may touch, [first, last], per table. A range with last = first - 1 is a border:
 * blocks may end and start there but not span it.
 */
export type Holes = ModbusQuirks["holes"];

export interface PlanOptions {
  readonly max_registers: number;
  readonly max_bits: number;
  readonly holes: Holes;
  /** What a round trip costs, in the time that one register takes on this link: large on TCP, about 10 on a slow serial line. */
  readonly round_trip_registers: number;
}

export interface Plan {
  readonly blocks: readonly Block[];
  /** For each point, in the order given: the block that reads it, and where in the block it starts. */
  readonly places: readonly { readonly block: number; readonly offset: number }[];
}

interface Span {
  readonly point: number;
  readonly start: number;
  readonly end: number;
}

const BITS_PER_REGISTER = 16;

/**
 * The cheapest set of blocks in which every point stands whole. Optimal: blocks of a best plan are never nested, so
 * some best plan is a partition of the points sorted by start, and the dynamic programme tries all of those.
 * A point that no block can hold (wider than the limit, or in a hole) gets a block of its own, and stands between no
 * others: whether to ask the device for it is the caller's matter.
 */
export function planReads(points: readonly ModbusPoint[], options: PlanOptions): Plan {
  const blocks: Block[] = [];
  const places: { block: number; offset: number }[] = points.map(() => ({ block: -1, offset: 0 }));
  for (const table of tablesOf(points)) {
    for (const spans of cutsOf(spansOf(points, table), table, options)) {
      const address = spans[0]?.start ?? 0;
      const count = endOf(spans) - address;
      for (const span of spans) places[span.point] = { block: blocks.length, offset: span.start - address };
      blocks.push({ table, address, count });
    }
  }
  return { blocks, places };
}

/** Cost of a plan in registers; a bit costs a sixteenth. */
export function planCost(blocks: readonly Block[], roundTripRegisters: number): number {
  return blocks.reduce((sum, block) => sum + blockCost(block.table, block.count, roundTripRegisters), 0);
}

/** Whether a block would touch a hole or span a border. */
export function touchesHole(block: Block, holes: Holes): boolean {
  const end = block.address + block.count;
  return (holes[block.table] ?? []).some(([first, last]) => block.address <= last && end > first);
}

function blockCost(table: ModbusTable, count: number, roundTripRegisters: number): number {
  return roundTripRegisters + (isBitTable(table) ? count / BITS_PER_REGISTER : count);
}

function tablesOf(points: readonly ModbusPoint[]): readonly ModbusTable[] {
  return [...new Set(points.map((point) => point.table))];
}

function spansOf(points: readonly ModbusPoint[], table: ModbusTable): readonly Span[] {
  return points
    .map((point, index) => ({ point, index }))
    .filter(({ point }) => point.table === table)
    .map(({ point, index }) => ({ point: index, start: point.address, end: point.address + pointWidth(point) }))
    .sort((a, b) => a.start - b.start || a.end - b.end || a.point - b.point);
}

function endOf(spans: readonly Span[]): number {
  return spans.reduce((end, span) => Math.max(end, span.end), 0);
}

function cutsOf(spans: readonly Span[], table: ModbusTable, options: PlanOptions): readonly (readonly Span[])[] {
  const limit = isBitTable(table) ? options.max_bits : options.max_registers;
  const fits = ({ start, end }: Span): boolean =>
    end - start <= limit && !touchesHole({ table, address: start, count: end - start }, options.holes);
  const alone = spans.filter((span) => !fits(span)).map((span) => [span]);
  return [...partition(spans.filter(fits), table, options), ...alone];
}

/** best[i]: cheapest way to read the first i spans, and where its last block starts. */
function partition(spans: readonly Span[], table: ModbusTable, options: PlanOptions): readonly (readonly Span[])[] {
  const limit = isBitTable(table) ? options.max_bits : options.max_registers;
  const best: { cost: number; from: number }[] = [{ cost: 0, from: 0 }];
  for (let upTo = 1; upTo <= spans.length; upTo++) {
    let choice = { cost: Infinity, from: upTo - 1 };
    let end = 0;
    for (let from = upTo - 1; from >= 0; from--) {
      const { start, end: spanEnd } = spans[from] ?? { start: 0, end: 0 };
      end = Math.max(end, spanEnd);
      const block = { table, address: start, count: end - start };
      const alone = from === upTo - 1;
      if (!alone && (block.count > limit || touchesHole(block, options.holes))) break;
      const cost = (best[from]?.cost ?? 0) + blockCost(table, block.count, options.round_trip_registers);
      if (cost < choice.cost) choice = { cost, from };
    }
    best.push(choice);
  }
  const cuts: (readonly Span[])[] = [];
  for (let upTo = spans.length; upTo > 0; upTo = best[upTo]?.from ?? 0) {
    cuts.push(spans.slice(best[upTo]?.from ?? 0, upTo));
  }
  return cuts.reverse();
}
