import { message, type Text } from "../../domain/message.ts";
import type { AddressFault } from "../../config/profile-address.ts";
import { MODBUS_TABLES, type ModbusQuirks, type ModbusTable } from "../../domain/profile.ts";
import { agrees, type Call, type Choice, CommandError, EXIT } from "../command.ts";
import { textOption } from "../options.ts";
import { likelyModes, meaningsOf, type Named } from "../rules/list-meaning.ts";
import {
  type ListPlace,
  placeOf,
  placeText,
  type ReadRow,
  type Reading,
  type TableWords,
  wordOf,
} from "../rules/list-places.ts";
import {
  nextQuestion,
  type ReadingAnswers,
  type ReadingOption,
  type ReadingQuestion,
  readingOf,
  shownRows,
} from "../rules/list-reading.ts";
import { hinted, joinedTexts } from "../texts.ts";
import type { TagEntry } from "./file.ts";
import { type UsualTag, usualIn, usualTags } from "./usual-tags.ts";

/**
 * Reads these tags of a Modbus device once. Resolves with null if no PLC is named or the PLC does not answer. The value of a refused tag is
 * null.
 */
export type Live = (entries: readonly TagEntry[]) => Promise<readonly (string | null)[] | null>;

/**
 * This module asks the questions of `profile import`. Before it writes anything, the import asks about everything that a list leaves
 * undecided. It asks on the terminal or the page, unless an option answers. Without a terminal and an option, the import ends with an error
 * that names the option.
 */

/** The types among which a user chooses if a list names none. */
export const TYPES_ASKED = ["uint16", "int16", "uint32", "int32", "float32", "float64", "bool"] as const;

/** The options that answer questions, with the values they accept. */
const OPTIONS = {
  base: ["0", "1"],
  table: ["holding", "input"],
  "bit-table": ["coil", "discrete"],
  digits: ["table", "address"],
  dots: ["bits", "bytes"],
  scale: ["multiply", "divide"],
  "unknown-units": ["drop"],
  "same-names": ["replace", "keep", "skip"],
  "by-name": ["yes", "no"],
  type: TYPES_ASKED,
} as const;
type Option = keyof typeof OPTIONS;

/** Returns the option's value; undefined if it isn't given. Throws a CommandError for a value that the option doesn't accept. */
function optionOf({ values }: Pick<Call, "values">, option: Option): string | undefined {
  const text = textOption(values, option);
  const allowed: readonly string[] = OPTIONS[option];
  if (text === undefined || allowed.includes(text)) return text;
  throw new CommandError(message("workshop.not_option", { option, text, values: allowed.join(", ") }), EXIT.usage);
}

/** Throws a CommandError if an option has a wrong value, even if its question is not asked. */
export function checkOptions(call: Pick<Call, "values">): void {
  for (const option of Object.keys(OPTIONS) as Option[]) optionOf(call, option);
}

/** Returns the option with its values: "--same-names replace, keep or skip". */
function optionText(option: Option): string {
  return `--${option} ${new Intl.ListFormat("en-GB", { type: "disjunction" }).format(OPTIONS[option])}`;
}

interface Question {
  readonly question: Text;
  readonly choices: readonly Choice[];
}

/** Returns the option's value, else the user's choice. Throws a CommandError if neither gives a value. */
export async function choose(call: Call, { option, ...asked }: Question & { readonly option: Option }) {
  return optionOf(call, option) ?? (await chosen(call, optionText(option), asked));
}

/** Asks for one of the choices. Throws a CommandError without a terminal, or if the reply is not a choice. */
async function chosen({ io }: Call, options: string, { question, choices }: Question): Promise<string> {
  const reply = (await io.ask(question, "choose", choices))?.trim();
  if (reply === undefined) throw new CommandError(message("workshop.nobody_to_ask", { question, options }), EXIT.usage);
  const choice = choices.find(({ value }) => value.toLowerCase() === reply.toLowerCase());
  if (choice === undefined) throw new CommandError(message("workshop.none_of_them", { text: reply }), EXIT.usage);
  return choice.value;
}

/** Says why an address can't be read, with a hint if the fault has a hint. */
export function faultText({ message: text, hint }: AddressFault): Text {
  return hinted(text, hint);
}

export interface Asking {
  readonly call: Call;
  /** All rows of the list, of which the asked rows are a part. */
  readonly all: readonly ReadRow[];
  /** The tables that the device serves. */
  readonly tables: ModbusQuirks["tables"];
  readonly live: Live;
  /** Makes a tag that reads the row's value at a place (table and address). */
  readonly entryAt: (row: ReadRow, place: ListPlace) => TagEntry;
}

/** Asks until the addresses of all rows are certain. Each question decides another option, so it asks at most six questions. */
export async function settledReading(rows: readonly ReadRow[], asking: Asking): Promise<Reading> {
  const { call, tables, all } = asking;
  const given = { rows, all, tables };
  const block = textOption(call.values, "block");
  let answers: ReadingAnswers = {
    ...Object.fromEntries(
      (["base", "table", "bit-table", "digits", "dots"] as const).map((option) => [option, optionOf(call, option)]),
    ),
    block: block === undefined || ["none", "words"].includes(block) ? block : block.toUpperCase(),
  };
  for (;;) {
    const open = nextQuestion(given, answers);
    if (open === null) break;
    const values = open.choices.map(({ value }) => value);
    const options = open.options.map((one) => (one === "block" ? `--block ${values.join(" or ")}` : optionText(one)));
    const readings = open.choices.map((one) => readingOf(given, { ...answers, ...one.answers }));
    const choices = await shownChoices(open, readings, asking);
    const reply = await chosen(call, options.join(", "), { question: questionText(open), choices });
    answers = { ...answers, ...open.choices[values.indexOf(reply)]?.answers };
  }
  if (answers.block === "none") throw new CommandError(message("workshop.no_block"), EXIT.usage);
  return readingOf(given, answers);
}

function questionText({ options, examples }: ReadingQuestion): Text {
  const [first] = examples;
  const address = first === undefined ? "" : addressOf(first);
  const texts: Readonly<Record<ReadingOption, Text>> = {
    base: message("workshop.ask_base"),
    table: options.includes("base") ? message("workshop.ask_table_base") : message("workshop.ask_table"),
    "bit-table": message("workshop.ask_bit_table"),
    digits: message("workshop.ask_digits", { address }),
    block: message("workshop.ask_block"),
    dots: message("workshop.ask_dots", { address }),
  };
  return texts[options[0] ?? "dots"];
}

function addressOf({ row: { cells } }: ReadRow): string {
  return cells.modbus ?? cells.address ?? cells.address_hex ?? "";
}

/** Returns each choice with the addresses that it gives three rows, and the values that the PLC currently holds there. */
async function shownChoices(
  { choices, examples }: ReadingQuestion,
  readings: readonly Reading[],
  { live, entryAt }: Asking,
): Promise<readonly Choice[]> {
  const made = readings.map((reading) => examples.map((row) => exampleOf(row, reading, entryAt)));
  const values = (await live(made.flat().flatMap(({ entry }) => entry ?? [])))?.values();
  return choices.map(({ value }, i) => {
    const texts = (made[i] ?? []).map(({ text, entry }) =>
      entry === null ? text : withValue(text, values?.next().value),
    );
    return { value, text: value === "none" ? message("workshop.no_block_choice") : joinedTexts(texts) };
  });
}

/** Describes a row with its place; `entry` is null if the row has no place. */
function exampleOf(row: ReadRow, reading: Reading, entryAt: Asking["entryAt"]) {
  const place = placeOf(row, reading);
  const name = `${row.row.cells.name ?? ""} (${addressOf(row)})`;
  if ("message" in place) return { text: `${name}: -`, entry: null };
  return { text: `${name}: ${placeText(place)}`, entry: entryAt(row, place) };
}

function withValue(place: string, value: string | null | undefined): Text {
  return value === null || value === undefined ? place : message("workshop.reads_now", { place, value });
}

/** Describes how the list counts before anything is written: the first number, and three rows with their places (table and address). */
export async function placesText(rows: readonly ReadRow[], reading: Reading, { live, entryAt }: Asking): Promise<Text> {
  const shown = shownRows(rows, reading);
  const examples = shown.rows.map((row) => exampleOf(row, reading, entryAt));
  const values = await live(examples.flatMap(({ entry }) => entry ?? []));
  const text = joinedTexts(examples.map((one, i) => withValue(one.text, values?.[i])));
  return shown.base === null
    ? message("workshop.places", { rows: text })
    : message("workshop.places_from", { base: shown.base, rows: text });
}

/** The maximum number of unknown words in a column that still counts as a column of tables. */
const MOST_WORDS = 4;

/** Asks which tables these words of a column mean. The reply `none` leaves out the rows with that word. */
export async function settledWords(
  call: Call,
  { head, words }: { readonly head: string; readonly words: readonly string[] },
): Promise<TableWords> {
  const settled = givenWords(call);
  const open = words.filter((word) => !settled.has(word));
  if (open.length > MOST_WORDS) {
    const shown = open.slice(0, MOST_WORDS).join(", ");
    throw new CommandError(message("workshop.too_many_words", { column: head, words: shown }), EXIT.usage);
  }
  for (const word of open) {
    const reply = await chosen(call, `--tables "${word}=TABLE"`, {
      question: message("workshop.ask_word", { word, column: head }),
      choices: [
        ...MODBUS_TABLES.map((value) => ({ value, text: "" })),
        { value: "none", text: message("workshop.leave_rows_out") },
      ],
    });
    const table = tableNamed(reply);
    if (table !== undefined) settled.set(word, table);
  }
  return settled;
}

function tableNamed(text: string): ModbusTable | undefined {
  return MODBUS_TABLES.find((one) => one === text);
}

/** Parses the option --tables WORD=TABLE,... */
function givenWords(call: Call): Map<string, ModbusTable> {
  const words = new Map<string, ModbusTable>();
  for (const pair of (textOption(call.values, "tables") ?? "").split(",").filter((one) => one !== "")) {
    const [word = "", name = ""] = pair.split("=");
    const table = tableNamed(name.trim());
    if (table === undefined) {
      const values = `WORD=${MODBUS_TABLES.join(" | ")}`;
      throw new CommandError(message("workshop.not_option", { option: "tables", text: pair, values }), EXIT.usage);
    }
    words.set(wordOf(word), table);
  }
  return words;
}

/**
 * The meanings found for the tags of a list. `meanings`: the usual tag (a tag of a shipped profile) that each tag corresponds to. `mode`:
 * the tag that holds the booth's mode; null if no tag fits, or if the user rejects the proposed tag.
 */
interface Meant<T> {
  readonly meanings: ReadonlyMap<T, UsualTag>;
  readonly mode: T | null;
}

/** The maximum number of names that a question lists. */
const MOST_SHOWN = 10;

/**
 * Finds the meanings of tags by their units and names. For meanings that only the names suggest, asks a single question about all such
 * tags. Without a yes these tags get no role.
 * @param tags all tags; `open`: those whose names may decide; `byCodes`: those that list codes of modes; `known`: the profile's tags
 */
export async function meantBy<T extends Named>(
  call: Call,
  {
    tags,
    open,
    byCodes,
    known,
  }: Readonly<Record<"tags" | "open" | "byCodes", readonly T[]>> & { readonly known: readonly TagEntry[] },
): Promise<Meant<T>> {
  const { certain, proposed } = meaningsOf(open, usualTags());
  let mode =
    tags.find(({ keys }) => keys["role"] === "mode") ??
    tags.find((one) => certain.get(one)?.name === "mode") ??
    (byCodes.length === 1 ? byCodes[0] : undefined) ??
    null;
  const hasMode = mode !== null || known.some(({ role }) => role === "mode");
  const likely = hasMode ? [] : likelyModes(open);
  // Includes a single likely mode tag in the question about the other proposals.
  const [withOthers = null] = proposed.size > 0 && likely.length === 1 ? likely : [];
  for (const one of withOthers === null ? likely : []) {
    if (!(await agreedByName(call, message("workshop.does_mode", { tag: one.name })))) continue;
    mode = one;
    break;
  }
  if (proposed.size === 0) return { meanings: certain, mode };
  const texts = [...proposed]
    .slice(0, MOST_SHOWN)
    .map(([{ name }, usual]) => `${name}: ${usual.name}, ${String(usualIn(usual, name, undefined).meaning["unit"])}`);
  const all = [...(withOthers === null ? [] : [`${withOthers.name}: mode`]), ...texts];
  if (!(await agreedByName(call, message("workshop.ask_by_name", { tags: all.join("; ") }))))
    return { meanings: certain, mode };
  return { meanings: new Map([...certain, ...proposed]), mode: mode ?? withOthers };
}

/** Returns whether the user agrees, by --by-name or on the terminal. False without a terminal. */
async function agreedByName(call: Call, question: Text): Promise<boolean> {
  const given = optionOf(call, "by-name");
  if (given !== undefined) return given === "yes";
  if (call.values["yes"] === true) return false;
  return agrees(call.io, question);
}
