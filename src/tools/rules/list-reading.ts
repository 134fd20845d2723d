import { MODBUS_TABLES, type ModbusTable } from "../../domain/profile.ts";
import { placeOf, type ReadRow, type Reading } from "./list-places.ts";

/**
 * What a register list leaves open about its addresses, and what decides it. Pure. One reading holds for all rows of a list:
 * if an address 0 shows that the list counts from 0, all its rows do, however they are written.
 */

/** The options that answer, as the command line has them. */
export type ReadingOption = "base" | "table" | "bit-table" | "digits" | "block" | "dots";
export type ReadingAnswers = Readonly<Partial<Record<ReadingOption, string>>>;

interface ReadingChoice {
  /** As the option has it; of a question that answers two options, both with a colon between. */
  readonly value: string;
  readonly answers: ReadingAnswers;
}

/** A question whose answer holds for the whole list. */
export interface ReadingQuestion {
  readonly options: readonly ReadingOption[];
  readonly choices: readonly ReadingChoice[];
  /** Rows that read differently by each answer, three at most. */
  readonly examples: readonly ReadRow[];
}

const DEFAULTS: Reading = {
  base: 1,
  modicon: "digit",
  modicon_base: 1,
  registers: "holding",
  bits: "coil",
  block: "",
  dots: "bits",
};
const MOST_EXAMPLES = 3;
const REGISTERS: readonly ModbusTable[] = ["holding", "input"];
const BITS: readonly ModbusTable[] = ["coil", "discrete"];
/** More memory areas than that are one project's whole export, not a list for Modbus. */
const MOST_BLOCKS = 20;

/** What the rows and the profile decide without a question. */
interface Evidence {
  /** null: nothing decides it. */
  readonly base: 0 | 1 | null;
  readonly modicon_base: 0 | 1;
  /** Tables of registers, and of bits, that the device serves. */
  readonly registers: readonly ModbusTable[];
  readonly bits: readonly ModbusTable[];
  readonly blocks: readonly string[];
  readonly dots: "bits" | "bytes" | null;
}

interface Rows {
  readonly rows: readonly ReadRow[];
  /** The tables that the device serves. */
  readonly tables?: readonly ModbusTable[] | undefined;
}

/** The question that must be answered next. Returns null if the rows and the answers decide everything. */
export function nextQuestion(given: Rows, answers: ReadingAnswers): ReadingQuestion | null {
  const { rows } = given;
  const evidence = evidenceIn(given, answers);
  const reading = readingOf(given, answers);
  const ask = (
    options: readonly ReadingOption[],
    choices: readonly ReadingChoice[],
    concerned: readonly ReadRow[],
  ): ReadingQuestion => ({ options, choices, examples: concerned.slice(0, MOST_EXAMPLES) });
  const one = (option: ReadingOption, values: readonly string[], concerned: readonly ReadRow[]): ReadingQuestion =>
    ask(
      [option],
      values.map((value) => ({ value, answers: { [option]: value } })),
      concerned,
    );
  if (answers.digits === undefined && canBeWhole(rows))
    return one("digits", ["table", "address"], rows.filter(isFiveDigits));
  if (answers.block === undefined && evidence.blocks.length > 0)
    return one("block", [...evidence.blocks.slice(0, MOST_BLOCKS), "none"], rows.filter(hasBlock));
  if (answers.dots === undefined && evidence.dots === null) {
    const dotted = rows.filter(({ notation }) => notation.kind === "dotted");
    return one("dots", ["bits", "bytes"], dotted);
  }
  const counted = countedRows(rows, reading);
  const unnamed = counted.filter((row) => isUnnamed(row, "registers"));
  const needsBase = evidence.base === null && counted.length > 0;
  const needsTable = answers.table === undefined && unnamed.length > 0 && evidence.registers.length > 1;
  if (needsBase && needsTable) return ask(["table", "base"], bothChoices(evidence.registers), unnamed);
  if (needsTable) return one("table", evidence.registers, unnamed);
  if (needsBase) return one("base", ["0", "1"], counted);
  const bits = counted.filter((row) => isUnnamed(row, "bits"));
  if (answers["bit-table"] === undefined && bits.length > 0 && evidence.bits.length > 1)
    return one("bit-table", evidence.bits, bits);
  return null;
}

function bothChoices(tables: readonly ModbusTable[]): readonly ReadingChoice[] {
  return tables.flatMap((table) => ["0", "1"].map((base) => ({ value: `${table}:${base}`, answers: { table, base } })));
}

/** The reading that rows, profile and answers make. */
export function readingOf(given: Rows, answers: ReadingAnswers): Reading {
  const evidence = evidenceIn(given, answers);
  const [registers = "holding"] = evidence.registers;
  const [bits = "coil"] = evidence.bits;
  const tableNamed = (text: string | undefined): ModbusTable | undefined => MODBUS_TABLES.find((one) => one === text);
  return {
    base: evidence.base ?? DEFAULTS.base,
    modicon: answers.digits === "address" ? "whole" : "digit",
    modicon_base: evidence.modicon_base,
    registers: tableNamed(answers.table) ?? registers,
    bits: tableNamed(answers["bit-table"]) ?? bits,
    block: answers.block ?? DEFAULTS.block,
    dots: answers.dots === "bytes" ? "bytes" : ((answers.dots === undefined ? evidence.dots : null) ?? DEFAULTS.dots),
  };
}

function evidenceIn({ rows, tables = MODBUS_TABLES }: Rows, answers: ReadingAnswers): Evidence {
  const served = (all: readonly ModbusTable[]): readonly ModbusTable[] => {
    const some = all.filter((table) => tables.includes(table));
    return some.length === 0 ? all : some;
  };
  const hasZero = rows.some(({ notation }) => notation.kind === "modicon" && notation.number === 0);
  const isWhole = answers.digits === "address";
  const numbers = rows.flatMap(({ notation }) => numberIn(notation, isWhole));
  // A number 0 proves that counting begins there, and the largest number of all that it begins at 1.
  const shown = numbers.includes(0) ? 0 : numbers.includes(65_536) ? 1 : null;
  const base = shown ?? (answers.base === "0" ? 0 : answers.base === "1" ? 1 : null);
  return {
    base,
    modicon_base: hasZero ? 0 : 1,
    registers: served(REGISTERS),
    bits: served(BITS),
    blocks: blocksIn(rows),
    dots: dotsIn(rows),
  };
}

function numberIn(notation: ReadRow["notation"], isWhole: boolean): readonly number[] {
  if (notation.kind === "plain") return [notation.number];
  if (notation.kind === "dotted" && notation.is_bit) return [notation.first];
  return isWhole && notation.kind === "modicon" && notation.whole !== null ? [notation.whole] : [];
}

/** Values of several bits that are written 12.0 show that bytes are counted. */
function dotsIn(rows: readonly ReadRow[]): Evidence["dots"] {
  const dotted = rows.flatMap(({ notation }) => (notation.kind === "dotted" ? [notation] : []));
  if (dotted.length === 0) return "bits";
  return dotted.some(({ is_bit }) => !is_bit) ? "bytes" : null;
}

function blocksIn(rows: readonly ReadRow[]): readonly string[] {
  const blocks = new Set<string>();
  for (const { notation } of rows) {
    if (notation.kind === "byte" && notation.block !== null) blocks.add(notation.block);
    if (notation.kind === "word") blocks.add("M").add("words");
  }
  return [...blocks];
}

function hasBlock({ notation }: ReadRow): boolean {
  return notation.kind === "word" || (notation.kind === "byte" && notation.block !== null);
}

function isFiveDigits({ notation }: ReadRow): boolean {
  return notation.kind === "modicon" && notation.whole !== null;
}

/** 40000 is no number of a table that begins at 1; and beside plain register numbers 40001 may be one of them. */
function canBeWhole(rows: readonly ReadRow[]): boolean {
  const five = rows.filter(isFiveDigits);
  const isRegister = ({ notation }: ReadRow): boolean =>
    notation.kind === "plain" && (REGISTERS as readonly string[]).concat("registers").includes(notation.table);
  return (
    five.some(({ notation }) => notation.kind === "modicon" && notation.number === 0) ||
    (five.length > 0 && rows.some(isRegister))
  );
}

function isCounted({ notation }: ReadRow, reading: Reading): boolean {
  if (notation.kind === "plain") return true;
  if (notation.kind === "dotted") return reading.dots === "bits";
  return notation.kind === "modicon" && notation.whole !== null && reading.modicon === "whole";
}

function isUnnamed({ notation }: ReadRow, what: "registers" | "bits"): boolean {
  if (notation.kind === "modicon") return what === "registers" && !notation.is_named;
  return (notation.kind === "plain" || notation.kind === "dotted") && notation.table === what;
}

/** The rows whose numbers begin at the reading's base. */
function countedRows(rows: readonly ReadRow[], reading: Reading): readonly ReadRow[] {
  return rows.filter((row) => isCounted(row, reading));
}

/** Three rows that show how the reading counts, and the first number of a table. null: the addresses count by themselves. */
export function shownRows(
  rows: readonly ReadRow[],
  reading: Reading,
): { readonly base: 0 | 1 | null; readonly rows: readonly ReadRow[] } {
  const placed = rows.filter((row) => !("message" in placeOf(row, reading)));
  const counted = countedRows(placed, reading);
  const rest = placed.filter((row) => !isCounted(row, reading));
  if (counted.length > 0) return { base: reading.base, rows: [...counted, ...rest].slice(0, MOST_EXAMPLES) };
  const numbered = placed.filter(({ notation }) => notation.kind === "modicon");
  if (numbered.length > 0) return { base: reading.modicon_base, rows: numbered.slice(0, MOST_EXAMPLES) };
  return { base: null, rows: placed.slice(0, MOST_EXAMPLES) };
}
