import type { ModbusPoint, ModbusTable, ProfileTag } from "./types/profile.ts";

/** Last address of every Modbus table. */
export const LAST_ADDRESS = 65_535;

const WIDE_TYPES: ReadonlySet<string> = new Set(["uint32", "int32", "float32"]);

/** Coils and discrete inputs are read as bits, the other two tables as 16-bit registers. */
export function isBitTable(table: ModbusTable): boolean {
  return table === "coil" || table === "discrete";
}

/** How many addresses of its table a point takes: bits in a bit table, registers else. */
export function pointWidth(point: ModbusPoint): number {
  if (point.type === "string") return point.length ?? 1;
  return WIDE_TYPES.has(point.type) ? 2 : 1;
}

/** The tags that one poll of the group reads, in the profile's order. */
export function tagsOfGroup<T extends ProfileTag>(
  profile: { readonly tags: readonly T[] },
  group: string,
): readonly T[] {
  return profile.tags.filter((tag) => tag.group === group);
}
