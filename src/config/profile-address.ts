import { message, type Message, type Text } from "../domain/message.ts";
import { LAST_ADDRESS, MODBUS_TABLES, type ModbusTable, type OpcuaName, type OpcuaNode } from "../domain/profile.ts";
import { didYouMean } from "./nearest.ts";

/** A Modbus address, 0-based within its table. */
export interface TableAddress {
  readonly table: ModbusTable;
  readonly address: number;
}

/** The reason why a notation isn't an address. */
export interface AddressFault {
  readonly message: Text;
  readonly hint?: Text;
}

const TABLE_BY_DIGIT: Readonly<Record<string, ModbusTable>> = {
  "0": "coil",
  "1": "discrete",
  "3": "input",
  "4": "holding",
};
const SPELLINGS = message("address.spellings");

/**
 * Parses an address in any notation in use. Rejects a text that two notations read differently, with both readings.
 * - Modicon numbers count from 1: 40001..49999 and 400001..465536 holding, 30001..39999 and 300001..365536 input, 100001..165536
 *   discrete, any other number from 1 to 65536 a coil. Six digits that start with 0 are a coil.
 * - 10001..19999 are discrete inputs in five digits, and coils if six digits were meant (C1 of a CLICK is 016385): rejected.
 * - `4x0001` counts from 1 too. `0x0010` is coil 10, or 16 in hexadecimal: rejected. `4x40001` names its table twice: rejected.
 * - `holding:0x4000` and `holding:16384` count from 0.
 */
export function parseAddress(notation: string): TableAddress | AddressFault {
  const text = notation.trim();
  const explicit = /^([a-z]+):(0x[0-9a-f]{1,4}|\d{1,5})$/i.exec(text);
  if (explicit !== null) return explicitAddress(explicit[1] ?? "", Number(explicit[2]));
  if (/^0x[0-9a-f]+$/i.test(text)) return hexadecimal(text);
  const crossed = /^([134])x(\d{1,6})$/i.exec(text);
  if (crossed !== null) return crossedAddress(crossed[1] ?? "", crossed[2] ?? "", text);
  if (/^\d{1,6}$/.test(text)) return modicon(Number(text), text);
  return { message: message("address.none", { text: text.slice(0, 40) }), hint: SPELLINGS };
}

/** Returns a fault with both readings, and an unambiguous spelling of each. */
function ambiguous(text: string, first: TableAddress, second: TableAddress): AddressFault {
  const meaning = ({ table, address }: TableAddress): Message =>
    message("address.counted", { register: message(`address.a_${table}`), number: address + 1, address });
  const spelling = ({ table, address }: TableAddress): string => `${table}:${address}`;
  return {
    message: message("address.two_ways", { text, first: meaning(first), second: meaning(second) }),
    hint: message("address.write_two", { first: spelling(first), second: spelling(second) }),
  };
}

function hexadecimal(text: string): AddressFault {
  const digits = text.slice(2);
  const value = Number(text);
  if (value > LAST_ADDRESS) return { message: message("address.beyond", { address: text, last: LAST_ADDRESS }) };
  if (/^\d+$/.test(digits) && Number(digits) >= 1) {
    return {
      message: message("address.decimal_or_hex", { text, coil: Number(digits), value }),
      hint: message("address.write_decimal_or_hex", { coil: Number(digits) - 1, text }),
    };
  }
  return {
    message: message("address.no_table", { text }),
    hint: message("address.write_table", { text }),
  };
}

function crossedAddress(digit: string, digits: string, text: string): TableAddress | AddressFault {
  const table = TABLE_BY_DIGIT[digit] ?? "coil";
  const number = Number(digits);
  const short = number - Number(digit) * 10_000;
  if (digits.startsWith(digit) && number <= LAST_ADDRESS && short >= 1 && short <= 9_999) {
    return ambiguous(text, { table, address: short - 1 }, { table, address: number - 1 });
  }
  return oneBased(table, number, text);
}

function explicitAddress(name: string, address: number): TableAddress | AddressFault {
  const table = MODBUS_TABLES.find((known) => known === name.toLowerCase());
  if (table === undefined)
    return {
      message: message("address.unknown_table", { name }),
      hint: didYouMean(name, MODBUS_TABLES) ?? message("config.one_of", { names: MODBUS_TABLES.join(", ") }),
    };
  if (address > LAST_ADDRESS) return { message: message("address.beyond", { address, last: LAST_ADDRESS }) };
  return { table, address };
}

function modicon(value: number, text: string): TableAddress | AddressFault {
  // Reads six digits with a leading 0 as a coil, because the first digit names the table.
  if (text.length === 6 && text.startsWith("0")) return oneBased("coil", value, text);
  const inFive = value < 100_000 ? TABLE_BY_DIGIT[String(Math.floor(value / 10_000))] : undefined;
  const short = value % 10_000;
  if (inFive === "discrete" && short > 0) {
    return ambiguous(text, { table: inFive, address: short - 1 }, { table: "coil", address: value - 1 });
  }
  if (inFive === "input" || inFive === "holding") return oneBased(inFive, short, text);
  if (value <= LAST_ADDRESS + 1) return oneBased("coil", value, text);
  const inSix = TABLE_BY_DIGIT[String(Math.floor(value / 100_000))];
  return inSix === undefined || inSix === "coil"
    ? { message: message("address.outside", { text }), hint: SPELLINGS }
    : oneBased(inSix, value % 100_000, text);
}

function oneBased(table: ModbusTable, number: number, text: string): TableAddress | AddressFault {
  if (number < 1) return { message: message("address.from_one", { text }), hint: SPELLINGS };
  if (number > LAST_ADDRESS + 1) return { message: message("address.beyond_table", { text, table }) };
  return { table, address: number - 1 };
}

const NODE_SPELLINGS = message("address.node_spellings");
const OPCUA_NAMESPACE = "http://opcfoundation.org/UA/";
const GUID = /^g=[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Parses a node's id: `nsu=URI;s=NAME` (also i=, g=, b=), or only the part after the namespace, for which the namespace is `fallback`.
 * `i=NUMBER` without any namespace is in the standard's namespace. Rejects `ns=NUMBER`, because after a server's restart the number may
 * mean another namespace.
 */
export function parseNode(
  notation: string | { readonly namespace: string; readonly id: string },
  fallback: string | undefined,
): OpcuaNode | AddressFault {
  if (typeof notation !== "string") return idIn(notation.namespace, notation.id);
  const text = notation.trim();
  if (/^ns=/i.test(text)) return indexed(text);
  const explicit = /^nsu=([^;]+);(.+)$/i.exec(text);
  if (explicit !== null) return idIn(explicit[1] ?? "", explicit[2] ?? "");
  const standard = /^i=\d+$/.test(text) && fallback === undefined ? OPCUA_NAMESPACE : fallback;
  return standard === undefined
    ? { message: message("address.node_namespace"), hint: NODE_SPELLINGS }
    : idIn(standard, text);
}

/** Parses a path that starts at the folder Objects. Each step is `NAME` (in the namespace `fallback`) or `nsu=URI;NAME`. */
export function parsePath(steps: readonly string[], fallback: string | undefined): OpcuaNode | AddressFault {
  const names: OpcuaName[] = [];
  for (const step of steps) {
    const explicit = /^nsu=([^;]+);(.+)$/i.exec(step.trim());
    const namespace = explicit?.[1] ?? fallback;
    if (/^\d+:/.test(step.trim())) return indexed(step);
    if (namespace === undefined)
      return { message: message("address.step_namespace", { step: step.slice(0, 40) }), hint: NODE_SPELLINGS };
    names.push({ namespace, name: explicit?.[2] ?? step.trim() });
  }
  const [first, ...rest] = names;
  return first === undefined ? { message: message("address.empty_path") } : { path: [first, ...rest] };
}

function indexed(text: string): AddressFault {
  return { message: message("address.by_number", { text: text.slice(0, 40) }), hint: NODE_SPELLINGS };
}

function idIn(namespace: string, id: string): OpcuaNode | AddressFault {
  const known = /^i=\d{1,10}$/.test(id) || /^s=.+$/.test(id) || GUID.test(id) || /^b=[0-9a-z+/]+={0,2}$/i.test(id);
  if (!known)
    return { message: message("address.node_id", { id: id.slice(0, 40) }), hint: message("address.node_ids") };
  if (id.startsWith("i=") && Number(id.slice(2)) > 4_294_967_295)
    return { message: message("address.beyond_number", { id }) };
  return { namespace, id };
}

/** Returns an address of the form `holding:10` as manuals write it: 40011. Returns any other text unchanged. */
export function manualAddress(text: string): string {
  const at = parseAddress(text);
  if ("message" in at) return text;
  const digit = Object.entries(TABLE_BY_DIGIT).find(([, table]) => table === at.table)?.[0] ?? "";
  const number = at.address + 1;
  // Five digits that start with 1 would be ambiguous, so discrete inputs always have six.
  return `${digit}${String(number).padStart(number > 9_999 || at.table === "discrete" || at.table === "coil" ? 5 : 4, "0")}`;
}
