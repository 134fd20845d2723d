import type { FirstOf } from "../../domain/profile.ts";
import { type CsvRow, csvRows, type Excess, SEPARATORS } from "./csv.ts";
import { isTableLike, tableIn } from "./list-tables.ts";

/** This module reads register lists as engineering tools export them: recognizes the columns, the types and the tool. Pure. */

/**
 * The column heads of each kind of column in English, German and Spanish, in lower case and without accents. The first kind that fits a
 * head is used.
 */
const COLUMNS = {
  name: /^(tag|variable|symbol|signal|point|plc|parameter)?[ _]?name$|^(nickname|tag|variable|symbol|signal|point|data ?point|parameter|measurement)$|^(bezeichnung|bezeichner|(variablen|symbol|signal|tag|datenpunkt)name|datenpunkt|messwert)$|^nombre( (de( la)? )?(variable|etiqueta|senal|simbolo))?$|^(etiqueta|simbolo|senal|punto|magnitud)$/,
  modbus: /^modbus[ -]?(start)? ?(address|register|adresse)?$|^mb[ _]?address$|^(direccion|registro) modbus$/,
  address_hex:
    /^(plc |logical |modbus |register |start |holding )*(address|register|addr|adresse|direccion)( in| en)? hex(adecimal)?$/,
  address:
    /^(plc |logical |modbus |register |reg |start |holding )*(address|register|offset|addr|element)( in)?( dec(imal)?)?$|^(sps-|logische |start|register)?adresse$|^registernummer$|^direccion( (logica|inicial|del? (plc|registro)))?$|^registro$/,
  function:
    /^(modbus )?(read )?(function( ?codes?)?|functions|fc|func|fct)$|^(modbus-)?funktion(scode)?$|^(codigo de )?funcion$/,
  table:
    /^(modbus )?(register|reg|object|point|memory|primary|address|io|i\/o)[ _]?(type|class|table|area|kind|space)$|^(modbus )?(table|area|object|register space|memory)$|^(register|objekt|adress|speicher)(typ|art|bereich)$|^tabelle$|^(tipo|tabla) de (registro|objeto|memoria)$|^tabla$/,
  type: /^(data|value|variable)?[ _]?(type|format)$|^(daten|variablen)?(typ|format)$|^(tipo|formato)( (de|del) (datos?|variable|valor))?$/,
  system_id: /^system id$/,
  characters: /^(number of characters|string length|characters|anzahl zeichen|numero de caracteres)$/,
  length:
    /^(length|registers|size|(no|number) of registers|register count|quantity|words)$|^(lange|anzahl( register)?|registeranzahl)$|^(longitud|cantidad|(numero|cantidad) de registros)$/,
  word_order: /^word[ _]order$|^wort(reihen)?folge$|^orden de (las )?palabras$/,
  byte_order: /^byte[ _]order$|^byte(reihen)?folge$|^orden de (los )?bytes$/,
  string_order: /^string[ _]order$/,
  bit: /^bit([ -]?(number|nummer|no|position))?$|^(numero de )?bit$/,
  scale:
    /^(scale|scaling|multiplier|gain|factor|scale factor|scaling factor)$|^(faktor|skalierung(sfaktor)?|multiplikator)$|^(escala|multiplicador|factor de escala)$/,
  divisor: /^(divisor|divide by|div|teiler)$/,
  offset: /^value offset$|^desplazamiento$/,
  raw_low: /^raw low$/,
  raw_high: /^raw high$/,
  scaled_low: /^scaled low$/,
  scaled_high: /^scaled high$/,
  negate: /^negate value$/,
  unit: /^(eng(ineering)?\.? |measuring )?units?( of measure(ment)?)?$|^eu$|^uom$|^(mass|maß)?einheit$|^unidad(es)?( de medida)?$/,
  role: /^role$/,
  filter: /^filter$/,
  bay: /^bay$/,
  group: /^(poll )?group$/,
  values: /^(values|codes|modes)$/,
  node: /^(node( ?id)?)$/,
  label:
    /^(label|comment|description|address comment|remarks?|text)$|^(kommentar|beschreibung|bemerkung)$|^(comentario|descripcion|observaciones)$/,
  more: /^more$/,
} as const;
export type Column = keyof typeof COLUMNS;

export const COLUMN_KINDS = Object.keys(COLUMNS) as readonly Column[];

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
  /** All columns of the list, used or not, in its order. */
  readonly all: readonly ListColumn[];
  readonly rows: readonly ListRow[];
}

/** A column as the list has it. */
export interface ListColumn {
  /** The column's letter in a spreadsheet: A, B, ... */
  readonly letter: string;
  readonly head: string;
  /** The use of the column; null if it is not used. */
  readonly kind: Column | null;
  /** The first cells that are not empty. */
  readonly samples: readonly string[];
}

/** The columns whose use a person has chosen, by letter; null: not used. */
export type ChosenColumns = ReadonlyMap<string, Column | null>;

/** Reads the first rows of a table, at most `most_rows`; by default all rows. */
export type Table = (most_rows?: number) => readonly CsvRow[] | Excess;

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
  "Do-more": { word_order: "low_first", string_order: "low_first" },
  Kepware: {},
  Ignition: {},
  "Home Assistant": {},
  Telegraf: {},
  SunSpec: {},
  evcc: {},
  NodeSet2: {},
  CODESYS: {},
  "booth-gateway": {},
  generic: {},
} as const satisfies Readonly<Record<string, Orders>>;

/** The columns of which a list needs one. */
const ADDRESSES = ["address", "address_hex", "modbus", "node"] as const;

/** The number of first lines to search for the heads, which may follow titles and remarks. */
const HEADS_WITHIN = 60;

/** Reads a list. Returns null if none of the first lines has a name head and an address head, or an Excess if the list exceeds a limit. */
export function registerList(text: string): RegisterList | Excess | null {
  const list = listOf(csvTables(text), new Map());
  return list === null || "excess" in list || isComplete(list) ? list : null;
}

/** Returns the text as a table for each separator, of which one is the right one. */
export function csvTables(text: string): readonly Table[] {
  return SEPARATORS.map((separator) => (most_rows) => csvRows(text, separator, most_rows));
}

/** Returns whether the list has a column of names and a column of addresses, without which no row can be imported. */
export function isComplete({ columns }: Pick<RegisterList, "columns">): boolean {
  return columns.includes("name") && ADDRESSES.some((one) => columns.includes(one));
}

/**
 * Makes a list of the table that has the most known heads. Returns null if the tables are empty, or an Excess if a limit is exceeded.
 * @param maker the tool that wrote the list, if the file says so
 */
export function listOf(
  tables: readonly Table[],
  chosen: ChosenColumns,
  maker?: RegisterList["maker"],
): RegisterList | Excess | null {
  const found = headsOf(tables);
  if (found === null || "excess" in found) return found;
  const lines = found.table();
  if ("excess" in lines) return lines;
  const { index, heads } = found;
  // Skips lines that start with ##: a second line of heads, such as the version in Productivity's lists.
  const rows = lines.slice(index + 1).filter(({ cells }) => !/^##/.test(cells[0] ?? ""));
  const columns = columnsOf(heads, rows, chosen);
  const named = (cells: readonly string[]): ListRow["cells"] =>
    Object.fromEntries(
      columns.flatMap((column, i) => {
        const cell = cells[i] ?? "";
        return column === null || cell === "" ? [] : [[column, cell] as const];
      }),
    );
  const listed = rows.map(({ line, cells }): ListRow => ({ line, cells: named(cells) }));
  const samplesOf = (i: number): readonly string[] => sampled(rows, i).map((cell) => cell.slice(0, MOST_HEAD));
  return {
    maker: maker ?? makerOf(heads, listed),
    columns: columns.filter((column) => column !== null),
    heads: named(heads),
    unknown: heads.filter((cell, i) => columns[i] === null && cell !== ""),
    all: columns.map((kind, i) => ({ letter: letterOf(i), head: heads[i] ?? "", kind, samples: samplesOf(i) })),
    rows: listed,
  };
}

const MOST_SAMPLES = 3;

/** Returns the first cells of a column that are not empty. */
function sampled(rows: readonly CsvRow[], column: number): readonly string[] {
  const samples: string[] = [];
  for (const { cells } of rows) {
    const cell = cells[column] ?? "";
    if (cell !== "") samples.push(cell);
    if (samples.length === MOST_SAMPLES) break;
  }
  return samples;
}

const LETTERS = 26;

/** Returns the letter of a column, as spreadsheets name it: A to Z, AA, AB ... */
function letterOf(column: number): string {
  const last = String.fromCharCode(65 + (column % LETTERS));
  return column < LETTERS ? last : `${letterOf(Math.floor(column / LETTERS) - 1)}${last}`;
}

interface Heads {
  readonly table: Table;
  /** The index of the heads' row among all rows; -1 if the table has none. */
  readonly index: number;
  readonly heads: readonly string[];
}

/** Finds the row of heads. Tries each table and uses the one with the most known heads, else the one with the most columns. */
function headsOf(tables: readonly Table[]): Heads | Excess | null {
  const found: Heads[] = [];
  const rough: Heads[] = [];
  let excess: Excess | null = null;
  for (const table of tables) {
    const rows = table(HEADS_WITHIN);
    if ("excess" in rows) {
      excess ??= rows;
      continue;
    }
    const index = rows.findIndex(({ cells }) => isHead(cells));
    const heads = rows[index]?.cells;
    if (heads !== undefined) found.push({ table, index, heads });
    else if (rows.length > 0) rough.push({ table, ...roughHeads(rows) });
  }
  const known = ({ heads }: Heads): number => heads.filter((head) => columnOf(head) !== null).length;
  const best = found.toSorted((one, other) => known(other) - known(one))[0];
  return best ?? excess ?? rough.toSorted((one, other) => other.heads.length - one.heads.length)[0] ?? null;
}

/** Takes the first of the fullest rows as heads. A row with a number holds values: the list then has no heads, and letters replace them. */
function roughHeads(rows: readonly CsvRow[]): Omit<Heads, "table"> {
  const filled = rows.map(({ cells }) => cells.filter((cell) => cell !== "").length);
  const index = filled.indexOf(Math.max(...filled));
  const cells = rows[index]?.cells ?? [];
  if (!cells.some((cell) => /^[%\d]/.test(cell))) return { index, heads: cells };
  return { index: index - 1, heads: cells.map((_, i) => letterOf(i)) };
}

function isHead(cells: readonly string[]): boolean {
  return isComplete({ columns: cells.map(columnOf).filter((column) => column !== null) });
}

/** The maximum number of characters in a head. A longer text is a sentence. */
const MOST_HEAD = 60;

function plainHead(head: string): string {
  return head
    .replace(/^##\s*/, "")
    .replace(/[()[\]]/g, " ")
    .trim()
    .normalize("NFD")
    .replace(/[\u0300-\u036f]/g, "")
    .toLowerCase()
    .replace(/\s+/g, " ");
}

function columnOf(head: string): Column | null {
  if (head.length > MOST_HEAD) return null;
  const plain = plainHead(head);
  return COLUMN_KINDS.find((column) => COLUMNS[column].test(plain)) ?? null;
}

/** Returns the kind of each column by position; null for an unused column. Of several columns of the same kind, only one is used. */
function columnsOf(
  heads: readonly string[],
  rows: readonly CsvRow[],
  chosen: ChosenColumns,
): readonly (Column | null)[] {
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
  const taken = new Set(chosen.values());
  return columns.map((column, i) => {
    const own = chosen.get(letterOf(i));
    if (own !== undefined) return own;
    if (column === null || taken.has(column)) return null;
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
  if (has("element", "nickname")) return "Do-more";
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
