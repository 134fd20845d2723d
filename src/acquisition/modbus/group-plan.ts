import { type Block, type Holes, type PlanOptions, planReads, touchesHole } from "../rules/plan.ts";
import { overlapGroups, type Piece, pieceOf } from "../rules/plan-split.ts";
import {
  type ModbusPoint,
  type ModbusProfile,
  MODBUS_TABLES,
  type ModbusTag,
  pointWidth,
  tagsOfGroup,
} from "../../domain/profile.ts";

/** How one poll group is read, as far as it is known today. */
export interface GroupPlan {
  readonly tags: readonly ModbusTag[];
  readonly points: readonly ModbusPoint[];
  /** Read in every poll. */
  readonly pieces: readonly Piece[];
  /** Points that the device has refused: each alone, and only now and then. */
  readonly refused: readonly Piece[];
}

/** @param learned points in these holes aren't planned with others; the profile's own holes are in `options`. */
export function planGroup(
  profile: ModbusProfile,
  group: string,
  plan: { options: PlanOptions; learned: Holes },
): GroupPlan {
  const tags = tagsOfGroup(profile, group);
  const points = tags.map((tag) => tag.point);
  const all = points.map((_, index) => index);
  const isRefused = (index: number): boolean => touchesHole(blockOf(points[index]), plan.learned);
  const readable = all.filter((index) => !isRefused(index));
  const { blocks, places } = planReads(
    readable.flatMap((index) => points[index] ?? []),
    plan.options,
  );
  const pieces = blocks.map((_, block) => {
    const indices = readable.filter((_index, position) => places[position]?.block === block);
    return pieceOf(points, byAddress(points, indices));
  });
  const refused = MODBUS_TABLES.flatMap((table) =>
    overlapGroups(
      points,
      all.filter((index) => isRefused(index) && points[index]?.table === table),
    ).map((indices) => pieceOf(points, indices)),
  );
  return { tags, points, pieces, refused };
}

function blockOf(point: ModbusPoint | undefined): Block {
  if (point === undefined) return { table: "holding", address: 0, count: 0 };
  return { table: point.table, address: point.address, count: pointWidth(point) };
}

function byAddress(points: readonly ModbusPoint[], indices: readonly number[]): readonly number[] {
  return indices.toSorted((a, b) => (points[a]?.address ?? 0) - (points[b]?.address ?? 0));
}
