import { MODBUS_TABLES, type ModbusQuirks, type ModbusTable } from "../../domain/profile.ts";
import { say } from "../../domain/sentences.ts";
import { type Call, type Choice, CommandError, EXIT } from "../command.ts";
import type { Live } from "./live.ts";
import type { TagEntry } from "./file.ts";
import { placeOf, placeText, type ReadRow, type Reading, type TableWords, wordOf } from "../rules/list-places.ts";
import {
  nextQuestion,
  type ReadingAnswers,
  type ReadingOption,
  type ReadingQuestion,
  readingOf,
  shownRows,
} from "../rules/list-reading.ts";
import { textOption } from "../options.ts";

/**
 * Questions of `profile import`. Whatever a list leaves open is asked before anything is written: on a terminal or the page, or
 * answered by an option. Without both the import ends with an error that names the option.
 */

export interface Asked {
  /** The options that answer, with their values. */
  readonly options: string;
  readonly question: string;
  readonly choices: readonly Choice[];
}

/** Asks for one of the choices. Throws a CommandError if nobody can be asked, or the reply is none of them. */
export async function choose({ io }: Pick<Call, "io">, { options, question, choices }: Asked): Promise<string> {
  const reply = (await io.ask(question, "choose", choices))?.trim();
  if (reply === undefined) throw new CommandError(say("workshop.nobody_to_ask", { question, options }), EXIT.usage);
  const chosen = choices.find(({ value }) => value.toLowerCase() === reply.toLowerCase());
  if (chosen === undefined) throw new CommandError(say("workshop.none_of_them", { text: reply }), EXIT.usage);
  return chosen.value;
}

/** An option that is one of these values; undefined if it isn't given. Throws a CommandError for another value. */
export function optionOf(
  { values }: Pick<Call, "values">,
  name: string,
  allowed: readonly string[],
): string | undefined {
  const text = textOption(values, name);
  if (text === undefined || allowed.includes(text)) return text;
  throw new CommandError(say("workshop.not_option", { option: name, text, values: allowed.join(", ") }), EXIT.usage);
}

const ANSWERS: Readonly<Record<Exclude<ReadingOption, "block">, readonly string[]>> = {
  base: ["0", "1"],
  table: ["holding", "input"],
  "bit-table": ["coil", "discrete"],
  digits: ["table", "address"],
  dots: ["bits", "bytes"],
};
const OPTION_TEXTS: Readonly<Record<Exclude<ReadingOption, "block">, string>> = {
  base: "--base 0 or 1",
  table: "--table holding or input",
  "bit-table": "--bit-table coil or discrete",
  digits: "--digits table or address",
  dots: "--dots bits or bytes",
};

function givenAnswers(call: Call): ReadingAnswers {
  const names = Object.keys(ANSWERS) as (keyof typeof ANSWERS)[];
  const given = names.flatMap((name) => {
    const text = optionOf(call, name, ANSWERS[name]);
    return text === undefined ? [] : [[name, text] as const];
  });
  const block = textOption(call.values, "block");
  return { ...Object.fromEntries(given), ...(block === undefined ? {} : { block: blockName(block) }) };
}

function blockName(text: string): string {
  return ["none", "words"].includes(text) ? text : text.toUpperCase();
}

/** Keys that tell how a row's value is read, at a place. */
type KeysAt = (row: ReadRow, place: string) => TagEntry;

export interface Asking {
  readonly call: Call;
  readonly quirks: ModbusQuirks;
  readonly live: Live;
  readonly keysAt: KeysAt;
}

/** Asks until the rows' places are certain: each question settles another option, so there are six at most. */
export async function settledReading(rows: readonly ReadRow[], asking: Asking): Promise<Reading> {
  const { call, quirks } = asking;
  const given = { rows, tables: quirks.tables };
  let answers = givenAnswers(call);
  for (;;) {
    const open = nextQuestion(given, answers);
    if (open === null) break;
    const values = open.choices.map(({ value }) => value);
    const reply = await choose(call, {
      options: open.options
        .map((option) => (option === "block" ? `--block ${values.join(" or ")}` : OPTION_TEXTS[option]))
        .join(", "),
      question: questionText(open),
      choices: await shownChoices(open, {
        ...asking,
        readings: open.choices.map((one) => readingOf(given, { ...answers, ...one.answers })),
      }),
    });
    answers = { ...answers, ...open.choices[values.indexOf(reply)]?.answers };
  }
  if (answers.block === "none") throw new CommandError(say("workshop.no_block"), EXIT.usage);
  return readingOf(given, answers);
}

function questionText({ options, examples }: ReadingQuestion): string {
  const [first] = options;
  const at = examples[0] === undefined ? "" : addressOf(examples[0]);
  switch (first) {
    case "base":
      return say("workshop.ask_base");
    case "table":
      return options.includes("base") ? say("workshop.ask_table_base") : say("workshop.ask_table");
    case "bit-table":
      return say("workshop.ask_bit_table");
    case "digits":
      return say("workshop.ask_digits", { address: at });
    case "block":
      return say("workshop.ask_block");
    default:
      return say("workshop.ask_dots", { address: at });
  }
}

export function addressOf({ row: { cells } }: ReadRow): string {
  return cells.modbus ?? cells.address ?? cells.address_hex ?? "";
}

/** Each choice with the places that it makes of three rows, and what the PLC holds there now. */
async function shownChoices(
  { choices, examples }: ReadingQuestion,
  { live, keysAt, readings }: Asking & { readonly readings: readonly Reading[] },
): Promise<readonly Choice[]> {
  const made = choices.map((_, i) => examples.flatMap((row) => exampleOf(row, readings[i], keysAt)));
  const values = await live(made.flatMap((all) => all.flatMap(({ entry }) => entry ?? [])));
  let next = 0;
  return choices.map(({ value }, i) => {
    const texts = (made[i] ?? []).map(({ text, entry }) => {
      if (entry === null || values === null) return text;
      next += 1;
      return readText(text, values[next - 1]);
    });
    return { value, text: value === "none" ? say("workshop.no_block_choice") : texts.join("; ") };
  });
}

interface Example {
  readonly text: string;
  /** null: it has no place. */
  readonly entry: TagEntry | null;
}

function exampleOf(row: ReadRow, reading: Reading | undefined, keysAt: KeysAt): Example[] {
  if (reading === undefined) return [];
  const place = placeOf(row, reading);
  const name = `${row.row.cells.name ?? ""} (${addressOf(row)})`;
  if ("message" in place) return [{ text: `${name}: -`, entry: null }];
  return [{ text: `${name}: ${placeText(place)}`, entry: keysAt(row, placeText(place)) }];
}

function readText(text: string, value: string | null | undefined): string {
  return value === null || value === undefined ? text : `${text} ${say("workshop.reads_now", { value })}`;
}

/** What is said of the places before anything is written: where counting begins, and three rows. */
export async function placesText(
  rows: readonly ReadRow[],
  reading: Reading,
  { live, keysAt }: Asking,
): Promise<string> {
  const shown = shownRows(rows, reading);
  const examples = shown.rows.flatMap((row) => exampleOf(row, reading, keysAt));
  const values = await live(examples.flatMap(({ entry }) => entry ?? []));
  const text = examples.map((one, i) => readText(one.text, values?.[i])).join("; ");
  return shown.base === null
    ? say("workshop.places", { rows: text })
    : say("workshop.places_from", { base: shown.base, rows: text });
}

/** More words than that in a column of tables mean that it is another column. */
const MOST_WORDS = 4;

/** Asks which tables these words of a column mean. `none` leaves their rows out. */
export async function settledWords(
  call: Call,
  { head, words }: { readonly head: string; readonly words: readonly string[] },
): Promise<TableWords> {
  const given = givenWords(call);
  const open = words.filter((word) => !given.has(word));
  if (open.length > MOST_WORDS)
    throw new CommandError(
      say("workshop.too_many_words", { column: head, words: open.slice(0, MOST_WORDS).join(", ") }),
      EXIT.usage,
    );
  const settled = new Map(given);
  for (const word of open) {
    const reply = await choose(call, {
      options: `--tables "${word}=TABLE"`,
      question: say("workshop.ask_word", { word, column: head }),
      choices: [...MODBUS_TABLES, "none"].map((value) => ({
        value,
        text: value === "none" ? say("workshop.leave_rows_out") : "",
      })),
    });
    const table = MODBUS_TABLES.find((one) => one === reply);
    if (table !== undefined) settled.set(word, table);
  }
  return settled;
}

/** --tables WORD=TABLE,... */
function givenWords(call: Call): Map<string, ModbusTable> {
  const words = new Map<string, ModbusTable>();
  for (const pair of (textOption(call.values, "tables") ?? "").split(",").filter((one) => one !== "")) {
    const [word = "", table] = pair.split("=");
    const known = MODBUS_TABLES.find((one) => one === table?.trim());
    if (known === undefined)
      throw new CommandError(
        say("workshop.not_option", { option: "tables", text: pair, values: `WORD=${MODBUS_TABLES.join(" | ")}` }),
        EXIT.usage,
      );
    words.set(wordOf(word), known);
  }
  return words;
}
