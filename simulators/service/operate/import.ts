import { HttpError } from "../base/errors.ts";
import type { Db } from "../storage/db.ts";
import { KINDS, type Outcome } from "./kinds.ts";
import { type LineError, readLines } from "./lines.ts";
import { type Places, placesIn } from "./places.ts";

/** Database lock of imports: one runs after another, and neither claims nor other small writes wait for them. */
const IMPORTERS = 7_304;

interface ImportOptions {
  readonly kind: string;
  /** Account of the lines that name none; absent: the operator's own. */
  readonly account?: string | undefined;
  /** Checks everything and stores nothing. */
  readonly isDryRun: boolean;
  readonly now: number;
}

export interface Imported extends Readonly<Record<Outcome, number>> {
  readonly errors: readonly LineError[];
}

/** Ends the transaction of a dry run, or of a file with mistakes, without a trace. */
class RolledBack extends Error {}

/**
 * Imports a CSV file completely, or not at all if a line has a mistake. A row that exists gets the cells that differ;
 * a column that the file doesn't have, or an empty cell, changes nothing. Importing a file again changes nothing.
 */
export function importFile(db: Db, bytes: Uint8Array, options: ImportOptions): Imported {
  const kind = KINDS[options.kind];
  if (kind === undefined) throw new Error(`there is no kind ${options.kind}`);
  const { lines, errors: unreadable } = readLines(bytes, kind.columns);
  const counts: Record<Outcome, number> = { created: 0, changed: 0, unchanged: 0 };
  const errors = [...unreadable];
  const first = new Map<string, number>();
  const putAll = (places: Places): void => {
    for (const { line, cells } of lines) {
      try {
        const missing = kind.columns.required.filter((name) => cells[name] === undefined);
        if (missing.length > 0) throw new HttpError(400, `${missing.join(" and ")} must not be empty`);
        if (Object.values(cells).some((cell) => cell.includes("\0"))) throw new HttpError(400, "a cell has a NUL");
        const key = kind.keyOf({ line, cells });
        const before = first.get(key);
        if (before !== undefined) throw new HttpError(400, `${key} is in line ${before} already`);
        first.set(key, line);
        counts[kind.put(places, cells)] += 1;
      } catch (error) {
        if (!(error instanceof HttpError)) throw error;
        errors.push({ line, text: error.message });
      }
    }
  };
  try {
    db.transaction("apart", () => {
      if (db.engine === "postgres") db.exec(`SELECT pg_advisory_xact_lock(${IMPORTERS})`);
      putAll(placesIn(db, { preset: options.account, now: options.now }));
      if (options.isDryRun || errors.length > 0) throw new RolledBack();
    });
  } catch (error) {
    if (!(error instanceof RolledBack)) throw error;
  }
  return { ...counts, errors: errors.sort((one, other) => one.line - other.line) };
}
