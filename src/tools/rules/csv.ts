/** This module parses text with separated values. Pure. The time is proportional to the text's length. */

export interface CsvRow {
  /** The line of the file where the row begins, from 1. */
  readonly line: number;
  readonly cells: readonly string[];
}

export const SEPARATORS = [",", ";", "\t"] as const;
export type Separator = (typeof SEPARATORS)[number];

/** The maximum number of columns. The widest known export (Kepware's) has 17; more columns are the empty columns of a spreadsheet. */
export const MOST_COLUMNS = 256;
/** The maximum number of rows below the heads. Exports of whole programs have some thousand rows. */
export const MOST_ROWS = 20_000;
/** The maximum number of characters in a cell; the rest is dropped. A label has at most 100 characters. */
const MOST_CHARACTERS = 1_000;

/** A limit that the text exceeds, or a quote that is never closed, with the line where the excess begins. */
export interface Excess {
  readonly excess: "columns" | "rows" | "quote";
  readonly line: number;
}

/** Reads at most `most_rows` rows; by default all rows, up to MOST_ROWS. Quotes are as in RFC 4180. Skips empty rows. */
export function csvRows(text: string, separator: Separator, most_rows?: number): readonly CsvRow[] | Excess {
  const rows: CsvRow[] = [];
  let at = text.startsWith("\uFEFF") ? 1 : 0;
  let line = 1;
  /** The line of a quote that is still open at the end of the text. Without this check, all later rows would be lost in a single cell. */
  let open = null as number | null;
  /** Reads a quoted cell up to and including its closing quote. */
  const quoted = (): string => {
    const begun = line;
    for (let cell = ""; ; cell += '"') {
      const end = text.indexOf('"', at + 1);
      const part = text.slice(at + 1, end === -1 ? text.length : end);
      line += lineBreaksIn(part);
      cell = cell.length < MOST_CHARACTERS ? cell + part : cell;
      at = end === -1 ? text.length : end + 1;
      if (end === -1) open = begun;
      if (text[at] !== '"') return cell;
    }
  };
  const skipToEnd = (): void => {
    while (at < text.length && text[at] !== separator && text[at] !== "\n" && text[at] !== "\r") at += 1;
  };
  /** Reads a cell up to the separator, or to the end of the line or the text. */
  const cell = (): string => {
    const start = at;
    while (text[at] === " ") at += 1;
    // Drops the text between a closing quote and the separator.
    const value = text[at] === '"' ? quoted() : null;
    skipToEnd();
    return cellText(value ?? text.slice(start, at));
  };
  while (at < text.length) {
    const begun = line;
    const cells = [cell()];
    while (text[at] === separator) {
      at += 1;
      if (cells.length === MOST_COLUMNS) return { excess: "columns", line: begun };
      cells.push(cell());
    }
    if (open !== null) return { excess: "quote", line: open };
    at += text[at] === "\r" && text[at + 1] === "\n" ? 2 : 1;
    line += 1;
    if (cells.every((one) => one === "")) continue;
    rows.push({ line: begun, cells });
    if (rows.length === most_rows) break;
    if (rows.length > MOST_ROWS + 1) return { excess: "rows", line: begun };
  }
  return rows;
}

function lineBreaksIn(text: string): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count += 1;
  return count;
}

/** Matches blanks, line breaks, control characters and direction marks. A run of them becomes a single blank. */
const BLANKS = /[\s\p{Cc}\p{Cf}]+/gu;

/** Puts a cell on one line. Removes the quote that keeps a spreadsheet from reading the cell as a formula. */
export function cellText(cell: string): string {
  if (cell === "") return "";
  const text = cell.length > MOST_CHARACTERS ? cell.slice(0, MOST_CHARACTERS) : cell;
  return text
    .replace(BLANKS, " ")
    .trim()
    .replace(/^'(?=[=+\-@])/, "");
}
