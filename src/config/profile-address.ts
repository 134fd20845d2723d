import { LAST_ADDRESS } from "../core/profile.ts";
import type { ModbusTable } from "../core/types/profile.ts";

/** `address` is 0-based within its table. */
export interface TableAddress {
  readonly table: ModbusTable;
  readonly address: number;
}

/** What can't be understood, in a sentence. */
export interface AddressFault {
  readonly message: string;
  readonly hint?: string;
}

const TABLE_BY_DIGIT: Readonly<Record<string, ModbusTable>> = {
  "0": "coil",
  "1": "discrete",
  "3": "input",
  "4": "holding",
};
const TABLES: readonly ModbusTable[] = ["coil", "discrete", "input", "holding"];
const SPELLINGS = "write 400001, 4x0001 or holding:0 for the first holding register";

/**
 * Reads every notation in use. Modicon numbers count from 1: 40001..49999 and 400001..465536 holding, 30001..39999 and
 * 300001..365536 input, 100001..165536 discrete, and 1..65536 else coils (16385 is a coil of a CLICK, so five digits
 * beginning with 1 are NOT discrete inputs). `4x0001` counts from 1 too; `holding:0x4000` and `holding:16384` from 0.
 */
export function parseAddress(notation: number | string): TableAddress | AddressFault {
  const text = String(notation).trim();
  const explicit = /^([a-z]+):(0x[0-9a-f]{1,4}|\d{1,5})$/i.exec(text);
  if (explicit !== null) return explicitAddress(explicit[1] ?? "", Number(explicit[2]));
  const crossed = /^([0134])x(\d{1,6})$/i.exec(text);
  if (crossed !== null) return oneBased(TABLE_BY_DIGIT[crossed[1] ?? ""] ?? "coil", Number(crossed[2]), text);
  if (/^\d{1,6}$/.test(text)) return modicon(Number(text), text);
  return { message: `"${text.slice(0, 40)}" is no Modbus address`, hint: SPELLINGS };
}

function explicitAddress(name: string, address: number): TableAddress | AddressFault {
  const table = TABLES.find((known) => known === name.toLowerCase());
  if (table === undefined) return { message: `"${name}" is no table`, hint: `one of ${TABLES.join(", ")}` };
  if (address > LAST_ADDRESS) return { message: `${address} is beyond the last address, ${LAST_ADDRESS}` };
  return { table, address };
}

function modicon(value: number, text: string): TableAddress | AddressFault {
  if (value === 30_000 || value === 40_000) {
    return { message: `${value} is no Modbus address: Modicon numbers count from 1`, hint: SPELLINGS };
  }
  if (value > 30_000 && value < 40_000) return oneBased("input", value - 30_000, text);
  if (value > 40_000 && value < 50_000) return oneBased("holding", value - 40_000, text);
  if (value <= LAST_ADDRESS + 1) return oneBased("coil", value, text);
  const table = TABLE_BY_DIGIT[String(Math.floor(value / 100_000))];
  return table === undefined || table === "coil"
    ? { message: `${text} lies in no Modbus table`, hint: SPELLINGS }
    : oneBased(table, value % 100_000, text);
}

function oneBased(table: ModbusTable, number: number, text: string): TableAddress | AddressFault {
  if (number < 1) return { message: `${text} is no Modbus address: Modicon numbers count from 1`, hint: SPELLINGS };
  if (number > LAST_ADDRESS + 1) return { message: `${text} is beyond the last address of table ${table}` };
  return { table, address: number - 1 };
}
