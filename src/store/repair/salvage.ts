import { rmSync } from "node:fs";
import type { Database } from "better-sqlite3";
import { isExport, rowsOfExport } from "../export.ts";
import { originsIn } from "../identity/identity.ts";
import {
  ifWhole,
  isWholeState,
  rowSum,
  seqsOfLog,
  unpackFact,
  type FactRow,
  type LogRow,
  type StateRow,
} from "../log/rows.ts";
import { openWriter, storePath } from "../open.ts";
import type { StoreMade, StoreProgress } from "../port.ts";
import { finishReplacing, freshPath, readyFresh } from "../replace.ts";
import { prepareSchema, type Cell } from "../schema.ts";
import { rowsOfPages } from "./pages.ts";
import { settleStreams } from "./settle.ts";

/** The file to salvage or import. The folder's store must be closed. */
interface SalvageInput {
  readonly dataDir: string;
  /** A store file or an export to import; absent: the folder's own store is salvaged. */
  readonly source?: string;
  /** Returns the wall-clock time for new rows. */
  readonly wall: () => number;
  readonly progress?: StoreProgress;
}

/**
 * Builds a new store from all rows with a right checksum in a damaged file or an export. The new file replaces the store, and the old file
 * is kept under another name. Missing seqs are noted for gap records. Each stream continues under a new name, because it is unknown which
 * records the service has stored under the lost seqs.
 */
export function salvage({ dataDir, source, wall, progress = () => undefined }: SalvageInput): StoreMade {
  const path = source ?? storePath(dataDir);
  const fresh = freshPath(dataDir);
  for (const suffix of ["", "-wal", "-shm"]) rmSync(fresh + suffix, { force: true });
  const db = openWriter(fresh);
  let made: Omit<StoreMade, "aside">;
  try {
    prepareSchema(db);
    const addRow = rowAdder(db);
    db.transaction(() => {
      if (isExport(path)) addExport(path, addRow, progress);
      else for (const cells of rowsOfPages(path, `${fresh}.pages`, progress)) addRow(cells);
    })();
    const streams = settleStreams(db, { wall, origins: source === undefined ? originsIn(dataDir) : [] });
    const count = (table: string): number => db.prepare<[], number>(`SELECT count(*) FROM ${table}`).pluck().get() ?? 0;
    made = { log_rows: count("log"), facts: count("fact"), streams };
    db.pragma("wal_checkpoint(TRUNCATE)");
  } finally {
    db.close();
  }
  if (source !== undefined && made.streams.length === 0) {
    throw new Error(`nothing in ${source} is a store's: it is no export and no backup`);
  }
  readyFresh(dataDir);
  return { ...made, aside: finishReplacing(dataDir, true) };
}

/** Adds all rows of an export. Throws if a row is damaged. */
function addExport(file: string, addRow: (cells: readonly Cell[]) => boolean, progress: StoreProgress): void {
  let row = 0;
  for (const cells of rowsOfExport(file, progress)) {
    row += 1;
    if (!addRow(cells)) throw new Error(`row ${row} of ${file} is damaged: take another copy`);
  }
}

/**
 * Tables to fill, each with an SQL condition that is true if another version of a row is later than the stored one. Only the later version
 * is kept: placed after waiting, chunk after single rows, replaced after current.
 */
const IS_LATER = {
  log: "(excluded.placed, excluded.last_seq) > (placed, last_seq)",
  fact: "excluded.replaced > replaced",
  state: "excluded.seq > seq",
  stream: `(excluded.newest_seq, excluded.acked_seq, excluded.oldest_seq, excluded.facts_upto)
    > (newest_seq, acked_seq, oldest_seq, facts_upto)`,
  fork: "excluded.from_seq > from_seq",
  dead_letter: "excluded.declared > declared",
  // Rows of these two tables are written once, so no later version exists.
  boot: "FALSE",
  origin: "FALSE",
} as const;

type Row = Readonly<Record<string, Cell>>;

/** Functions that verify the checksum of a row, by table. In the other tables, the last cell is a checksum over all other cells. */
const PROOFS: Readonly<Record<string, ((row: never) => boolean) | undefined>> = {
  log: (row: LogRow) => ifWhole(seqsOfLog, row) !== undefined,
  fact: (row: FactRow) => ifWhole(unpackFact, row) !== undefined,
  state: (row: StateRow) => isWholeState(row),
  stream: ({ stream_id, booth_id, newest_seq, acked_seq, last_take, oldest_seq, facts_upto, sum }: Row) =>
    rowSum([stream_id, booth_id, newest_seq, acked_seq, last_take, oldest_seq, facts_upto]) === sum,
};

/**
 * Returns a function that adds cells to the table whose columns and checksum they match. The function returns false if no table matches.
 */
function rowAdder(db: Database): (cells: readonly Cell[]) => boolean {
  const tables = Object.entries(IS_LATER).map(([name, isLater]) => {
    const columns = db.pragma(`table_info(${name})`) as readonly { readonly name: string; readonly type: string }[];
    // Omits the body of a log row, which is always empty and not part of the checksum.
    const values = columns.map((column) => (name === "log" && column.name === "body" ? "''" : "?"));
    const later = columns.map((column) => `${column.name} = excluded.${column.name}`).join(", ");
    const insert = db.prepare<Cell[]>(
      `INSERT INTO ${name} VALUES (${values.join(", ")}) ON CONFLICT DO UPDATE SET ${later} WHERE ${isLater}`,
    );
    const isProven = (cells: readonly Cell[]): boolean => {
      const row = Object.fromEntries(columns.map((column, index) => [column.name, cells[index]]));
      return PROOFS[name]?.(row as never) ?? rowSum(cells.slice(0, -1)) === cells.at(-1);
    };
    return { types: columns.map(({ type }) => type).join(), values, insert, isProven };
  });
  return (cells) => {
    const types = cells.map(typeOf).join();
    const table = tables.find((one) => one.types === types && one.isProven(cells));
    table?.insert.run(...cells.filter((_, index) => table.values[index] === "?"));
    return table !== undefined;
  };
}

function typeOf(cell: Cell): string {
  if (typeof cell === "string") return "TEXT";
  return typeof cell === "number" ? "INTEGER" : "BLOB";
}
