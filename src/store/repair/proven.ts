import {
  ifWhole,
  isWholeState,
  unpackFact,
  unpackLog,
  type FactRow,
  type LogRow,
  type StateRow,
  rowSum,
} from "../log/rows.ts";
import type { Cell } from "../schema.ts";

/** What sort of value stands in each column, in the columns' order: t text, i number, b bytes. */
const TABLES = {
  log: {
    stream_id: "t",
    first_seq: "i",
    last_seq: "i",
    boot: "t",
    mono0: "i",
    t0: "i",
    crc: "i",
    body: "t",
    placed: "i",
    whole: "i",
    packed: "b",
  },
  fact: {
    stream_id: "t",
    seq: "i",
    kind: "t",
    start_ms: "i",
    end_ms: "i",
    time: "i",
    crc: "i",
    body: "t",
    version: "i",
    replaced: "i",
    whole: "i",
    prev: "i",
  },
  state: { stream_id: "t", seq: "i", crc: "i", body: "t", whole: "i" },
  stream: {
    stream_id: "t",
    booth_id: "t",
    created_at: "i",
    oldest_seq: "i",
    newest_seq: "i",
    acked_seq: "i",
    last_take: "i",
    rebuilds: "i",
    sum: "i",
    facts_upto: "i",
    closed_seq: "i",
  },
  boot: { stream_id: "t", boot: "t", offset_ms: "i", uncertain: "i", sum: "i" },
  origin: { stream_id: "t", booth_id: "t", created_at: "i", sum: "i" },
  fork: { stream_id: "t", from_seq: "i", sum: "i" },
  dead_letter: { stream_id: "t", seq: "i", at: "i", reason: "t", record: "t", declared: "i", sum: "i" },
} as const;

export type Table = keyof typeof TABLES;
type Row<T extends Table> = { readonly [Name in keyof (typeof TABLES)[T]]: Cell };

export interface FoundStream {
  readonly stream_id: string;
  readonly booth_id: string;
  readonly created_at: number;
  readonly oldest_seq: number;
  readonly newest_seq: number;
  readonly acked_seq: number;
  readonly last_take: number;
  readonly rebuilds: number;
  readonly facts_upto: number;
  readonly closed_seq: number;
}

/** A row found in a damaged file, proven by its own checksum. */
export type Found =
  | { readonly table: Exclude<Table, "stream">; readonly row: object }
  | { readonly table: "stream"; readonly row: FoundStream };

/** The shape has been checked where these are asked. */
const PROOFS: { readonly [T in Table]?: (row: Row<T>) => boolean } = {
  log: (row) => ifWhole(unpackLog, row as LogRow) !== undefined,
  fact: (row) => ifWhole(unpackFact, row as FactRow) !== undefined,
  state: (row) => isWholeState(row as StateRow),
  stream: ({ stream_id, booth_id, newest_seq, acked_seq, last_take, oldest_seq, facts_upto, sum }) =>
    rowSum([stream_id, booth_id, newest_seq, acked_seq, last_take, oldest_seq, facts_upto]) === sum,
};

export function columnsOf(table: Table): readonly string[] {
  return Object.keys(TABLES[table]);
}

/**
 * Whose row these cells are; undefined: of none that can be proven. A table's row is known by its sorts of values and by its
 * checksum.
 */
export function foundIn(cells: readonly Cell[]): Found | undefined {
  const table = (Object.keys(TABLES) as Table[]).find((name) => fits(cells, Object.values(TABLES[name])));
  if (table === undefined) return undefined;
  const row = Object.fromEntries(columnsOf(table).map((name, index) => [name, cells[index]]));
  const proof = PROOFS[table] as ((found: object) => boolean) | undefined;
  const isProven = proof === undefined ? rowSum(cells.slice(0, -1)) === cells.at(-1) : proof(row);
  return isProven ? ({ table, row } as Found) : undefined;
}

function fits(cells: readonly Cell[], sorts: readonly string[]): boolean {
  if (cells.length !== sorts.length) return false;
  return cells.every((cell, index) => {
    const sort = sorts[index];
    if (sort === "b") return Buffer.isBuffer(cell);
    return typeof cell === (sort === "t" ? "string" : "number");
  });
}
