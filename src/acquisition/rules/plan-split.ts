import type { Block, Holes } from "./plan.ts";
import { type ModbusPoint, type ModbusTable, pointWidth } from "../../domain/profile.ts";

/** What is done with a block that the device refuses, and what is learned from it. Pure. */

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
export function overlapGroups(
  points: readonly ModbusPoint[],
  indices: readonly number[],
): readonly (readonly number[])[] {
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
