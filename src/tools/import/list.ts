import { basename } from "node:path";
import { message } from "../../domain/message.ts";
import { type Call, CommandError, EXIT } from "../command.ts";
import { textOption } from "../options.ts";
import { namedFile } from "../profile/file.ts";
import type { Live } from "../profile/import-asks.ts";
import { MOST_COLUMNS, MOST_ROWS } from "../rules/csv.ts";
import { type ChosenColumns, type Column, COLUMN_KINDS, listOf, type RegisterList } from "../rules/register-list.ts";
import { readSource } from "./read.ts";

/** The largest list in bytes. The export of a whole program is far smaller, and a box has little memory. */
const MOST_LIST_BYTES = 5_000_000;

/**
 * Reads a file of any known format as a register list, with the columns that --columns chooses.
 * @param live reads the PLC, to complete addresses that the file leaves open; null: they stay open
 */
export async function listFrom(call: Call, file: string, live: Live | null): Promise<RegisterList> {
  const name = nameOf(file);
  const bytes = namedFile(file);
  if (bytes.length > MOST_LIST_BYTES)
    throw new CommandError(message("workshop.too_big", { file, size: MOST_LIST_BYTES / 1e6 }), EXIT.usage);
  const { tables, maker, complete } = await readSource(name, bytes);
  const whole = live === null || complete === undefined ? tables : await complete(call, live);
  const list = listOf(whole, chosenColumns(call), maker);
  if (list === null) throw new CommandError(message("import.empty", { file: name }), EXIT.usage);
  if (!("excess" in list)) return list;
  const { line } = list;
  const text = {
    rows: message("workshop.too_many_rows", { file, most: MOST_ROWS }),
    columns: message("workshop.too_many_columns", { file, line, most: MOST_COLUMNS }),
    quote: message("workshop.open_quote", { file, line }),
  };
  throw new CommandError(text[list.excess], EXIT.usage);
}

/** Returns the name of a file as the user knows it: without its folder, and without the prefix of a file that the page has sent. */
export function nameOf(file: string): string {
  return basename(file).replace(/^sent-/, "");
}

/** Parses the option --columns LETTER=KIND,... The kind `none` leaves a column out. */
function chosenColumns({ values }: Pick<Call, "values">): ChosenColumns {
  const chosen = new Map<string, Column | null>();
  for (const pair of (textOption(values, "columns") ?? "").split(",").filter((one) => one !== "")) {
    const [letter = "", name = ""] = pair.split("=").map((one) => one.trim());
    const column = name === "none" ? null : COLUMN_KINDS.find((one) => one === name);
    if (!/^[a-z]{1,2}$/i.test(letter) || column === undefined) {
      const example = "A=name,B=address,C=type,D=none";
      throw new CommandError(
        message("workshop.not_option", { option: "columns", text: pair, values: example }),
        EXIT.usage,
      );
    }
    chosen.set(letter.toUpperCase(), column);
  }
  return chosen;
}

/** Parses the option --rows LINE,FIRST-LAST,... Returns a function that says whether a line is chosen; without the option every line is. */
export function chosenLines({ values }: Pick<Call, "values">): (line: number) => boolean {
  const given = textOption(values, "rows");
  if (given === undefined) return () => true;
  const lines = new Set<number>();
  for (const text of given.split(",")) {
    const [, first = "", last = first] = /^\s*(\d{1,6})(?:-(\d{1,6}))?\s*$/.exec(text) ?? [];
    if (first === "" || Number(last) - Number(first) > MOST_ROWS)
      throw new CommandError(message("workshop.not_option", { option: "rows", text, values: "2,5-20" }), EXIT.usage);
    for (let line = Number(first); line <= Number(last); line += 1) lines.add(line);
  }
  return (line) => lines.has(line);
}
