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

export type Plan = ReturnType<typeof planReads>;

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
export function planReads(points: readonly ModbusPoint[], options: PlanOptions) {
  const blocks: Block[] = [];
  /** For each point, in the order given: the block that reads it, and where in the block it starts. */
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

/** [first, last]; last = first - 1 is a border between two addresses. */
export type HoleRange = readonly [number, number];

/** Points (by index, sorted by address) of one table and the block that reads them. */
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

/** Cut where no point straddles, as near the middle as possible; null where there is no such place. */
export function halves(points: readonly ModbusPoint[], piece: Piece): readonly [Piece, Piece] | null {
  const groups = overlapGroups(points, piece.indices);
  if (groups.length < 2) return null;
  const middle = Math.ceil(groups.length / 2);
  return [pieceOf(points, groups.slice(0, middle).flat()), pieceOf(points, groups.slice(middle).flat())];
}

/** Points that share addresses (bits of one register) stand or fall together; groups come in order of address. */
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

/** What lies between two blocks that answer alone but not together: a hole, or a border where they touch. */
export function gapBetween(left: Block, right: Block): HoleRange {
  return [left.address + left.count, right.address - 1];
}

export function rangeOf(block: Block): HoleRange {
  return [block.address, block.address + block.count - 1];
}

export function addHole(holes: Holes, table: ModbusTable, range: HoleRange): Holes {
  const known = holes[table] ?? [];
  if (known.some(([first, last]) => first === range[0] && last === range[1])) return holes;
  return { ...holes, [table]: [...known, range].toSorted((a, b) => a[0] - b[0] || a[1] - b[1]) };
}

/** Without those that a block touched which was answered after all. */
export function forgetHoles(holes: Holes, block: Block): Holes {
  const known = holes[block.table] ?? [];
  const end = block.address + block.count;
  const kept = known.filter(([first, last]) => !(block.address <= last && end > first));
  return kept.length === known.length ? holes : { ...holes, [block.table]: kept };
}

/** Without that one. */
export function forgetRange(holes: Holes, table: ModbusTable, range: HoleRange): Holes {
  const kept = (holes[table] ?? []).filter(([first, last]) => first !== range[0] || last !== range[1]);
  return { ...holes, [table]: kept };
}

/** Declared and learned ones together. */
export function uniteHoles(a: Holes, b: Holes): Holes {
  return Object.entries(b).reduce<Holes>(
    (all, [table, ranges]) => ranges.reduce<Holes>((sum, range) => addHole(sum, table as ModbusTable, range), all),
    a,
  );
}
