import { message, type Message } from "../../domain/message.ts";
import { type AddressFault, parseAddress, type TableAddress } from "../../config/profile-address.ts";
import { isBitTable, LAST_ADDRESS, type ModbusTable } from "../../domain/profile.ts";
import { clickPlace } from "./click-addresses.ts";
import { tableIn, tableOfFunction } from "./list-tables.ts";
import type { ListRow, RegisterList } from "./register-list.ts";

export type ListPlace = TableAddress & { readonly bit?: number | undefined };

/**
 * An address as a register list writes it, before the list's counting is known. Pure.
 *
 * An address becomes a place (table and address) in two steps, because another row may decide what this row leaves undecided. `notationOf`
 * reads each address by itself. Then `placeOf` turns it into a place with the Reading of the whole list. If no row decides a point, the
 * user is asked (list-reading.ts); nothing is guessed. `bit` is a bit of a register, undefined for whole values and for tables of bits.
 */
type Notation =
  /** An address that is certain by itself: a single place, or an address that can't be read. */
  | { readonly kind: "fixed"; readonly place: ListPlace | AddressFault }
  /** A table digit and a number: 400001, 40001, 4x0001. The first number is 1, unless the list contains a number 0. */
  | {
      readonly kind: "modicon";
      readonly table: ModbusTable;
      readonly number: number;
      readonly bit: number | undefined;
      /** The five digits as one number, if they may also be a plain address; null if they can't. */
      readonly whole: number | null;
      /** True if a column of the list also names the table. */
      readonly is_named: boolean;
    }
  /** A number within a table. "registers" and "bits": the row doesn't name the table. */
  | {
      readonly kind: "plain";
      readonly table: ModbusTable | "registers" | "bits";
      readonly number: number;
      readonly bit: number | undefined;
    }
  /** A byte of a PLC's memory. `block`: a data block such as DB11, or M for the flags; null for the list's own block. */
  | { readonly kind: "byte"; readonly block: string | null; readonly byte: number; readonly bit: number | undefined }
  /** A flag word such as %MW10: register 10 if the list counts words, else bytes 10 and 11 of block M. */
  | { readonly kind: "word"; readonly number: number }
  /** A number with a dot: 12.3 is bit 3 of register 12 or of byte 12. */
  | {
      readonly kind: "dotted";
      readonly table: ModbusTable | "registers";
      readonly first: number;
      readonly bit: number;
      /** Whether the number after the dot is a bit. False if the list writes a whole value at byte 12 as 12.0. */
      readonly is_bit: boolean;
    };

/** A row's type and address, as far as the row alone decides them. */
export interface ReadRow {
  readonly row: ListRow;
  readonly type: string;
  readonly notation: Notation;
}

/** The decisions that all rows of a list share. */
export interface Reading {
  /** The first number in each table. */
  readonly base: 0 | 1;
  /** The meaning of five digits. "digit": the first digit names the table. "whole": the first digit is part of the number. */
  readonly modicon: "digit" | "whole";
  /** The first number after a table digit. */
  readonly modicon_base: 0 | 1;
  readonly registers: ModbusTable;
  readonly bits: ModbusTable;
  /** The memory that the PLC serves as holding registers. "words": the flag words, each as a register. "none": no memory. */
  readonly block: string;
  readonly dots: "bits" | "bytes";
}

/** Unknown words of a table column with the tables that they mean. */
export type TableWords = ReadonlyMap<string, ModbusTable>;

/** Returns the table that a column of the row names. Returns null if no column names a table, and `unclear` for an unknown word. */
export function tableOf(
  { cells }: ListRow,
  { columns }: RegisterList,
  { type, words }: { readonly type: string; readonly words: TableWords },
): ModbusTable | null | { readonly unclear: string } {
  const column = tableColumn(columns);
  const cell = column === null ? undefined : cells[column];
  if (cell === undefined) return null;
  const said = words.get(wordOf(cell)) ?? (column === "function" ? tableOfFunction(cell) : tableIn(cell));
  // Takes "input" for input registers, except in a row of bits, where it could also mean discrete inputs.
  if (said === "some input") return type === "bool" ? { unclear: cell } : "input";
  return said ?? { unclear: cell };
}

/** Returns the column that names tables. A column of function codes is used only if no other column does. */
export function tableColumn(columns: RegisterList["columns"]): "table" | "function" | null {
  if (columns.includes("table")) return "table";
  return columns.includes("function") ? "function" : null;
}

export function wordOf(cell: string): string {
  return cell.trim().toLowerCase();
}

/** Returns whether the list writes addresses as 4x0001, so that 0x0010 is coil 10 and not hexadecimal. */
export function isCrossed({ rows }: Pick<RegisterList, "rows">): boolean {
  return rows.some(({ cells }) => /^[134]x\d/i.test(cells.modbus ?? cells.address ?? ""));
}

interface Context {
  readonly type: string;
  /** The table that a column names; null if no column names one. */
  readonly table: ModbusTable | null;
  readonly bit: number | undefined;
  /** True for a list that this program exported, which writes a coil's number without a table digit. */
  readonly isOwn: boolean;
}

/** Reads a row's address as far as the row alone decides it. */
export function notationOf(
  { cells }: ListRow,
  { maker }: Pick<RegisterList, "maker">,
  { type, table, crossed }: Pick<Context, "type" | "table"> & { readonly crossed: boolean },
): Notation {
  const click = maker === "CLICK" ? clickNotation(cells) : null;
  if (click !== null) return click;
  const bit = /^\d{1,2}$/.test(cells.bit ?? "") ? Number(cells.bit) : undefined;
  const context = { type, table, bit, isOwn: maker === "booth-gateway" };
  const written = cells.modbus ?? cells.address;
  if (written === undefined && cells.address_hex !== undefined)
    return hexNotation(cells.address_hex.replace(/^(0x|16#|\$)|h$/gi, ""), context);
  const text = (written ?? "").trim();
  const s7 = s7Notation(text, type);
  if (s7 !== null) return s7;
  const [, whole = "", point] = /^(.+?)\.(\d{1,2})$/.exec(text) ?? [];
  if (maker === "TIA" && point !== undefined && /^\d{1,5}$/.test(whole))
    return byteNotation(null, whole, { type, point });
  const [, prefixed, suffixed] = /^(?:0x|16#|\$)([0-9a-f]{1,5})$|^([0-9a-f]{1,5})h$/i.exec(text) ?? [];
  const digits = prefixed ?? suffixed;
  const isDecimal = /^0x\d+$/i.test(text);
  if (digits !== undefined && !(crossed && isDecimal)) {
    // Rejects 0x0010 in a row of bits whose table is not named, because the text could also mean coil 10.
    const canBeCoil = isDecimal && table === null && unnamed(context) === "bits";
    return canBeCoil ? fixed(text) : hexNotation(digits, context);
  }
  if (point === undefined)
    return numberNotation(type === "string" ? text.replace(/\.\d{1,3}[HL]$/i, "") : text, context);
  if (!/^\d{1,4}$/.test(whole)) return numberNotation(whole, { ...context, bit: Number(point) });
  const is_bit = type === "bool";
  if ((table !== null && isBitTable(table)) || (!is_bit && Number(point) !== 0))
    return fault(message("address.none", { text }));
  return { kind: "dotted", table: table ?? "registers", first: Number(whole), bit: Number(point), is_bit };
}

function fault(text: Message): Notation {
  return { kind: "fixed", place: { message: text } };
}

/** Reads an address in the notation of profiles. */
function fixed(text: string, bit?: number): Notation {
  const place = parseAddress(text);
  return { kind: "fixed", place: "message" in place ? place : { ...place, bit } };
}

const TABLE_DIGIT: Readonly<Record<ModbusTable, number>> = { coil: 0, discrete: 1, input: 3, holding: 4 };

/** Reads the memory address of a CLICK PLC. A Modbus column that contradicts the memory address is an error of the list. */
function clickNotation({ address: cell = "", modbus }: ListRow["cells"]): Notation | null {
  const text = cell.trim();
  const place = clickPlace(text);
  if (place === "half") return fault(message("workshop.half_register", { address: text }));
  if (place === null) return null;
  const { table, address } = place;
  const stated = statedNumber(modbus);
  const numbers = [address, address + 1, TABLE_DIGIT[table] * 100_000 + address + 1];
  if (stated !== null && !numbers.includes(stated))
    return fault(message("workshop.click_differs", { address: text, modbus: modbus ?? "", place: placeText(place) }));
  return { kind: "fixed", place: { table, address } };
}

function statedNumber(modbus = ""): number | null {
  if (/^\d+$/.test(modbus)) return Number(modbus);
  const [, hex] = /^(?:0x)?([0-9a-f]{1,5})h?$/i.exec(modbus) ?? [];
  return hex === undefined ? null : parseInt(hex, 16);
}

function unnamed({ type, bit }: Context): "registers" | "bits" {
  return type === "bool" && bit === undefined ? "bits" : "registers";
}

function hexNotation(digits: string, context: Context): Notation {
  if (!/^[0-9a-f]{1,5}$/i.test(digits)) return fault(message("address.none", { text: digits.slice(0, 40) }));
  const { table, bit } = context;
  return { kind: "plain", table: table ?? unnamed(context), number: parseInt(digits, 16), bit };
}

const DIGIT_TABLES: Readonly<Record<string, ModbusTable>> = {
  "0": "coil",
  "1": "discrete",
  "3": "input",
  "4": "holding",
};

function numberNotation(text: string, context: Context): Notation {
  const { type, table, bit, isOwn } = context;
  // Rejects 4x40001, which names its table twice.
  if (/^([134])x\1\d{4}$/i.test(text)) return fixed(text);
  const six = /^([0134])(\d{5})$/.exec(text) ?? /^([0134])x(\d{1,6})$/i.exec(text);
  if (six !== null) return modiconNotation(six, context, null);
  if (!/^\d{1,6}$/.test(text)) return fixed(text, bit);
  const five = /^([0134])(\d{4})$/.exec(text);
  const named = DIGIT_TABLES[five?.[1] ?? ""];
  if (five !== null && (table === null || table === named)) {
    // Rejects 10028, which could be discrete input 28 (five digits) or coil 10028 (six digits).
    if (named === "discrete" && table === null) return fixed(text);
    // Reads five digits that begin with 0 as a coil in a row of bits without a table, else as a padded number.
    if (named !== "coil") return modiconNotation(five, context, Number(text));
    if (table === null && type === "bool") return modiconNotation(five, context, null);
  }
  const number = Number(text);
  if (number > LAST_ADDRESS + 1) return fault(message("address.outside", { text }));
  if (isOwn && table !== null) return { kind: "modicon", table, number, bit, whole: null, is_named: true };
  return { kind: "plain", table: table ?? unnamed(context), number, bit };
}

/**
 * Reads a table digit and a number.
 * @param match the text, the table digit and the number
 */
function modiconNotation([text, digit = "", digits]: RegExpExecArray, given: Context, whole: number | null): Notation {
  const table = DIGIT_TABLES[digit] ?? "holding";
  const number = Number(digits);
  const is_named = given.table !== null;
  if (given.table !== null && given.table !== table)
    return fault(message("workshop.two_tables", { address: text, named: table, column: given.table }));
  if (number > LAST_ADDRESS + 1) return fault(message("address.beyond_table", { text, table }));
  return { kind: "modicon", table, number, bit: given.bit, whole, is_named };
}

/** The number of bytes that an access letter of a data block means. */
const ACCESS_BYTES: Readonly<Record<string, number>> = { B: 1, W: 2, D: 4 };

/** Reads the Siemens addresses DB11.DBD8, M12.3 and %MW10. */
function s7Notation(text: string, type: string): Notation | null {
  const image = /^%([IEQA])([BWD]?)(\d{1,5})(?:\.([0-7]))?$/i.exec(text);
  if (image !== null) return imageNotation(image, type);
  const block = /^%?(DB\d{1,5})\.DB([XBWD])(\d{1,5})(?:\.(\d))?$/i.exec(text);
  const flag = /^%?(M)([XBWD]?)(\d{1,5})(?:\.(\d))?$/i.exec(text);
  const [, name = "", access = "", digits = "", point] = block ?? flag ?? [];
  if (name === "") return null;
  const size = ACCESS_BYTES[access.toUpperCase()];
  const registers = registersOf(type);
  if (size !== undefined && (point !== undefined || registers === null || size !== 2 * registers))
    return fault(message("workshop.other_size", { address: text, type }));
  if (block === null && access.toUpperCase() === "W") return { kind: "word", number: Number(digits) };
  return byteNotation(name.toUpperCase(), digits, { type, point });
}

/**
 * Reads an address of the process image, such as %I0.0 or %IW64 (%E and %A in German). The block MB_SERVER of an S7 offers the inputs as
 * discrete inputs and input registers, and the bits of the outputs as coils, all from 0.
 */
function imageNotation([text, area = "", access = "", digits = "", bit]: RegExpExecArray, type: string): Notation {
  const isInput = /[IE]/i.test(area);
  const byte = Number(digits);
  if (access === "" && bit !== undefined && type === "bool")
    return { kind: "fixed", place: { table: isInput ? "discrete" : "coil", address: byte * 8 + Number(bit) } };
  if (!isInput) return fault(message("workshop.output_word", { address: text }));
  if (ACCESS_BYTES[access.toUpperCase()] !== 2 * (registersOf(type) ?? 0) || type === "bool")
    return fault(message("workshop.other_size", { address: text, type }));
  if (byte % 2 === 1) return fault(message("workshop.half_register", { address: text }));
  return { kind: "fixed", place: { table: "input", address: byte / 2 } };
}

function byteNotation(
  block: string | null,
  digits: string,
  { type, point }: { readonly type: string; readonly point: string | undefined },
): Notation {
  const byte = Number(digits);
  if (type === "bool") return { kind: "byte", block, byte, bit: Number(point ?? 0) };
  const text = `${block ?? ""} ${digits}`.trim();
  if (point !== undefined && point !== "0")
    return fault(message("workshop.other_size", { address: `${text}.${point}`, type }));
  // Rejects an odd byte, because a register begins at an even byte.
  if (byte % 2 === 1) return fault(message("workshop.half_register", { address: text }));
  return { kind: "byte", block, byte, bit: undefined };
}

/** Returns the number of registers of a type; null for a string, whose length is a separate key. */
export function registersOf(type: string): number | null {
  if (type === "string") return null;
  if (type.endsWith("64")) return 4;
  return type.endsWith("32") ? 2 : 1;
}

/** Returns the place of a row (table, address and bit). Returns an AddressFault if the row must be left out. */
export function placeOf({ notation, type }: Omit<ReadRow, "row">, reading: Reading): ListPlace | AddressFault {
  const found = placeIn(notation, reading);
  if ("message" in found) return found;
  const { table, address } = found;
  // Ignores the .0 that a spreadsheet appends to 400001.
  const bit = type !== "bool" && found.bit === 0 ? undefined : found.bit;
  if (type !== "bool" && bit !== undefined) return { message: message("config.only_bool") };
  const isBit = isBitTable(table);
  const last = address + (isBit ? 1 : (registersOf(type) ?? 1)) - 1;
  if (address < 0) return { message: message("workshop.below_first", { base: reading.base }) };
  if (last > LAST_ADDRESS) return { message: message("address.beyond", { address, last: LAST_ADDRESS }) };
  if (!isBit && type === "bool" && bit === undefined) return { message: message("config.needs_bit") };
  if (bit !== undefined && (isBit || bit > 15))
    return { message: message("address.none", { text: `${placeText({ table, address, bit })}.${bit}` }) };
  return { table, address, bit };
}

function placeIn(notation: Notation, reading: Reading): ListPlace | AddressFault {
  switch (notation.kind) {
    case "fixed":
      return notation.place;
    case "modicon": {
      const { table, whole, number, bit, is_named } = notation;
      if (whole === null || reading.modicon === "digit") return { table, address: number - reading.modicon_base, bit };
      return { table: is_named ? table : reading.registers, address: whole - reading.base, bit };
    }
    case "plain":
      return { table: tableFor(notation.table, reading), address: notation.number - reading.base, bit: notation.bit };
    case "dotted": {
      const { table, first, bit, is_bit } = notation;
      const text = `${first}.${bit}`;
      if (reading.dots === "bytes" && !is_bit && first % 2 === 1)
        return { message: message("workshop.half_register", { address: text }) };
      if (reading.dots === "bytes") return bytePlace(first, is_bit ? bit : undefined);
      if (!is_bit) return { message: message("address.none", { text }) };
      return { table: tableFor(table, reading), address: first - reading.base, bit };
    }
    case "word":
      if (reading.block === "words") return { table: "holding", address: notation.number };
      if (notation.number % 2 === 1)
        return { message: message("workshop.half_register", { address: `MW${notation.number}` }) };
      return inBlock("M", reading) ?? bytePlace(notation.number);
    case "byte":
      return inBlock(notation.block, reading) ?? bytePlace(notation.byte, notation.bit);
  }
}

function tableFor(table: ModbusTable | "registers" | "bits", reading: Reading): ModbusTable {
  return table === "registers" || table === "bits" ? reading[table] : table;
}

/** Returns the fault of an address in a block that the PLC does not serve over Modbus; null for the block that it serves. */
function inBlock(block: string | null, reading: Reading): AddressFault | null {
  if (block === null || block === reading.block) return null;
  return { message: message("workshop.other_block", { block, mapped: reading.block }) };
}

/** Returns the register of a byte. Byte 0 is the high byte of the first register, so its bit 0 is the register's bit 8. */
function bytePlace(byte: number, bit?: number): ListPlace {
  const shift = byte % 2 === 0 ? 8 : 0;
  return { table: "holding", address: byte >> 1, bit: bit === undefined ? undefined : bit + shift };
}

export function placeText({ table, address, bit }: ListPlace): string {
  return `${table}:${address}${bit === undefined ? "" : `.${bit}`}`;
}
