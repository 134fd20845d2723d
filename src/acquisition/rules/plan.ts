import { isBitTable, type ModbusPoint, type ModbusQuirks, type ModbusTable, pointWidth } from "../../domain/profile.ts";

/** A request for `count` registers, or for `count` bits of a bit table. */
export interface Block {
  readonly table: ModbusTable;
  readonly address: number;
  readonly count: number;
}

/**
 * Holes: address ranges that no block may touch, [first, last], per table. A range with last = first - 1 is a border: blocks may end or
 * start there, but not span it.
 */
export type Holes = ModbusQuirks["holes"];

export interface PlanOptions {
  readonly max_registers: number;
  readonly max_bits: number;
  readonly holes: Holes;
  /** Cost of a round trip, as the number of registers that take the same time. It is large on TCP, and about 10 on a slow serial line. */
  readonly round_trip_registers: number;
}

export type Plan = ReturnType<typeof planReads>;

interface Span {
  readonly point: number;
  readonly start: number;
  readonly end: number;
}

const BITS_PER_REGISTER = 16;

/**
 * Returns the cheapest set of blocks in which every point is contained as a whole. The result is optimal. The blocks of a best plan are
 * never nested, so some best plan partitions the points sorted by start, and the dynamic program tries all partitions. A point that fits no
 * block (wider than the limit, or in a hole) gets its own block; the caller decides whether to request that block.
 */
export function planReads(points: readonly ModbusPoint[], options: PlanOptions) {
  const blocks: Block[] = [];
  /** The block of each point, and the point's position in that block, in the order of the points. */
  const places: { block: number; offset: number }[] = points.map(() => ({ block: -1, offset: 0 }));
  const all = points.map((at, point) => ({
    table: at.table,
    point,
    start: at.address,
    end: at.address + pointWidth(at),
  }));
  for (const [table, own] of Map.groupBy(all, (span) => span.table)) {
    own.sort((a, b) => a.start - b.start || a.end - b.end || a.point - b.point);
    for (const spans of cutsOf(own, table, options)) {
      const address = spans[0]?.start ?? 0;
      const count = endOf(spans) - address;
      for (const span of spans) places[span.point] = { block: blocks.length, offset: span.start - address };
      blocks.push({ table, address, count });
    }
  }
  return { blocks, places };
}

/** Returns the cost of a plan in registers. A bit costs a sixteenth of a register. */
export function planCost(blocks: readonly Block[], roundTripRegisters: number): number {
  return blocks.reduce((sum, block) => sum + blockCost(block.table, block.count, roundTripRegisters), 0);
}

/** Returns whether a block touches a hole or spans a border. */
export function touchesHole(block: Block, holes: Holes): boolean {
  const end = block.address + block.count;
  return (holes[block.table] ?? []).some(([first, last]) => block.address <= last && end > first);
}

function blockCost(table: ModbusTable, count: number, roundTripRegisters: number): number {
  return roundTripRegisters + (isBitTable(table) ? count / BITS_PER_REGISTER : count);
}

function endOf(spans: readonly Span[]): number {
  return spans.reduce((end, span) => Math.max(end, span.end), 0);
}

function cutsOf(spans: readonly Span[], table: ModbusTable, options: PlanOptions): readonly (readonly Span[])[] {
  const limit = isBitTable(table) ? options.max_bits : options.max_registers;
  const fits = (start: number, end: number): boolean =>
    end - start <= limit && !touchesHole({ table, address: start, count: end - start }, options.holes);
  const isUsual = ({ start, end }: Span): boolean => fits(start, end);
  const alone = spans.filter((span) => !isUsual(span)).map((span) => [span]);
  const costOf = (count: number): number => blockCost(table, count, options.round_trip_registers);
  return [...partition(spans.filter(isUsual), fits, costOf), ...alone];
}

/** Partitions the spans. `best[i]` is the cheapest plan for the first i spans: its cost, and the index at which its last block starts. */
function partition(
  spans: readonly Span[],
  fits: (start: number, end: number) => boolean,
  costOf: (count: number) => number,
): readonly (readonly Span[])[] {
  const best: { cost: number; from: number }[] = [{ cost: 0, from: 0 }];
  for (let upTo = 1; upTo <= spans.length; upTo++) {
    let choice = { cost: Infinity, from: upTo - 1 };
    let end = 0;
    for (let from = upTo - 1; from >= 0; from--) {
      const { start, end: spanEnd } = spans[from] ?? { start: 0, end: 0 };
      end = Math.max(end, spanEnd);
      if (!fits(start, end)) break;
      const cost = (best[from]?.cost ?? 0) + costOf(end - start);
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

/** Addresses [first, last] of a hole. If last = first - 1, the range is a border between two addresses. */
export type HoleRange = readonly [number, number];

/** Points of one table (indices, sorted by address) and the block that reads them. */
export interface Piece {
  readonly indices: readonly number[];
  readonly block: Block;
}

export function pieceOf(points: readonly ModbusPoint[], indices: readonly number[]): Piece {
  const chosen = indices.flatMap((index) => points[index] ?? []);
  const address = Math.min(...chosen.map((point) => point.address));
  const end = Math.max(...chosen.map((point) => point.address + pointWidth(point)));
  return { indices, block: { table: chosen[0]?.table ?? "holding", address, count: end - address } };
}

/** Splits a piece as near the middle as possible, but not within a point. Returns null if that is impossible. */
export function halves(points: readonly ModbusPoint[], piece: Piece): readonly [Piece, Piece] | null {
  const groups = overlapGroups(points, piece.indices);
  if (groups.length < 2) return null;
  const middle = Math.ceil(groups.length / 2);
  return [pieceOf(points, groups.slice(0, middle).flat()), pieceOf(points, groups.slice(middle).flat())];
}

/** Groups points that share addresses (bits of one register), in order of address. */
export function overlapGroups(points: readonly ModbusPoint[], indices: readonly number[]) {
  const sorted = indices.toSorted((a, b) => (points[a]?.address ?? 0) - (points[b]?.address ?? 0));
  const groups: number[][] = [];
  let end = -1;
  for (const index of sorted) {
    const point = points[index];
    if (point === undefined) continue;
    if (point.address >= end) groups.push([index]);
    else groups.at(-1)?.push(index);
    end = Math.max(end, point.address + pointWidth(point));
  }
  return groups;
}

/** Returns the range between two blocks that can be read alone but not together. The range is a hole, or a border if the blocks touch. */
export function gapBetween(left: Block, right: Block): HoleRange {
  return [left.address + left.count, right.address - 1];
}

export function rangeOf(block: Block): HoleRange {
  return [block.address, block.address + block.count - 1];
}
