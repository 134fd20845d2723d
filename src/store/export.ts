import { closeSync, fsyncSync, openSync, readSync, statSync, writeSync } from "node:fs";
import Database from "better-sqlite3";
import type { StoreCopy, StoreProgress } from "./port.ts";
import { storePath } from "./open.ts";
import { SCHEMA_VERSION, type Cell } from "./schema.ts";

/** Tables whose rows have checksums. The other tables can be made again from these. */
const TABLES = ["origin", "stream", "fork", "state", "boot", "fact", "log", "dead_letter"] as const;
const FORMAT = "booth-gateway store";
/** Number of rows between two calls of `progress`. */
const PROGRESS_ROWS = 1_000;
const CHUNK_BYTES = 1_000_000;
const MAX_LINE_BYTES = 64_000_000;

/**
 * Writes every row of the store as a JSON array, one per line. The first line has the format. The last line has the number of rows, which a
 * truncated file lacks. All rows are of one state of the store, even if an agent commits meanwhile. Throws if the file exists.
 */
export function exportStore(dataDir: string, file: string, progress: StoreProgress): StoreCopy {
  const db = new Database(storePath(dataDir), { readonly: true, fileMustExist: true });
  const out = openSync(file, "wx", 0o600);
  try {
    db.transaction(() => {
      const of = TABLES.reduce((sum, table) => sum + countOf(db, table), 0);
      const lines = rowLines(db, (done) => progress(done, of));
      writeSync(out, `${JSON.stringify({ format: FORMAT, schema: SCHEMA_VERSION, rows: of })}\n`);
      for (const line of lines) writeSync(out, line);
      writeSync(out, `${JSON.stringify({ end: of })}\n`);
    })();
    fsyncSync(out);
  } finally {
    closeSync(out);
    db.close();
  }
  return { file, bytes: statSync(file).size };
}

/** A cell as JSON. JSON has no type for bytes. */
type Written = string | number | null | { readonly base64: string };

function written(cell: Cell): Written {
  return Buffer.isBuffer(cell) ? { base64: cell.toString("base64") } : cell;
}

function read(cell: Written): Cell {
  return typeof cell === "object" && cell !== null ? Buffer.from(cell.base64, "base64") : cell;
}

function countOf(db: Database.Database, table: string): number {
  return db.prepare<[], { rows: number }>(`SELECT count(*) AS rows FROM ${table}`).get()?.rows ?? 0;
}

function* rowLines(db: Database.Database, progress: (done: number) => void): Generator<string> {
  let done = 0;
  for (const table of TABLES) {
    for (const row of db.prepare(`SELECT * FROM ${table}`).raw().iterate()) {
      yield `${JSON.stringify((row as Cell[]).map(written))}\n`;
      if (++done % PROGRESS_ROWS === 0) progress(done);
    }
  }
  progress(done);
}

/** Returns whether the file begins like an export. */
export function isExport(file: string): boolean {
  const begin = `{"format":"${FORMAT}"`;
  const head = Buffer.alloc(begin.length);
  const input = openSync(file, "r");
  try {
    readSync(input, head, 0, head.length, 0);
  } finally {
    closeSync(input);
  }
  return head.toString("latin1") === begin;
}

/** Yields the rows of an export. Throws if the file is incomplete. */
export function* rowsOfExport(file: string, progress: StoreProgress): Generator<readonly Cell[]> {
  let of = 0;
  let done = 0;
  let isWhole = false;
  for (const line of linesOf(file)) {
    const value = parsed(line, done);
    if (!Array.isArray(value)) {
      const { rows, end } = value as { rows?: number; end?: number };
      of = rows ?? of;
      isWhole = end === done;
      continue;
    }
    yield (value as readonly Written[]).map(read);
    if (++done % PROGRESS_ROWS === 0) progress(done, of);
  }
  if (!isWhole) throw new Error(`${file} isn't whole: it ends after ${done} of ${of} rows`);
  progress(done, of);
}

function parsed(line: string, row: number): unknown {
  try {
    return JSON.parse(line) as unknown;
  } catch (cause) {
    throw new Error(`the file isn't whole: row ${row + 1} can't be read`, { cause });
  }
}

function* linesOf(file: string): Generator<string> {
  const input = openSync(file, "r");
  const chunk = Buffer.alloc(CHUNK_BYTES);
  let rest = Buffer.alloc(0);
  try {
    for (;;) {
      const length = readSync(input, chunk, 0, CHUNK_BYTES, null);
      if (length === 0) break;
      rest = Buffer.concat([rest, chunk.subarray(0, length)]);
      if (rest.length > MAX_LINE_BYTES) throw new Error(`${file} has a line that is too long for a row`);
      for (let end = rest.indexOf("\n"); end >= 0; end = rest.indexOf("\n")) {
        yield rest.toString("utf8", 0, end);
        rest = rest.subarray(end + 1);
      }
    }
  } finally {
    closeSync(input);
  }
  if (rest.length > 0) yield rest.toString("utf8");
}
