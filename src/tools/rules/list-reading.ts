import { MODBUS_TABLES, type ModbusTable } from "../../domain/profile.ts";
import { placeOf, type ReadRow, type Reading } from "./list-places.ts";

/**
 * This module finds the questions about addresses that a register list leaves undecided. Pure. One `Reading` holds for all rows of a list:
 * if an address 0 shows that the list counts from 0, then all its rows count from 0, in any notation.
 */

/** The command-line options that answer these questions. */
export type ReadingOption = "base" | "table" | "bit-table" | "digits" | "block" | "dots";
export type ReadingAnswers = Readonly<Partial<Record<ReadingOption, string | undefined>>>;

interface ReadingChoice {
  /** The option's value. For a question about two options, both values joined by a colon. */
  readonly value: string;
  readonly answers: ReadingAnswers;
}

/** A question whose answer holds for the whole list. */
export interface ReadingQuestion {
  readonly options: readonly ReadingOption[];
  readonly choices: readonly ReadingChoice[];
  /** Examples for the question: up to three rows whose address depends on the answer. */
  readonly examples: readonly ReadRow[];
}

const MOST_EXAMPLES = 3;
const REGISTERS: readonly ModbusTable[] = ["holding", "input"];
const BITS: readonly ModbusTable[] = ["coil", "discrete"];
/** The maximum number of memory areas in a list. A list with more areas is the export of a whole project, not a list for Modbus. */
const MOST_BLOCKS = 20;

interface Rows {
  readonly rows: readonly ReadRow[];
  /** All rows of the list, if only some of them are used: any row may prove how the list counts. */
  readonly all?: readonly ReadRow[];
  /** The tables that the device serves; undefined means all. */
  readonly tables?: readonly ModbusTable[] | undefined;
}

/** Returns the question to ask next. Returns null if the rows and the answers decide everything. */
export function nextQuestion(given: Rows, answers: ReadingAnswers): ReadingQuestion | null {
  const { rows, all = rows } = given;
  const ask = (option: ReadingOption, values: readonly string[], concerned: readonly ReadRow[]): ReadingQuestion => ({
    options: [option],
    choices: values.map((value) => ({ value, answers: { [option]: value } })),
    examples: concerned.slice(0, MOST_EXAMPLES),
  });
  if (answers.digits === undefined && rows.some(isFiveDigits) && canBeWhole(all))
    return ask("digits", ["table", "address"], rows.filter(isFiveDigits));
  const blocks = [...new Set(rows.flatMap(blocksIn))];
  if (answers.block === undefined && blocks.length > 0) {
    const concerned = rows.filter((row) => blocksIn(row).length > 0);
    return ask("block", [...blocks.slice(0, MOST_BLOCKS), "none"], concerned);
  }
  const dotted = rows.filter(({ notation }) => notation.kind === "dotted");
  if (answers.dots === undefined && dotted.length > 0 && !hasByteDots(all))
    return ask("dots", ["bits", "bytes"], dotted);
  const reading = readingOf(given, answers);
  const counted = rows.filter((row) => isCounted(row, reading));
  const unnamed = counted.filter((row) => isUnnamed(row, "registers"));
  const registers = served(given, REGISTERS);
  const needsBase = firstNumberOf(all, answers) === null && counted.length > 0;
  const needsTable = answers.table === undefined && unnamed.length > 0 && registers.length > 1;
  if (needsBase && needsTable) {
    const choices = registers.flatMap((table) =>
      ["0", "1"].map((base) => ({ value: `${table}:${base}`, answers: { table, base } })),
    );
    return { options: ["table", "base"], choices, examples: unnamed.slice(0, MOST_EXAMPLES) };
  }
  if (needsTable) return ask("table", registers, unnamed);
  if (needsBase) return ask("base", ["0", "1"], counted);
  const bits = counted.filter((row) => isUnnamed(row, "bits"));
  const bitTables = served(given, BITS);
  if (answers["bit-table"] === undefined && bits.length > 0 && bitTables.length > 1)
    return ask("bit-table", bitTables, bits);
  return null;
}

/** Returns the reading that follows from rows, profile and answers. Undecided parts get their usual value. */
export function readingOf(given: Rows, answers: ReadingAnswers): Reading {
  const { rows, all = rows } = given;
  const tableOf = (answer: string | undefined, usual: readonly ModbusTable[]): ModbusTable =>
    MODBUS_TABLES.find((one) => one === answer) ?? served(given, usual)[0] ?? "holding";
  const hasZero = all.some(({ notation }) => notation.kind === "modicon" && notation.number === 0);
  const hasBytes = answers.dots === undefined ? hasByteDots(all) : answers.dots === "bytes";
  return {
    base: firstNumberOf(all, answers) ?? 1,
    modicon: answers.digits === "address" ? "whole" : "digit",
    modicon_base: hasZero ? 0 : 1,
    registers: tableOf(answers.table, REGISTERS),
    bits: tableOf(answers["bit-table"], BITS),
    block: answers.block ?? "",
    dots: hasBytes ? "bytes" : "bits",
  };
}

/** Returns the given tables that the device serves, or all given tables if the device serves none of them. */
function served({ tables = MODBUS_TABLES }: Rows, all: readonly ModbusTable[]): readonly ModbusTable[] {
  const some = all.filter((table) => tables.includes(table));
  return some.length === 0 ? all : some;
}

/**
 * Returns the first number of a table, proven by the rows or given by the answer. A number 0 proves 0; the largest possible number proves
 * 1.
 */
function firstNumberOf(rows: readonly ReadRow[], answers: ReadingAnswers): 0 | 1 | null {
  const isWhole = answers.digits === "address";
  const numbers = rows.flatMap(({ notation }): readonly number[] => {
    if (notation.kind === "plain") return [notation.number];
    if (notation.kind === "dotted" && notation.is_bit) return [notation.first];
    return isWhole && notation.kind === "modicon" && notation.whole !== null ? [notation.whole] : [];
  });
  if (numbers.includes(0)) return 0;
  if (numbers.includes(65_536)) return 1;
  return answers.base === "0" ? 0 : answers.base === "1" ? 1 : null;
}

/** Returns whether a value of several bits is written like 12.0, which shows that the list counts bytes. */
function hasByteDots(rows: readonly ReadRow[]): boolean {
  return rows.some(({ notation }) => notation.kind === "dotted" && !notation.is_bit);
}

/** Returns the memory areas that a row may mean. */
function blocksIn({ notation }: ReadRow): readonly string[] {
  if (notation.kind === "word") return ["M", "words"];
  return notation.kind === "byte" && notation.block !== null ? [notation.block] : [];
}

function isFiveDigits({ notation }: ReadRow): boolean {
  return notation.kind === "modicon" && notation.whole !== null;
}

/**
 * Returns whether five-digit numbers may be plain addresses. Two cases show that: 40000, which can't be the number of a table that begins
 * at 1, or other rows with plain register numbers.
 */
function canBeWhole(rows: readonly ReadRow[]): boolean {
  const five = rows.filter(isFiveDigits);
  const isZero = ({ notation }: ReadRow): boolean => notation.kind === "modicon" && notation.number === 0;
  const isRegister = ({ notation }: ReadRow): boolean =>
    notation.kind === "plain" && ["holding", "input", "registers"].includes(notation.table);
  return five.length > 0 && (five.some(isZero) || rows.some(isRegister));
}

/** Returns whether the row's number counts from the reading's base. */
function isCounted({ notation }: ReadRow, reading: Reading): boolean {
  if (notation.kind === "plain") return true;
  if (notation.kind === "dotted") return reading.dots === "bits";
  return notation.kind === "modicon" && notation.whole !== null && reading.modicon === "whole";
}

function isUnnamed({ notation }: ReadRow, what: "registers" | "bits"): boolean {
  if (notation.kind === "modicon") return what === "registers" && !notation.is_named;
  return (notation.kind === "plain" || notation.kind === "dotted") && notation.table === what;
}

/** Returns three rows that show how the list counts, and the first number of a table; null if the addresses are certain by themselves. */
export function shownRows(
  rows: readonly ReadRow[],
  reading: Reading,
): { readonly base: 0 | 1 | null; readonly rows: readonly ReadRow[] } {
  const placed = rows.filter((row) => !("message" in placeOf(row, reading)));
  const shown = (base: 0 | 1 | null, some: readonly ReadRow[]) => ({ base, rows: some.slice(0, MOST_EXAMPLES) });
  const counted = placed.filter((row) => isCounted(row, reading));
  if (counted.length > 0) return shown(reading.base, [...new Set([...counted, ...placed])]);
  const numbered = placed.filter(({ notation }) => notation.kind === "modicon");
  return numbered.length > 0 ? shown(reading.modicon_base, numbered) : shown(null, placed);
}
