import { type AddressFault, parseAddress, type TableAddress } from "../../config/profile-address.ts";
import { isBitTable, LAST_ADDRESS, type ModbusTable } from "../../domain/profile.ts";
import { say } from "../../domain/sentences.ts";
import { clickPlace } from "./click-addresses.ts";
import { tableIn, tableOfFunction } from "./list-tables.ts";
import type { ListRow, RegisterList } from "./register-list.ts";

/**
 * From the addresses of a register list to places in Modbus tables. Pure. Reading takes two steps, because what one row leaves
 * open another row may decide: first each address becomes a Notation, then the whole list's Reading makes a place of each.
 */

type ListPlace = TableAddress & { readonly bit?: number };

/** An address as it is written, before it is known where the list's numbers begin. */
type Notation =
  /** Certain by itself. */
  | { readonly kind: "place"; readonly place: ListPlace }
  /** Table digit and number: 400001, 40001, 4x0001. The first number is 1, unless the list has a number 0. */
  | {
      readonly kind: "modicon";
      readonly table: ModbusTable;
      readonly number: number;
      readonly bit: number | null;
      /** Five digits: the whole number may be an address too. null: it can't. */
      readonly whole: number | null;
      /** A column of the list names the table as well. */
      readonly is_named: boolean;
    }
  /** A number within a table. "registers" and "bits": the row doesn't name the table. */
  | {
      readonly kind: "plain";
      readonly table: ModbusTable | "registers" | "bits";
      readonly number: number;
      readonly bit: number | null;
    }
  /** A byte of a PLC's memory. `block`: DB11, or M for the flags; null: the list's own block. */
  | { readonly kind: "byte"; readonly block: string | null; readonly byte: number; readonly bit: number | null }
  /** A flag word: register 10 where words are counted (%MW10), else bytes 10 and 11 of block M. */
  | { readonly kind: "word"; readonly number: number }
  /** 12.3: a bit of a register, or of a byte. */
  | {
      readonly kind: "dotted";
      readonly table: ModbusTable | "registers";
      readonly first: number;
      readonly bit: number;
      /** false: a whole value at byte 12, written 12.0. */
      readonly is_bit: boolean;
    }
  | { readonly kind: "fault"; readonly fault: AddressFault };

/** A row's type and address, as they are read so far. */
export interface ReadRow {
  readonly row: ListRow;
  readonly type: string;
  readonly notation: Notation;
}

/** What the rows of one list leave open together. */
export interface Reading {
  /** The first number of a table. */
  readonly base: 0 | 1;
  /** "digit": a five-digit number's first digit names its table. "whole": it is part of the number. */
  readonly modicon: "digit" | "whole";
  /** The number that stands for the first place after the table's digit. */
  readonly modicon_base: 0 | 1;
  readonly registers: ModbusTable;
  readonly bits: ModbusTable;
  /** The memory that the PLC serves as holding registers; "words": the words of the flags, each a register; "none": nothing. */
  readonly block: string;
  readonly dots: "bits" | "bytes";
}

/** What words of a table column mean, beyond those that are known. */
export type TableWords = ReadonlyMap<string, ModbusTable>;

/** The table that a row names in a column. null: it names none. A text: it names one that can't be told. */
export function tableOf(
  { cells }: ListRow,
  { columns }: RegisterList,
  { type, words }: { readonly type: string; readonly words: TableWords },
): ModbusTable | null | { readonly unclear: string } {
  const column = tableColumn(columns);
  const cell = column === null ? undefined : cells[column];
  if (column === null || cell === undefined) return null;
  const said = words.get(wordOf(cell)) ?? (column === "function" ? tableOfFunction(cell) : tableIn(cell));
  // "input": the type says whether registers or bits are meant.
  if (said === "some input") return type === "bool" ? { unclear: cell } : "input";
  return said ?? { unclear: cell };
}

/** The column that names tables; a column of function codes only if there is no other. */
export function tableColumn(columns: RegisterList["columns"]): "table" | "function" | null {
  if (columns.includes("table")) return "table";
  return columns.includes("function") ? "function" : null;
}

export function wordOf(cell: string): string {
  return cell.trim().toLowerCase();
}

/** Reads a row's address as far as it can be read alone. `crossed`: the list writes addresses as 4x0001, so that 0x0010 is coil 10. */
export function notationOf(
  { cells }: ListRow,
  { maker }: Pick<RegisterList, "maker">,
  given: { readonly type: string; readonly table: ModbusTable | null; readonly crossed: boolean },
): Notation {
  const click = maker === "CLICK" ? clickNotation(cells) : null;
  if (click !== null) return click;
  const own = /^\d{1,2}$/.test(cells.bit ?? "") ? Number(cells.bit) : null;
  const context = { type: given.type, table: given.table, bit: own, isOwn: maker === "booth-gateway" };
  if (cells.modbus === undefined && cells.address === undefined && cells.address_hex !== undefined) {
    return hexNotation(cells.address_hex.replace(/^(0x|16#|\$)|h$/gi, ""), context);
  }
  const text = (cells.modbus ?? cells.address ?? "").trim();
  const s7 = s7Notation(text, given.type);
  if (s7 !== null) return s7;
  const [, whole = "", bit] = /^(.+?)\.(\d{1,2})$/.exec(text) ?? [];
  if (maker === "TIA" && bit !== undefined && /^\d{1,5}$/.test(whole)) {
    return byteNotation({ block: null, byte: whole, bit }, given.type);
  }
  const hex = /^(?:0x|16#|\$)([0-9a-f]{1,5})$|^([0-9a-f]{1,5})h$/i.exec(text);
  const isCoil = given.crossed && /^0x\d+$/i.test(text);
  if (hex !== null && !isCoil) return hexOrCoil(text, hex[1] ?? hex[2] ?? "", context);
  if (bit !== undefined && /^\d{1,4}$/.test(whole)) {
    return dottedNotation({ first: Number(whole), bit: Number(bit) }, { ...context, text });
  }
  if (bit !== undefined) return numberNotation(whole, { ...context, bit: Number(bit) });
  return numberNotation(given.type === "string" ? text.replace(/\.\d{1,3}[HL]$/i, "") : text, context);
}

const fault = (message: string, hint?: string): Notation => ({
  kind: "fault",
  fault: hint === undefined ? { message } : { message, hint },
});

/** The memory address decides; a Modbus column that says something else is a mistake in the list. */
function clickNotation(cells: ListRow["cells"]): Notation | null {
  const text = (cells.address ?? "").trim();
  const place = clickPlace(text);
  if (place === "half") return fault(say("workshop.half_register", { address: text }));
  if (place === null) return null;
  const { table, address } = place;
  const stated = statedNumber(cells.modbus);
  const numbers = [address, address + 1, modiconNumber(table, address)];
  if (stated !== null && !numbers.includes(stated))
    return fault(say("workshop.click_differs", { address: text, modbus: cells.modbus ?? "", place: placeText(place) }));
  return { kind: "place", place: { table, address } };
}

function statedNumber(modbus: string | undefined): number | null {
  const [, hex] = /^(?:0x)?([0-9a-f]{1,5})h?$/i.exec(modbus ?? "") ?? [];
  if (modbus !== undefined && /^\d+$/.test(modbus)) return Number(modbus);
  return hex === undefined ? null : parseInt(hex, 16);
}

const TABLE_DIGIT: Readonly<Record<ModbusTable, number>> = { coil: 0, discrete: 1, input: 3, holding: 4 };

function modiconNumber(table: ModbusTable, address: number): number {
  return TABLE_DIGIT[table] * 100_000 + address + 1;
}

interface Context {
  readonly type: string;
  readonly table: ModbusTable | null;
  readonly bit: number | null;
  /** This tool's own list, which writes a coil's number without the table's digit. */
  readonly isOwn: boolean;
}

function unnamed({ type, bit }: Context): "registers" | "bits" {
  return type === "bool" && bit === null ? "bits" : "registers";
}

function hexNotation(digits: string, context: Context): Notation {
  const number = /^[0-9a-f]{1,5}$/i.test(digits) ? parseInt(digits, 16) : NaN;
  if (Number.isNaN(number)) return fault(say("address.none", { text: digits.slice(0, 40) }));
  return { kind: "plain", table: context.table ?? unnamed(context), number, bit: context.bit };
}

/** 0x0010, decimal digits alone, in a row that names no table: a spelling of coil 10 too, and only a bit can be a coil. */
function hexOrCoil(text: string, digits: string, context: Context): Notation {
  const canBeCoil = context.table === null && unnamed(context) === "bits" && /^0x\d+$/i.test(text);
  return canBeCoil ? faultOf(text) : hexNotation(digits, context);
}

function dottedNotation(
  { first, bit }: { readonly first: number; readonly bit: number },
  { type, table, text }: Context & { readonly text: string },
): Notation {
  const isBit = type === "bool";
  if ((table !== null && isBitTable(table)) || (!isBit && bit !== 0)) return fault(say("address.none", { text }));
  return { kind: "dotted", table: table ?? "registers", first, bit, is_bit: isBit };
}

const DIGIT_TABLES: Readonly<Record<string, ModbusTable>> = {
  "0": "coil",
  "1": "discrete",
  "3": "input",
  "4": "holding",
};

function numberNotation(text: string, context: Context): Notation {
  const { type, table, bit } = context;
  const six = /^([0134])(\d{5})$/.exec(text) ?? /^([0134])x(\d{1,6})$/i.exec(text);
  // 4x40001 names its table twice.
  if (/^([134])x\1\d{4}$/i.test(text)) return faultOf(text);
  if (six !== null)
    return modiconNotation(text, { digit: six[1] ?? "", number: Number(six[2]), table, bit, whole: null });
  if (!/^\d{1,6}$/.test(text)) return otherNotation(text, bit);
  const five = /^([0134])(\d{4})$/.exec(text);
  if (five !== null) {
    const named = DIGIT_TABLES[five[1] ?? ""];
    const isNamed = table === null ? named !== "discrete" : table === named;
    // Five digits that begin with 0 are a coil's, or a padded number.
    const isCoil = named === "coil" && table === null && type === "bool";
    if (isNamed && (named !== "coil" || isCoil)) {
      const whole = named === "coil" ? null : Number(text);
      return modiconNotation(text, { digit: five[1] ?? "", number: Number(five[2]), table, bit, whole });
    }
    // 10028 is discrete input 28 in five digits, and coil 10028 in six.
    if (table === null && named === "discrete") return faultOf(text);
  }
  const number = Number(text);
  if (number > LAST_ADDRESS + 1) return fault(say("address.outside", { text }));
  if (context.isOwn && table !== null) return { kind: "modicon", table, number, bit, whole: null, is_named: true };
  return { kind: "plain", table: table ?? unnamed(context), number, bit };
}

function faultOf(text: string): Notation {
  const read = parseAddress(text);
  return "message" in read ? { kind: "fault", fault: read } : { kind: "place", place: read };
}

function modiconNotation(
  text: string,
  given: {
    readonly digit: string;
    readonly number: number;
    readonly table: ModbusTable | null;
    readonly bit: number | null;
    readonly whole: number | null;
  },
): Notation {
  const named = DIGIT_TABLES[given.digit] ?? "holding";
  if (given.table !== null && given.table !== named)
    return fault(say("workshop.two_tables", { address: text, named, column: given.table }));
  if (given.number > LAST_ADDRESS + 1) return fault(say("address.beyond_table", { text, table: named }));
  const is_named = given.table !== null;
  return { kind: "modicon", table: named, number: given.number, bit: given.bit, whole: given.whole, is_named };
}

function otherNotation(text: string, bit: number | null): Notation {
  const read = parseAddress(text);
  if ("message" in read) return { kind: "fault", fault: read };
  return { kind: "place", place: bit === null ? read : { ...read, bit } };
}

/** Bytes that a data block's access names, and registers that a type takes. */
const ACCESS_BYTES: Readonly<Record<string, number>> = { B: 1, W: 2, D: 4 };

function s7Notation(text: string, type: string): Notation | null {
  const block = /^%?(DB\d{1,5})\.DB([XBWD])(\d{1,5})(?:\.(\d))?$/i.exec(text);
  const flag = /^%?M([XBWD]?)(\d{1,5})(?:\.(\d))?$/i.exec(text);
  const [, access = "", digits = "", bit] = flag ?? block?.slice(1) ?? [];
  if (block === null && flag === null) return null;
  const size = ACCESS_BYTES[access.toUpperCase()];
  if (size !== undefined && (bit !== undefined || size !== bytesOf(type)))
    return fault(say("workshop.other_size", { address: text, type }));
  if (flag !== null && access.toUpperCase() === "W") return { kind: "word", number: Number(digits) };
  return byteNotation({ block: block === null ? "M" : (block[1] ?? "").toUpperCase(), byte: digits, bit }, type);
}

function byteNotation(
  { block, byte, bit }: { readonly block: string | null; readonly byte: string; readonly bit: string | undefined },
  type: string,
): Notation {
  const at = Number(byte);
  if (type === "bool") return { kind: "byte", block, byte: at, bit: Number(bit ?? 0) };
  const text = `${block ?? ""} ${byte}`.trim();
  if (bit !== undefined && bit !== "0") return fault(say("workshop.other_size", { address: `${text}.${bit}`, type }));
  // A register begins at an even byte.
  return at % 2 === 0
    ? { kind: "byte", block, byte: at, bit: null }
    : fault(say("workshop.half_register", { address: text }));
}

/** Registers of a value; null: a string, which says its length itself. */
export function registersOf(type: string): number | null {
  if (type === "string") return null;
  if (type.endsWith("64")) return 4;
  return type.endsWith("32") ? 2 : 1;
}

function bytesOf(type: string): number | null {
  const registers = registersOf(type);
  return registers === null ? null : 2 * registers;
}

/** Makes a place of a notation. An AddressFault if the reading leaves the row out. */
export function placeOf({ notation, type }: Omit<ReadRow, "row">, reading: Reading): ListPlace | AddressFault {
  const found = placeIn(notation, reading);
  if ("message" in found) return found;
  // A spreadsheet writes 400001 as 400001.0.
  const place = type !== "bool" && found.bit === 0 ? { table: found.table, address: found.address } : found;
  if (type !== "bool" && place.bit !== undefined) return { message: say("config.only_bool") };
  const last = place.address + (isBitTable(place.table) ? 1 : (registersOf(type) ?? 1)) - 1;
  if (place.address < 0) return { message: say("workshop.below_first", { base: reading.base }) };
  if (last > LAST_ADDRESS) return { message: say("address.beyond", { address: place.address, last: LAST_ADDRESS }) };
  const isRegister = !isBitTable(place.table);
  if (isRegister && type === "bool" && place.bit === undefined) return { message: say("config.needs_bit") };
  if (place.bit !== undefined && (!isRegister || place.bit > 15))
    return { message: say("address.none", { text: `${placeText(place)}.${place.bit}` }) };
  return place;
}

function placeIn(notation: Notation, reading: Reading): ListPlace | AddressFault {
  switch (notation.kind) {
    case "place":
      return notation.place;
    case "fault":
      return notation.fault;
    case "modicon":
      return modiconPlace(notation, reading);
    case "plain":
      return withBit(
        { table: tableFor(notation.table, reading), address: notation.number - reading.base },
        notation.bit,
      );
    case "dotted":
      return dottedPlace(notation, reading);
    case "word":
      if (reading.block === "words") return { table: "holding", address: notation.number };
      if (notation.number % 2 === 1)
        return { message: say("workshop.half_register", { address: `MW${notation.number}` }) };
      return bytePlace({ byte: notation.number, bit: null, block: "M" }, reading);
    case "byte":
      return bytePlace(notation, reading);
  }
}

function dottedPlace(
  { table, first, bit, is_bit }: Extract<Notation, { kind: "dotted" }>,
  reading: Reading,
): ListPlace | AddressFault {
  if (reading.dots === "bits") {
    if (!is_bit) return { message: say("address.none", { text: `${first}.${bit}` }) };
    return { table: tableFor(table, reading), address: first - reading.base, bit };
  }
  if (!is_bit && first % 2 === 1) return { message: say("workshop.half_register", { address: `${first}.${bit}` }) };
  return bytePlace({ block: null, byte: first, bit: is_bit ? bit : null }, reading);
}

function withBit(place: TableAddress, bit: number | null): ListPlace {
  return bit === null ? place : { ...place, bit };
}

function tableFor(table: ModbusTable | "registers" | "bits", reading: Reading): ModbusTable {
  return table === "registers" || table === "bits" ? reading[table] : table;
}

function modiconPlace(notation: Extract<Notation, { kind: "modicon" }>, reading: Reading): ListPlace {
  const { table, whole, number, bit, is_named } = notation;
  if (whole !== null && reading.modicon === "whole")
    return withBit({ table: is_named ? table : reading.registers, address: whole - reading.base }, bit);
  return withBit({ table, address: number - reading.modicon_base }, bit);
}

/** Byte 0 is the high byte of the first register: its bit 0 is the register's bit 8. */
function bytePlace(
  { block, byte, bit }: { readonly block: string | null; readonly byte: number; readonly bit: number | null },
  reading: Reading,
): ListPlace | AddressFault {
  if (block !== null && block !== reading.block)
    return { message: say("workshop.other_block", { block, mapped: reading.block }) };
  const place = { table: "holding", address: byte >> 1 } as const;
  return bit === null ? place : { ...place, bit: bit + (byte % 2 === 0 ? 8 : 0) };
}

export function placeText({ table, address, bit }: ListPlace): string {
  return `${table}:${address}${bit === undefined ? "" : `.${bit}`}`;
}
