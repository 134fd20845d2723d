import type { FirstOf } from "../../domain/profile.ts";
import { type CsvRow, csvRows, type Excess, type Separator, SEPARATORS } from "./csv.ts";
import { isTableLike, tableIn } from "./list-tables.ts";

/** This module reads register lists as engineering tools export them: recognizes the columns, the types and the tool. Pure. */

/** The column heads of each kind of column. The first kind that fits a head is used. */
const COLUMNS = {
  name: /^(tag|variable|symbol|signal|point|plc|parameter)?[ _]?name$|^(nickname|tag|variable|symbol|signal|point|data ?point|parameter|measurement|bezeichnung)$/,
  modbus: /^modbus( start)?( address| register)?$|^mb[ _]?address$/,
  address_hex: /^(plc |logical |modbus |register |start |holding )*(address|register|addr)( in)? hex$/,
  address:
    /^(plc |logical |modbus |register |reg |start |holding )*(address|register|offset|addr|adresse)( in)?( dec(imal)?)?$|^register(adresse|nummer)$/,
  function: /^(modbus )?(read )?(function( ?codes?)?|functions|fc|func|fct)$/,
  table:
    /^(modbus )?(register|reg|object|point|memory|primary|address|io|i\/o)[ _]?(type|class|table|area|kind|space)$|^(modbus )?(table|area|object|register space|memory)$/,
  type: /^(data|value|variable)?[ _]?(type|format)$|^datentyp$|^typ$/,
  system_id: /^system id$/,
  characters: /^(number of characters|string length|characters)$/,
  length: /^(length|registers|size|(no|number) of registers|register count|quantity|words)$/,
  word_order: /^word[ _]order$/,
  byte_order: /^byte[ _]order$/,
  string_order: /^string[ _]order$/,
  bit: /^bit( (number|no|position))?$/,
  scale: /^(scale|scaling|multiplier|gain|factor|scale factor|scaling factor|faktor|skalierung)$/,
  divisor: /^(divisor|divide by|div)$/,
  offset: /^value offset$/,
  raw_low: /^raw low$/,
  raw_high: /^raw high$/,
  scaled_low: /^scaled low$/,
  scaled_high: /^scaled high$/,
  negate: /^negate value$/,
  unit: /^(eng(ineering)?\.? |measuring )?units?( of measure(ment)?)?$|^eu$|^uom$|^einheit$/,
  role: /^role$/,
  filter: /^filter$/,
  bay: /^bay$/,
  group: /^(poll )?group$/,
  values: /^(values|codes|modes)$/,
  node: /^(node( ?id)?)$/,
  label: /^(label|comment|description|address comment|remarks?|text|kommentar|beschreibung)$/,
  more: /^more$/,
} as const;
type Column = keyof typeof COLUMNS;

export interface ListRow {
  /** The row's line in the file, from 1. */
  readonly line: number;
  readonly cells: Readonly<Partial<Record<Column, string>>>;
}

export interface RegisterList {
  /** The tool that wrote the list, recognized by its columns. It decides the word order if no column does. */
  readonly maker: keyof typeof MAKERS;
  readonly columns: readonly Column[];
  /** The heads of the recognized columns, as in the list. */
  readonly heads: Readonly<Partial<Record<Column, string>>>;
  /** The heads of columns that are not used. */
  readonly unknown: readonly string[];
  readonly rows: readonly ListRow[];
}

export interface Orders {
  readonly word_order?: FirstOf;
  readonly string_order?: FirstOf;
}

/** The word and string order of each tool's PLC. An absent order is the profile's. */
export const MAKERS = {
  CLICK: { word_order: "low_first", string_order: "low_first" },
  Productivity: { word_order: "low_first", string_order: "high_first" },
  "Connected Components": { word_order: "high_first", string_order: "high_first" },
  TIA: { word_order: "high_first", string_order: "high_first" },
  Kepware: {},
  "booth-gateway": {},
  generic: {},
} as const satisfies Readonly<Record<string, Orders>>;

/** The number of first lines to search for the heads, which may follow titles and remarks. */
const HEADS_WITHIN = 60;

/** Reads a list. Returns null if none of the first lines has a name head and an address head, or an Excess if the list exceeds a limit. */
export function registerList(text: string): RegisterList | Excess | null {
  const found = headsOf(text);
  if (found === null || "excess" in found) return found;
  const lines = csvRows(text, found.separator);
  if ("excess" in lines) return lines;
  // Skips lines that start with ##: a second line of heads, such as the version in Productivity's lists.
  const rows = lines.slice(found.index + 1).filter(({ cells }) => !/^##/.test(cells[0] ?? ""));
  const columns = columnsOf(found.heads, rows);
  const named = (cells: readonly string[]): ListRow["cells"] =>
    Object.fromEntries(
      columns.flatMap((column, i) => {
        const cell = cells[i] ?? "";
        return column === null || cell === "" ? [] : [[column, cell] as const];
      }),
    );
  const listed = rows.map(({ line, cells }): ListRow => ({ line, cells: named(cells) }));
  return {
    maker: makerOf(found.heads, listed),
    columns: columns.filter((column) => column !== null),
    heads: named(found.heads),
    unknown: found.heads.filter((cell, i) => columns[i] === null && cell !== ""),
    rows: listed,
  };
}

interface Heads {
  readonly separator: Separator;
  /** The index of the heads' row among all rows. */
  readonly index: number;
  readonly heads: readonly string[];
}

/** Finds the line of heads. Tries each separator and uses the one with the most known heads. */
function headsOf(text: string): Heads | Excess | null {
  const found: Heads[] = [];
  let excess: Excess | null = null;
  for (const separator of SEPARATORS) {
    const rows = csvRows(text, separator, HEADS_WITHIN);
    if ("excess" in rows) {
      excess ??= rows;
      continue;
    }
    const index = rows.findIndex(({ cells }) => isHead(cells));
    const heads = rows[index]?.cells;
    if (heads !== undefined) found.push({ separator, index, heads });
  }
  const known = ({ heads }: Heads): number => heads.filter((head) => columnOf(head) !== null).length;
  return found.toSorted((one, other) => known(other) - known(one))[0] ?? excess;
}

function isHead(cells: readonly string[]): boolean {
  const columns = new Set(cells.map(columnOf));
  return columns.has("name") && (["address", "address_hex", "modbus", "node"] as const).some((one) => columns.has(one));
}

/** The maximum number of characters in a head. A longer text is a sentence. */
const MOST_HEAD = 60;

function plainHead(head: string): string {
  return head
    .replace(/^##\s*/, "")
    .replace(/[()[\]]/g, " ")
    .trim()
    .toLowerCase()
    .replace(/\s+/g, " ");
}

function columnOf(head: string): Column | null {
  if (head.length > MOST_HEAD) return null;
  const plain = plainHead(head);
  return (Object.keys(COLUMNS) as Column[]).find((column) => COLUMNS[column].test(plain)) ?? null;
}

/** Returns the kind of each column by position; null for an unused column. Of several columns of the same kind, only one is used. */
function columnsOf(heads: readonly string[], rows: readonly CsvRow[]): readonly (Column | null)[] {
  const columns: (Column | null)[] = heads.map(columnOf);
  const isAddress = (column: Column | null): boolean => column === "address" || column === "modbus";
  const offset = heads.findIndex((head) => plainHead(head) === "offset");
  if (offset >= 0 && columns.some((column, i) => i !== offset && isAddress(column))) {
    // Takes "Offset" as the offset of a scaled value if the list has another address column.
    columns[offset] = columns.includes("scale") && !columns.includes("offset") ? "offset" : null;
  }
  for (const [i, column] of columns.entries()) {
    // Ignores a column called Area or Function if its cells name no tables: it may name areas of the plant.
    const isOther = column !== "table" && column !== "function";
    if (!isOther && !rows.some(({ cells }) => isTableLike(cells[i] ?? "", column))) columns[i] = null;
  }
  nameTables(columns, rows);
  return columns.map((column, i) => {
    if (column === null) return null;
    const same = columns.flatMap((one, at) => (one === column ? [at] : []));
    return i === (column === "address" ? clearest(same, rows) : same[0]) ? column : null;
  });
}

/** Finds a table column by its cells, because it may have any head, even the same head as the column of types. */
function nameTables(columns: (Column | null)[], rows: readonly CsvRow[]): void {
  if (columns.includes("table")) return;
  const types = columns.filter((column) => column === "type").length;
  for (const [i, column] of columns.entries()) {
    if (column !== null && !(column === "type" && types > 1)) continue;
    const cells = rows.map(({ cells: all }) => all[i] ?? "").filter((cell) => cell !== "");
    const isTable =
      cells.length * 2 >= rows.length && cells.length > 0 && cells.every((cell) => tableIn(cell) !== null);
    if (!isTable) continue;
    columns[i] = "table";
    return;
  }
}

/** Matches numbers that name their table, such as 40001 or 4x0001. */
const NAMES_TABLE = /^([34]\d{4}|[134]\d{5}|0\d{5}|[0134]x\d+|[a-z]+:\d+)(\.\d+)?$/i;

/** Returns the address column in which most numbers name their table. */
function clearest(columns: readonly number[], rows: readonly CsvRow[]): number | undefined {
  const counted = columns.map((column) => ({
    column,
    clear: rows.filter(({ cells }) => NAMES_TABLE.test(cells[column] ?? "")).length,
  }));
  return counted.toSorted((one, other) => other.clear - one.clear)[0]?.column;
}

/** Matches a byte and bit of a data block, such as 12.0. */
const BYTE_OFFSET = /^\d{1,5}\.\d$/;
const S7_ADDRESS = /^%|^DB\d+\.DB[XBWD]\d/i;

function makerOf(heads: readonly string[], rows: readonly ListRow[]): RegisterList["maker"] {
  const all = new Set(heads.map(plainHead));
  const has = (...names: readonly string[]): boolean => names.every((name) => all.has(name));
  if (has("value offset", "string order", "more")) return "booth-gateway";
  if (has("system id")) return "Productivity";
  if (has("nickname", "address", "data type")) return "CLICK";
  if (has("addresses used") || has("variable name")) return "Connected Components";
  if (has("raw low", "scaled low")) return "Kepware";
  const addresses = rows.map(({ cells }) => cells.address ?? "").filter((cell) => cell !== "");
  const isBlock = has("offset") && addresses.some((cell) => BYTE_OFFSET.test(cell));
  const isTia = has("logical address") || isBlock || addresses.some((cell) => S7_ADDRESS.test(cell));
  return isTia ? "TIA" : "generic";
}

/** Spellings of types, without blanks, dashes and underscores. An ambiguous spelling gets the usual meaning in such lists. */
const TYPES: readonly (readonly [type: string, spellings: RegExp])[] = [
  ["bool", /^(bit|bool|boolean|discrete(input|output)?|coil|c|di|do|sbr|sbrw|mst)$/],
  ["float32", /^(real|float|float32|single|f32|32bitfloat|float,32bit|aif32|aof32)$/],
  ["float64", /^(lreal|double|float64|f64)$/],
  ["int16", /^(int|int16|short|s16|i16|integer|swr|swrw|(signed)?(16bit)?integer(,16bit)?|16bitsigned)$/],
  ["uint16", /^(uint|uint16|word|ushort|u16|hex|unsigned|(unsigned)?integer,16bitunsigned|16bitunsigned)$/],
  ["int32", /^(dint|int2|int32|long|s32|i32|ais32|aos32|integer,32bit|32bitsigned)$/],
  ["uint32", /^(udint|dword|uint32|ulong|u32|hex2|integer,32bitunsigned|32bitunsigned)$/],
  ["int64", /^(lint|int64|s64|i64)$/],
  ["uint64", /^(ulint|lword|uint64|u64)$/],
  ["bcd16", /^(bcd|bcd16|b16|wbcd|integer,16bitunsigned,bcd)$/],
  ["bcd32", /^(bcd32|b32|dbcd|integer,32bitunsigned,bcd)$/],
  ["string", /^(string|text|txt|str|sstr|char|ascii)(\[\d+\]|\(\d+\))?$/],
];

/** Returns the type of a row; null for an unknown type. */
export function typeNamed({ type, system_id }: ListRow["cells"]): string | null {
  const said = (type ?? system_id?.split("-")[0] ?? "").toLowerCase().replace(/[\s_-]/g, "");
  return TYPES.find(([, spellings]) => spellings.test(said))?.[0] ?? null;
}

/** Returns the length of a string in characters, from its column, a type such as String[20], or a Kepware address such as 400220.20H. */
export function charactersIn({ type = "", characters, address = "" }: ListRow["cells"]): number | null {
  const text = characters ?? /[[(](\d+)[\])]/.exec(type)?.[1] ?? /^\d{5,6}\.(\d{1,3})[HL]$/i.exec(address)?.[1];
  return text === undefined || !/^\d+$/.test(text) || Number(text) === 0 ? null : Number(text);
}
