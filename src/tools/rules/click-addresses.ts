import type { ModbusTable } from "../../domain/profile.ts";

/**
 * Modbus addresses of a CLICK PLC's memory. They are fixed, the same for every CLICK and CLICK PLUS. The table agrees with the
 * address picker's own export (programming software 3.41, numbers as 984 and as hexadecimal), and with chapter 2 of the
 * hardware user manual, "Modbus addressing".
 */

interface Memory {
  readonly table: ModbusTable;
  /** Of the first number, counted from 0. */
  readonly start: number;
  readonly first: number;
  readonly last: number;
  /** Registers of one value. */
  readonly width: number;
  /** A type of the profile for each value. */
  readonly type: string;
}

const bits = (table: "coil" | "discrete", start: number, last: number): Memory => ({
  table,
  start,
  first: 1,
  last,
  width: 1,
  type: "bool",
});
const registers = (type: string, start: number, last: number): Memory => ({
  table: "holding",
  start,
  first: 1,
  last,
  width: type.endsWith("32") ? 2 : 1,
  type,
});

const MEMORY: Readonly<Record<string, Memory>> = {
  C: bits("coil", 0x4000, 2000),
  T: bits("discrete", 0xb000, 500),
  CT: bits("discrete", 0xc000, 250),
  SC: bits("discrete", 0xf000, 1000),
  DS: registers("int16", 0x0000, 4500),
  DD: registers("int32", 0x4000, 1000),
  DH: registers("uint16", 0x6000, 500),
  DF: registers("float32", 0x7000, 500),
  TD: registers("int16", 0xb000, 500),
  CTD: registers("int32", 0xc000, 250),
  SD: { ...registers("int16", 0xf000, 1000), table: "input" },
};
/** Bits of the modules: the CPU's two banks of 16, then each module's first 16 of 32. */
const POINTS: Readonly<Record<string, { readonly table: ModbusTable; readonly start: number }>> = {
  X: { table: "discrete", start: 0x0000 },
  Y: { table: "coil", start: 0x2000 },
};
/** The same bits as words: 0 and 0u are the CPU's, 1 to 8 the modules', two registers apart. */
const WORDS: Readonly<Record<string, { readonly table: ModbusTable; readonly start: number }>> = {
  XD: { table: "input", start: 0xe000 },
  YD: { table: "holding", start: 0xe200 },
};
const TXT = { table: "holding", start: 0x9000, last: 1000 } as const;
const LAST_MODULE = 8;

interface ClickPlace {
  readonly table: ModbusTable;
  readonly address: number;
  readonly type: string;
}

const SPELLING = /^(X|Y|C|T|CT|SC|DS|DD|DH|DF|TD|CTD|SD|TXT|XD|YD)(\d{1,4})(u?)$/i;

/** Finds where a CLICK keeps such a value. Returns null for an address that a CLICK doesn't have; for an even TXT, which begins in the middle of a register, "half". */
export function clickPlace(text: string): ClickPlace | "half" | null {
  const [, name = "", digits = "", upper = ""] = SPELLING.exec(text) ?? [];
  const memory = name.toUpperCase();
  const number = Number(digits);
  const words = WORDS[memory];
  if (words !== undefined) return wordPlace(words, number, upper !== "");
  if (digits === "" || upper !== "") return null;
  const points = POINTS[memory];
  if (points !== undefined) return pointPlace(points, number);
  if (memory === "TXT") return textPlace(number);
  const known = MEMORY[memory];
  if (known === undefined || number < known.first || number > known.last) return null;
  return { table: known.table, address: known.start + (number - known.first) * known.width, type: known.type };
}

function pointPlace({ table, start }: { table: ModbusTable; start: number }, number: number): ClickPlace | null {
  const module = Math.floor(number / 100);
  const point = number % 100;
  // The CPU's second bank is 021 to 036.
  if (module === 0 && point >= 21 && point <= 36) return { table, address: start + 16 + point - 21, type: "bool" };
  if (module > LAST_MODULE || point < 1 || point > 16) return null;
  return { table, address: start + 32 * module + point - 1, type: "bool" };
}

function wordPlace(
  { table, start }: { table: ModbusTable; start: number },
  module: number,
  isUpper: boolean,
): ClickPlace | null {
  if (module > LAST_MODULE || (isUpper && module !== 0)) return null;
  return { table, address: start + 2 * module + (isUpper ? 1 : 0), type: "uint16" };
}

function textPlace(number: number): ClickPlace | "half" | null {
  if (number < 1 || number > TXT.last) return null;
  return number % 2 === 0 ? "half" : { table: TXT.table, address: TXT.start + (number - 1) / 2, type: "string" };
}
