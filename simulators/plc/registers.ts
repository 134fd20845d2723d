import { encodePoint, widthOf } from "./encode.ts";
import { bayQuantityOf, type Quantity } from "./quantities.ts";
import type { ModbusProfile, ModbusTable, ModbusTag, Profile } from "../../src/domain/profile.ts";
import type { Mode } from "../../src/domain/booth.ts";
import type { Booth } from "./model/booth.ts";
import type { BoothState } from "./model/types.ts";

/** Value of the mode register for a mode without a code in the profile. */
const UNMAPPED_CODE = 99;

/**
 * Returns the function for the PLC's mode code. If bake has several codes, the first is the ramp and the last the soak.
 */
export function modeCoder(profile: Profile): (state: { readonly mode: Mode; readonly phase: string | null }) => number {
  const codes = new Map<string, number[]>();
  const inOrder = Object.entries(profile.modes).toSorted((a, b) => Number(a[0]) - Number(b[0]));
  for (const [code, mode] of inOrder) codes.set(mode, [...(codes.get(mode) ?? []), Number(code)]);
  return ({ mode, phase }) => (phase === "soak" ? codes.get(mode)?.at(-1) : codes.get(mode)?.[0]) ?? UNMAPPED_CODE;
}

/** Age of the high words in a torn read. */
const TORN_MS = 10_000;

export interface Span {
  readonly table: ModbusTable;
  readonly address: number;
  readonly count: number;
}

/** Reads the device's memory at one instant. */
export interface RegisterImage {
  /**
   * Returns `count` values from `address` on (0 or 1 for coil and discrete), or null if the device lacks an address.
   * All values are of the same instant, except in a torn read, whose high words are older.
   */
  read(span: Span, at: number, torn?: boolean): readonly number[] | null;
  /** Returns the exception for such a read at that instant; null: none. Absent: never an exception. */
  refuses?(span: Span, at: number): number | null;
}

/** Makes the profile's register map, filled from the booth. */
export function registerImage(profile: ModbusProfile, booth: Booth): RegisterImage {
  const code = modeCoder(profile);
  const tables = Map.groupBy(profile.tags, (tag) => tag.point.table);
  const value = (tag: ModbusTag, state: BoothState): Quantity =>
    bayQuantityOf(booth, tag, { state, code }) ?? (tag.point.type === "string" ? "" : 0);
  const words = (tag: ModbusTag, state: BoothState): readonly number[] => encodePoint(profile, tag, value(tag, state));
  const tornWords = (tag: ModbusTag, state: BoothState): readonly number[] => {
    const now = words(tag, state);
    if (tag.point.type === "string" || now.length < 2) return now;
    const before = words(tag, booth.stateAt(state.at - TORN_MS));
    const lowFirst = (tag.point.word_order ?? profile.quirks.word_order) === "low_first";
    const lowHalf = (i: number): boolean => (lowFirst ? i < now.length / 2 : i >= now.length / 2);
    return now.map((word, i) => (lowHalf(i) ? word : (before[i] ?? word)));
  };
  return {
    read: ({ table, address, count }, at, torn = false) => {
      const tags = tables.get(table);
      const end = address + count;
      const isHole = (profile.quirks.holes[table] ?? []).some(([first, last]) => first < end && address <= last);
      if (!tags || isHole || end > 65_536) return null;
      const state = booth.stateAt(at);
      const memory = new Array<number>(count).fill(0);
      for (const tag of tags) {
        const start = tag.point.address;
        if (start >= end || start + widthOf(tag.point) <= address) continue;
        for (const [i, word] of (torn ? tornWords : words)(tag, state).entries()) {
          const place = start + i - address;
          // Several bits may share a register, hence "or".
          if (place >= 0 && place < count) memory[place] = (memory[place] ?? 0) | word;
        }
      }
      return memory;
    },
  };
}
