import type { ModbusPoint, ModbusTable, ModbusType, ProfileTag } from "./types/profile.ts";

/** Last address of every Modbus table. */
export const LAST_ADDRESS = 65_535;

const REGISTERS: Readonly<Record<ModbusType, number>> = {
  bool: 1,
  uint16: 1,
  int16: 1,
  bcd16: 1,
  uint32: 2,
  int32: 2,
  float32: 2,
  bcd32: 2,
  uint64: 4,
  int64: 4,
  float64: 4,
  string: 1,
};

/** Coils and discrete inputs are read as bits, the other two tables as 16-bit registers. */
export function isBitTable(table: ModbusTable): boolean {
  return table === "coil" || table === "discrete";
}

/** How many addresses of its table a point takes: bits in a bit table, registers else. */
export function pointWidth(point: ModbusPoint): number {
  if (point.type === "string") return point.length ?? 1;
  return REGISTERS[point.type];
}

/** The tags that one poll of the group reads, in the profile's order. */
export function tagsOfGroup<T extends ProfileTag>(
  profile: { readonly tags: readonly T[] },
  group: string,
): readonly T[] {
  return profile.tags.filter((tag) => tag.group === group);
}
