import { type CsvRow, csvRows } from "../rules/csv.ts";
import { type Point, pointsTable, type Reader } from "./source.ts";

/** The memory of a Do-more that its Modbus server offers. All other memory can't be read over Modbus. */
const TABLES: Readonly<Record<string, string>> = { MC: "coil", MI: "discrete", MIR: "input", MHR: "holding" };
/** The types that a cast gives, as in MHR10:R for a real number in two registers. */
const CASTS: Readonly<Record<string, string>> = {
  "": "uint16",
  S: "int16",
  W: "uint16",
  D: "int32",
  UD: "uint32",
  R: "float32",
};
const ELEMENT = /^\$?([A-Z]{1,6})(\d+)(?::([A-Z]{1,2}|\d{1,2}))?$/i;
const SERVED = /^(MC|MI|MIR|MHR)\d+/i;

/** Reads the element documentation of Do-more Designer: element, nickname, extra info, description. Element 1 is the first register. */
export const readDoMore: Reader = ({ text }) => {
  if (!/^"?(MC|MI|MIR|MHR)\d+[":,]/im.test(text)) return null;
  const rows = csvRows(text, ",");
  if ("excess" in rows) return { tables: [() => rows] };
  const elements = rows.filter(({ cells }) => ELEMENT.test(cells[0] ?? ""));
  if (elements.length * 2 < rows.length || !elements.some(({ cells }) => SERVED.test(cells[0] ?? ""))) return null;
  return { maker: "Do-more", tables: [pointsTable(elements.map(pointOf))] };
};

function pointOf({ cells }: CsvRow): Point {
  const [element = "", nickname = "", info = "", description = ""] = cells;
  const [, memory = "", number = "", cast = ""] = ELEMENT.exec(element) ?? [];
  const table = TABLES[memory.toUpperCase()];
  const isBit = table === "coil" || table === "discrete" || /^\d/.test(cast);
  return {
    name: nickname || element,
    // Memory that the server does not offer keeps its own name, and is skipped with it.
    address: table === undefined ? element : `${table}:${Number(number) - 1}`,
    type: isBit ? "bool" : (CASTS[cast.toUpperCase()] ?? cast),
    bit: /^\d/.test(cast) ? cast : undefined,
    label: description || info || undefined,
  };
}
