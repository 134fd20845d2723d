import type { ModbusTable } from "../../domain/profile.ts";

/** This module recognizes the names of Modbus tables in register lists. Pure. */

/**
 * Spellings of tables, without blanks, dashes, brackets and the plural s. Single digits are missing, because their meaning differs between
 * lists.
 */
const WORDS: readonly (readonly [table: ModbusTable, spellings: RegExp])[] = [
  ["coil", /^((output|internal)?coil|(discrete|digital|bit|binary)output|outputstatus|do|0x{1,5}|0xref|coilstatus)$/],
  [
    "discrete",
    /^(discrete|(discrete|digital|binary|bit|status)input|inputstatus|(discrete)?(input)?contact|inputbit|inputcoil|inputdiscrete|di|1x{1,5}|1xref)$/,
  ],
  [
    "input",
    /^(input(analog)?(word)?reg(ister)?|inputword|analog(ue)?input(reg(ister)?)?|ai|ir|ireg|inputreg|3x{1,5}|3xref)$/,
  ],
  [
    "holding",
    /^(holding|(analog(ue)?|output|holding|outputholding)(reg(ister)?)|holdingreg(ister)?|analog(ue)?output|ao|hr|hreg|4x{1,5}|4xref)$/,
  ],
];
/** The table of each Modbus function code, for reading and writing. */
const FUNCTIONS: Readonly<Record<number, ModbusTable>> = {
  1: "coil",
  2: "discrete",
  3: "holding",
  4: "input",
  5: "coil",
  6: "holding",
  15: "coil",
  16: "holding",
  22: "holding",
  23: "holding",
};

/** The table that a cell names. "some input": input registers, or in a row of bits discrete inputs. null: unknown. */
type TableSaid = ModbusTable | "some input" | null;

/** Reads a cell of any column. Accepts a function code only with a mark, as in "FC03" or "read input registers (4)". */
export function tableIn(cell: string): TableSaid {
  const byWord = wordIn(cell);
  const byCode = codesIn(
    cell,
    /(?:^|[^a-z])(?:fc|fn|function|f)[ =:_-]*(?:code)?[ =:_-]*((?:0x)?\d{1,2}(?:[ ,/&+]+\d{1,2})*)/i,
  );
  return agreed(byWord, byCode ?? (byWord === null ? null : codesIn(cell, /\(((?:0x)?\d{1,2})\)/)));
}

/** Reads a cell of a column with function codes, in which digits alone are codes. */
export function tableOfFunction(cell: string): TableSaid {
  if (/^[\s0-9,;/&+xX=]+$/.test(cell)) return codesIn(cell, /^[ =]*((?:0x)?\d{1,2}(?:[ ,;/&+]+(?:0x)?\d{1,2})*)\s*$/i);
  return tableIn(cell) ?? codesIn(cell, /^\D*((?:0x)?\d{1,2})\D*$/i);
}

function wordIn(cell: string): TableSaid {
  const plain = cell
    .toLowerCase()
    .replace(/\([^)]*\)/g, "")
    .replace(/\b(read|write|only|single|multiple|modbus|table|area|r\/w|rw|ro|type)\b/g, "")
    .replace(/[\s_\-/.:]+/g, "")
    .replace(/s$/, "");
  const noun = plain.replace(/register$/, "reg");
  const found = WORDS.find(([, spellings]) => spellings.test(plain) || spellings.test(noun));
  if (found !== undefined) return found[0];
  return plain === "input" ? "some input" : null;
}

/** Returns the table of one or several function codes; null if they belong to different tables. */
function codesIn(cell: string, place: RegExp): ModbusTable | null {
  const [, codes] = place.exec(cell) ?? [];
  if (codes === undefined) return null;
  const tables = (codes.match(/(?:0x)?\d+/gi) ?? []).map((code) => FUNCTIONS[Number(code)]);
  const [first] = tables;
  return first !== undefined && tables.every((table) => table === first) ? first : null;
}

function agreed(one: TableSaid, other: ModbusTable | null): TableSaid {
  if (one === null || other === null || one === other) return one ?? other;
  // Prefers the code if a cell has both, as in "input (FC02)".
  return one === "some input" && (other === "input" || other === "discrete") ? other : null;
}

/** Returns whether a cell of a table column names a table, or is a digit that may mean a table. */
export function isTableLike(cell: string, column: string): boolean {
  return /^[0-4]$/.test(cell) || (column === "function" ? tableOfFunction(cell) : tableIn(cell)) !== null;
}
