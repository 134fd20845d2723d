import { cellText, MOST_COLUMNS, MOST_ROWS } from "../rules/csv.ts";
import type { Column, RegisterList, Table } from "../rules/register-list.ts";
import type { Call } from "../command.ts";
import type { Live } from "../profile/import-asks.ts";

/** A file with points of a PLC, as an engineering tool, a gateway or a spreadsheet program writes it. */
export interface Source {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly text: string;
}

/** The rows of a file. A file may have several tables, such as the sheets of a workbook, of which one is the list. */
export interface SourceTables {
  /** The tool that wrote the file; absent: the column heads decide. */
  readonly maker?: RegisterList["maker"];
  readonly tables: readonly Table[];
  /** Completes addresses that the file leaves open: asks the user, or reads the PLC. Absent if the file has complete addresses. */
  readonly complete?: (call: Call, live: Live) => Promise<readonly Table[]>;
}

/** Reads a file of one format. Returns null if the file has another format. Throws a CommandError with the reason if it can't be used. */
export type Reader = (source: Source) => SourceTables | null | Promise<SourceTables | null>;

/** A point of a PLC, by the kinds of columns of a register list. */
export type Point = Readonly<Partial<Record<Column, string | number | undefined>>>;

/** The heads of the columns of points. The head "Multiplier" makes clear that a whole scale is a factor. */
const HEADS = {
  name: "Name",
  address: "Address",
  table: "Table",
  node: "Node",
  type: "Type",
  length: "Length",
  bit: "Bit",
  word_order: "Word order",
  byte_order: "Byte order",
  scale: "Multiplier",
  offset: "Value offset",
  raw_low: "Raw low",
  raw_high: "Raw high",
  scaled_low: "Scaled low",
  scaled_high: "Scaled high",
  unit: "Unit",
  label: "Label",
} as const satisfies Partial<Record<Column, string>>;
const KINDS = Object.keys(HEADS) as (keyof typeof HEADS)[];

/** Makes a table of points. The lines of its rows are the numbers of the points, from 1. */
export function pointsTable(points: readonly Point[]): Table {
  const used = KINDS.filter((kind) => points.some((point) => point[kind] !== undefined));
  const rows = points.map((point) => used.map((kind) => String(point[kind] ?? "")));
  return rowsTable([used.map((kind) => HEADS[kind]), ...rows], 0);
}

/** Makes a table of rows of cells, with the same bounds as the text of a list. Skips empty rows. `first`: the line of the first row. */
export function rowsTable(rows: readonly (readonly string[])[], first: number): Table {
  const table = rows.flatMap((cells, i) =>
    cells.some((cell) => cell !== "") ? [{ line: first + i, cells: cells.map(cellText) }] : [],
  );
  const wide = table.find(({ cells }) => cells.length > MOST_COLUMNS);
  const last = table[MOST_ROWS + 1];
  return (most_rows) => {
    if (wide !== undefined) return { excess: "columns", line: wide.line };
    if (last !== undefined && most_rows === undefined) return { excess: "rows", line: last.line };
    return table.slice(0, most_rows);
  };
}

/** A value of unknown shape as an object; an empty object for any other value. */
export function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value))
    : {};
}

/** A value of unknown shape as a list of objects; an empty list for any other value. */
export function objectsOf(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.map(objectOf) : [];
}

/** A text or a number as text; undefined for any other value. */
export function textOf(value: unknown): string | undefined {
  return typeof value === "string" || typeof value === "number" ? String(value) : undefined;
}
