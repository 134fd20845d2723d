/** Rows of a text with separated values. Pure; the time grows with the text's length alone. */

export interface CsvRow {
  /** In the file, from 1: the line where the row begins. */
  readonly line: number;
  readonly cells: readonly string[];
}

export const SEPARATORS = [",", ";", "\t"] as const;
export type Separator = (typeof SEPARATORS)[number];

/** The widest known export (Kepware's) has 17 columns; a spreadsheet's empty ones are refused, not read. */
export const MOST_COLUMNS = 256;
/** Exports of whole programs have some thousand rows. */
export const MOST_ROWS = 20_000;
/** What nobody reads of a cell: a label ends after 100 characters. */
const MOST_CHARACTERS = 1_000;

/** A bound that the text breaks, or a quote that is never closed, and the line where that begins. */
export interface Excess {
  readonly excess: "columns" | "rows" | "quote";
  readonly line: number;
}

/** Reads at most `most_rows` rows (default: all, and more than MOST_ROWS of them are an Excess). Quotes as in RFC 4180; empty rows are left out. */
export function csvRows(text: string, separator: Separator, most_rows?: number): readonly CsvRow[] | Excess {
  const reader = createReader(text, separator);
  const rows: CsvRow[] = [];
  while (!reader.isAtEnd()) {
    const row = reader.row();
    if ("excess" in row) return row;
    if (!row.cells.some((cell) => cell !== "")) continue;
    rows.push(row);
    if (rows.length === most_rows) break;
    if (rows.length > MOST_ROWS) return { excess: "rows", line: row.line };
  }
  return rows;
}

function createReader(text: string, separator: Separator) {
  let at = text.startsWith("\uFEFF") ? 1 : 0;
  let line = 1;
  /** The line of a quote that the text's end leaves open: rows behind it would be lost in one cell. */
  let open: number | null = null;
  /** Ends behind the closing quote. */
  const quoted = (): string => {
    let cell = "";
    open = line;
    for (at += 1; at < text.length;) {
      const end = text.indexOf('"', at);
      const part = text.slice(at, end === -1 ? text.length : end);
      line += lineBreaksIn(part);
      cell = cell.length < MOST_CHARACTERS ? cell + part : cell;
      at = end === -1 ? text.length : end + 1;
      if (end !== -1 && text[at] !== '"') {
        open = null;
        break;
      }
      cell += '"';
      at += 1;
    }
    return cell;
  };
  const endsCell = (char: string | undefined): boolean => char === separator || char === "\n" || char === "\r";
  /** Ends at the separator, the line's end or the text's. */
  const cell = (): string => {
    const start = at;
    while (text[at] === " ") at += 1;
    if (text[at] === '"') {
      const value = quoted();
      // What stands between the closing quote and the separator belongs to no cell.
      while (at < text.length && !endsCell(text[at])) at += 1;
      return cellText(value);
    }
    while (at < text.length && !endsCell(text[at])) at += 1;
    return cellText(text.slice(start, at));
  };
  return {
    isAtEnd: () => at >= text.length,
    row(): CsvRow | Excess {
      const begun = line;
      const cells = [cell()];
      while (text[at] === separator) {
        at += 1;
        if (cells.length === MOST_COLUMNS) return { excess: "columns", line: begun };
        cells.push(cell());
      }
      if (open !== null) return { excess: "quote", line: open };
      if (text[at] === "\r" && text[at + 1] === "\n") at += 1;
      at += 1;
      line += 1;
      return { line: begun, cells };
    },
  };
}

function lineBreaksIn(text: string): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count += 1;
  return count;
}

/** Blanks, line breaks, control characters and marks of direction: one blank each run. */
const BLANKS = /[\s\p{Cc}\p{Cf}]+/gu;

/** On one line, without the mark that keeps a spreadsheet from taking it for a formula. */
function cellText(cell: string): string {
  if (cell === "") return "";
  const text = cell.length > MOST_CHARACTERS ? cell.slice(0, MOST_CHARACTERS) : cell;
  return text
    .replace(BLANKS, " ")
    .trim()
    .replace(/^'(?=[=+\-@])/, "");
}
