import type { ModbusTable } from "../../domain/profile.ts";

/**
 * This module has the Modbus addresses of a CLICK PLC's memory, which are the same for every CLICK and CLICK PLUS. Sources: the address
 * picker's export (programming software 3.41, Modicon 984 and hexadecimal numbers), and chapter 2 of the hardware user manual, "Modbus
 * addressing".
 */

/** A memory area whose values are numbered from 1. `start` is the 0-based Modbus address of value 1; `last` is the last number. */
type Memory = readonly [table: ModbusTable, type: string, start: number, last: number];

const MEMORY: Readonly<Record<string, Memory>> = {
  C: ["coil", "bool", 0x4000, 2000],
  T: ["discrete", "bool", 0xb000, 500],
  CT: ["discrete", "bool", 0xc000, 250],
  SC: ["discrete", "bool", 0xf000, 1000],
  DS: ["holding", "int16", 0x0000, 4500],
  DD: ["holding", "int32", 0x4000, 1000],
  DH: ["holding", "uint16", 0x6000, 500],
  DF: ["holding", "float32", 0x7000, 500],
  TD: ["holding", "int16", 0xb000, 500],
  CTD: ["holding", "int32", 0xc000, 250],
  SD: ["input", "int16", 0xf000, 1000],
};
/** Inputs (X) and outputs (Y) as bits: two banks of 16 for the CPU, then 32 for each module, of which the first 16 are used. */
const POINTS: Readonly<Record<string, { readonly table: ModbusTable; readonly start: number }>> = {
  X: { table: "discrete", start: 0x0000 },
  Y: { table: "coil", start: 0x2000 },
};
/** Inputs and outputs as words, two registers apart: 0 and 0u for the CPU, 1 to 8 for the modules. */
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

/**
 * Finds the Modbus address of a CLICK's memory address. Returns null for an unknown address, and "half" for an even TXT number, which
 * begins in the middle of a register.
 */
export function clickPlace(text: string): ClickPlace | "half" | null {
  const [, name = "", digits = "", upper = ""] = SPELLING.exec(text) ?? [];
  const memory = name.toUpperCase();
  const number = Number(digits);
  const words = WORDS[memory];
  if (words !== undefined) {
    if (number > LAST_MODULE || (upper !== "" && number !== 0)) return null;
    return { table: words.table, address: words.start + 2 * number + (upper === "" ? 0 : 1), type: "uint16" };
  }
  if (digits === "" || upper !== "") return null;
  const points = POINTS[memory];
  if (points !== undefined) return pointPlace(points, number);
  if (memory === "TXT") {
    if (number < 1 || number > TXT.last) return null;
    return number % 2 === 0 ? "half" : { table: TXT.table, address: TXT.start + (number - 1) / 2, type: "string" };
  }
  const known = MEMORY[memory];
  if (known === undefined) return null;
  const [table, type, start, last] = known;
  if (number < 1 || number > last) return null;
  return { table, address: start + (number - 1) * (type.endsWith("32") ? 2 : 1), type };
}

function pointPlace({ table, start }: { table: ModbusTable; start: number }, number: number): ClickPlace | null {
  const module = Math.floor(number / 100);
  const point = number % 100;
  // Maps the numbers 021 to 036 to the CPU's second bank.
  if (module === 0 && point >= 21 && point <= 36) return { table, address: start + 16 + point - 21, type: "bool" };
  if (module > LAST_MODULE || point < 1 || point > 16) return null;
  return { table, address: start + 32 * module + point - 1, type: "bool" };
}
