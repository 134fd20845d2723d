import { type AddressFault, parseAddress, type TableAddress } from "../../config/profile-address.ts";
import type { FirstOf, ModbusTable } from "../../domain/profile.ts";

/** Register lists as engineering tools export them: columns recognised, places and types read. Pure. */

/** What a column may be, by what its head says; the first that fits counts, and of several columns the first kind's. */
const COLUMNS = {
  name: /^(tag|variable|symbol|signal|point|plc)?[ _]?name$|^(nickname|tag|variable|symbol|signal)$/,
  modbus: /^modbus( start)?( address| register)?$|^mb[ _]?address$/,
  address: /^(plc |logical |register |start |holding )*(address|register|offset|addr)$/,
  function: /^(modbus )?(function( code)?|fc)$/,
  type: /^(data)?[ _]?(type|format)$/,
  system_id: /^system id$/,
  characters: /^(number of characters|string length|characters)$/,
  length: /^(length|registers)$/,
  word_order: /^word[ _]order$/,
  byte_order: /^byte[ _]order$/,
  string_order: /^string[ _]order$/,
  bit: /^bit$/,
  scale: /^(scale|scaling|multiplier|gain|factor)$/,
  offset: /^value offset$/,
  unit: /^(engineering )?units?$|^eu$|^uom$/,
  role: /^role$/,
  filter: /^filter$/,
  bay: /^bay$/,
  group: /^(poll )?group$/,
  values: /^(values|codes|modes)$/,
  node: /^(node( ?id)?)$/,
  label: /^(label|comment|description|address comment|remarks?|text)$/,
  more: /^more$/,
} as const;
export type Column = keyof typeof COLUMNS;

export interface ListRow {
  /** In the file, from 1. */
  readonly line: number;
  readonly cells: Readonly<Partial<Record<Column, string>>>;
}

/** Whose list it is, by its columns: that says which word comes first, where no column does. */
export interface RegisterList {
  readonly maker: keyof typeof MAKERS;
  readonly columns: readonly Column[];
  /** Heads that nobody here knows. */
  readonly unknown: readonly string[];
  readonly rows: readonly ListRow[];
}

interface Orders {
  readonly word_order?: FirstOf;
  readonly string_order?: FirstOf;
}

/** Word and string order of whoever's list it is; what is absent is as the profile has it. */
export const MAKERS = {
  CLICK: { word_order: "low_first", string_order: "low_first" },
  Productivity: { word_order: "low_first", string_order: "high_first" },
  "Connected Components": { word_order: "high_first", string_order: "high_first" },
  TIA: { word_order: "high_first", string_order: "high_first" },
  generic: {},
} as const satisfies Readonly<Record<string, Orders>>;

/** Null where no line has two heads that are known, a name and a place among them. */
export function registerList(text: string): RegisterList | null {
  const lines = csvRows(text);
  const head = lines.findIndex(({ cells }) => isHead(cells.map(columnOf)));
  const heads = lines[head]?.cells ?? [];
  if (head === -1) return null;
  const columns = heads.map(columnOf);
  const rows = lines.slice(head + 1).flatMap(({ line, cells }): ListRow[] => {
    // A second line of heads, such as the version of Productivity's lists, has ## before it.
    if (/^##/.test(cells[0] ?? "") || cells.every((cell) => cell === "")) return [];
    const named = columns.flatMap((column, i) => {
      const first = columns.indexOf(column) === i;
      const cell = cells[i] ?? "";
      return column === null || !first || cell === "" ? [] : [[column, cell] as const];
    });
    return [{ line, cells: Object.fromEntries(named) }];
  });
  const known = columns.filter((column) => column !== null);
  return {
    maker: makerOf(heads, rows),
    columns: known,
    unknown: heads.filter((cell, i) => columns[i] === null && cell !== ""),
    rows,
  };
}

function isHead(columns: readonly (Column | null)[]): boolean {
  const hasPlace = columns.some((column) => column === "address" || column === "modbus" || column === "node");
  return columns.includes("name") && hasPlace;
}

function columnOf(head: string): Column | null {
  const plain = head
    .replace(/^##\s*/, "")
    .trim()
    .toLowerCase()
    .replace(/\s+/g, " ");
  return (Object.keys(COLUMNS) as Column[]).find((column) => COLUMNS[column].test(plain)) ?? null;
}

function makerOf(heads: readonly string[], rows: readonly ListRow[]): RegisterList["maker"] {
  const all = heads.map((head) =>
    head
      .replace(/^##\s*/, "")
      .trim()
      .toLowerCase(),
  );
  if (all.includes("system id")) return "Productivity";
  if (all.includes("nickname")) return "CLICK";
  if (all.includes("addresses used") || all.includes("variable name")) return "Connected Components";
  const isTia =
    all.includes("logical address") ||
    all.includes("offset") ||
    rows.some(({ cells }) => /^%/.test(cells.address ?? ""));
  return isTia ? "TIA" : "generic";
}

interface CsvRow {
  readonly line: number;
  readonly cells: readonly string[];
}

/** Comma, semicolon or tab, whichever the text has most of in its first lines; quotes as RFC 4180 has them. */
function csvRows(text: string): readonly CsvRow[] {
  const plain = text.replace(/^\uFEFF/, "");
  const start = plain.split("\n", 5).join("\n");
  const [separator = ","] = [",", ";", "\t"].toSorted((a, b) => start.split(b).length - start.split(a).length);
  const rows: { line: number; cells: string[] }[] = [];
  let [cell, isQuoted, line] = ["", false, 1];
  let row: { line: number; cells: string[] } = { line, cells: [] };
  const endCell = (): void => {
    row.cells.push(cellText(cell));
    cell = "";
  };
  for (let i = 0; i < plain.length; i++) {
    const char = plain.charAt(i);
    if (char === "\n") line++;
    if (isQuoted) {
      if (char !== '"') cell += char;
      else if (plain.charAt(i + 1) === '"') cell += plain.charAt(++i);
      else isQuoted = false;
    } else if (char === '"' && cell.trim() === "") [isQuoted, cell] = [true, ""];
    else if (char === separator) endCell();
    else if (char === "\n") {
      endCell();
      rows.push(row);
      row = { line, cells: [] };
    } else if (char !== "\r") cell += char;
  }
  endCell();
  return [...rows, row].filter(({ cells }) => cells.some((one) => one !== ""));
}

/** Without the mark that keeps a spreadsheet from taking it for a formula. */
function cellText(cell: string): string {
  return cell.trim().replace(/^'(?=[=+\-@])/, "");
}

/** Spellings of types, without blanks, dashes and underscores; what stands for several is the usual one of such lists. */
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

/** The type that a list means; null: none that is known here. */
export function typeNamed({ type, system_id }: ListRow["cells"]): string | null {
  const said = (type ?? system_id?.split("-")[0] ?? "").toLowerCase().replace(/[\s_-]/g, "");
  return TYPES.find(([, spellings]) => spellings.test(said))?.[0] ?? null;
}

/** Characters in a type such as String[20]. */
export function charactersIn({ type = "", characters }: ListRow["cells"]): number | null {
  const text = characters ?? /[[(](\d+)[\])]/.exec(type)?.[1];
  return text === undefined || !/^\d+$/.test(text) || Number(text) === 0 ? null : Number(text);
}

/** Where a plain number without a table counts from, which such a list doesn't say. */
export interface Counting {
  /** Of addresses below 10,000 that aren't bits: the first holding register is 1, or 0. */
  readonly first: 0 | 1;
}

export type ListPlace = TableAddress & { readonly bit?: number; readonly doubt?: "counting" | "bytes" };

/** Where a row's value stands. */
export function placeIn({ cells }: ListRow, type: string, counting: Counting): ListPlace | AddressFault {
  const text = (cells.modbus ?? cells.address ?? "").trim();
  const table = tableBy(cells.function);
  const number = /^\d+$/.test(text) ? Number(text) : null;
  if (table !== null) return inTable(table, text);
  const bytes = byteOffset(text);
  if (bytes !== null && cells.modbus === undefined) return byteplace(bytes, type);
  const isCounted = number !== null && number < 10_000 && !text.startsWith("0") && type !== "bool";
  if (isCounted || text === "0")
    return { table: "holding", address: (number ?? 0) - counting.first, doubt: "counting" };
  const [, register, bit] = /^(\d{5,6})\.(\d{1,2})$/.exec(text) ?? [];
  if (register === undefined) return parseAddress(text);
  const at = parseAddress(register);
  return "message" in at ? at : { ...at, bit: Number(bit) };
}

const TABLES: Readonly<Record<number, ModbusTable>> = { 1: "coil", 2: "discrete", 3: "holding", 4: "input" };
const FIRST_NUMBER: Readonly<Record<ModbusTable, number>> = {
  coil: 0,
  discrete: 100_000,
  input: 300_000,
  holding: 400_000,
};

/** "FC=03,06,16": the one that reads. */
function tableBy(functions: string | undefined): ModbusTable | null {
  const codes = (functions ?? "").match(/\d+/g)?.map(Number) ?? [];
  return codes.map((code) => TABLES[code]).find((table) => table !== undefined) ?? null;
}

/** The function code says which table: the number may be with or without the table's digit, from 1, or hexadecimal, from 0. */
function inTable(table: ModbusTable, text: string): ListPlace | AddressFault {
  const hex = /^(?:0x([0-9a-f]+)|([0-9a-f]+)h)$/i.exec(text);
  if (hex !== null) return { table, address: parseInt(hex[1] ?? hex[2] ?? "", 16) };
  if (!/^\d+$/.test(text)) return parseAddress(text);
  const number = Number(text);
  const long = number - FIRST_NUMBER[table];
  const short = number - FIRST_NUMBER[table] / 10;
  const counted = long >= 1 && long <= 65_536 ? long : short >= 1 && short <= 9_999 ? short : number;
  return counted >= 1 && counted <= 65_536
    ? { table, address: counted - 1 }
    : { message: `${text} is no address of ${table}` };
}

/** Bytes of a data block or of the flags, as %DB1.DBD8, %MW10, %M10.3 and 12.0 have them. */
function byteOffset(text: string): { readonly byte: number; readonly bit: number | null } | null {
  const [, byte, bit] =
    /^%?(?:DB\d+\.DB[XBWD]|M[BWD]?)(\d+)(?:\.(\d))?$/i.exec(text) ?? /^(\d{1,4})\.(\d)$/.exec(text) ?? [];
  return byte === undefined ? null : { byte: Number(byte), bit: bit === undefined ? null : Number(bit) };
}

/** Byte 0 is the high byte of the first register: its bit 0 is the register's bit 8. */
function byteplace({ byte, bit }: { readonly byte: number; readonly bit: number | null }, type: string): ListPlace {
  const place = { table: "holding", address: byte >> 1, doubt: "bytes" } as const;
  return type === "bool" ? { ...place, bit: (bit ?? 0) + (byte % 2 === 0 ? 8 : 0) } : place;
}
