import { CsvError, parse } from "csv-parse/sync";
import { textOf } from "../base/utf8.ts";

/** A mistake in a file, with the number of its line; the header is line 1. */
export interface LineError {
  readonly line: number;
  readonly text: string;
}

/** A line's cells by column. A column with an empty cell is absent. */
export interface Line {
  readonly line: number;
  readonly cells: Readonly<Record<string, string>>;
}

export interface Columns {
  readonly required: readonly string[];
  readonly optional: readonly string[];
}

/**
 * Reads a CSV file in UTF-8 with a header line, separated by commas, semicolons or tabs (as spreadsheets export it).
 * Returns its lines and its mistakes. A file whose header is wrong has no lines.
 */
export function readLines(
  bytes: Uint8Array,
  columns: Columns,
): { readonly lines: readonly Line[]; readonly errors: readonly LineError[] } {
  const { records, error } = parseCsv(bytes);
  if (error !== undefined) return { lines: [], errors: [error] };
  const [head, ...rest] = records;
  const names = (head?.fields ?? []).map((name) => name.toLowerCase());
  const wrong = headErrors(names, columns);
  if (wrong.length > 0) return { lines: [], errors: wrong };
  const isWhole = ({ fields }: Row): boolean => fields.length === names.length;
  const errors = rest
    .filter((row) => !isWhole(row))
    .map(({ line, fields }) => ({ line, text: `${fields.length} cells, but the header has ${names.length}` }));
  const lines = rest.filter(isWhole).map(({ line, fields }) => {
    const cells = names.map((name, nth) => [name, fields[nth] ?? ""] as const).filter(([, text]) => text !== "");
    return { line, cells: Object.fromEntries(cells) };
  });
  return { lines, errors };
}

interface Row {
  readonly line: number;
  readonly fields: readonly string[];
}

function parseCsv(bytes: Uint8Array): { readonly records: readonly Row[]; readonly error?: LineError } {
  const records: Row[] = [];
  try {
    const text = textOf(bytes);
    parse(text, {
      bom: true,
      trim: true,
      skip_empty_lines: true,
      relax_column_count: true,
      delimiter: delimiterOf(text),
      on_record: (fields: string[], { lines }) => {
        records.push({ line: lines, fields });
        return null;
      },
    });
    return { records };
  } catch (error) {
    if (!(error instanceof CsvError))
      return { records, error: { line: 1, text: "the file is not UTF-8: save it as CSV UTF-8" } };
    return { records, error: { line: typeof error["lines"] === "number" ? error["lines"] : 1, text: error.message } };
  }
}

/** Returns the separator that the header line has most often. */
function delimiterOf(text: string): string {
  const [head = ""] = text.split("\n", 1);
  const count = (separator: string): number => head.split(separator).length;
  return [",", ";", "\t"].reduce((best, one) => (count(one) > count(best) ? one : best));
}

function headErrors(names: readonly string[], { required, optional }: Columns): LineError[] {
  const known = [...required, ...optional];
  const texts = [
    ...required.filter((name) => !names.includes(name)).map((name) => `the column ${name} is missing`),
    ...names
      .filter((name) => !known.includes(name))
      .map((name) => `there is no column "${name}"; the columns are ${known.join(", ")}`),
    ...names
      .filter((name, nth) => names.indexOf(name) !== nth)
      .map((name) => `the column ${name} is there more than once`),
  ];
  return texts.map((text) => ({ line: 1, text }));
}
