import type { Cell } from "./cells.ts";
import { ifWhole, unpackFact, unpackLog, unpackState, type FactRow, type LogRow, type StateRow } from "./rows.ts";
import { rowSum } from "./schema.ts";

/** A row found in a damaged file, proven by its own checksum. */
export type Found =
  | { readonly table: "log"; readonly row: LogRow }
  | { readonly table: "fact"; readonly row: FactRow }
  | { readonly table: "state"; readonly row: StateRow }
  | { readonly table: "stream"; readonly row: FoundStream }
  | { readonly table: "boot" | "origin" | "fork" | "dead_letter"; readonly cells: readonly Cell[] };

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

/** What sort of value stands in each column: t text, i number, n a number or nothing, b bytes or nothing. */
const SHAPES = {
  log: "tiitiiitiib",
  fact: "titiiiitiiin",
  state: "tiiti",
  stream: "ttiiiiiiiii",
  boot: "ttiii",
  origin: "ttii",
  fork: "tii",
  dead_letter: "tiittii",
} as const;

/**
 * Whose row these cells are; undefined: of none that can be proven. A table's row is known by its sorts of values and by its
 * checksum; rows written before a column was added lack it at their end, and mean its default.
 */
export function foundIn(cells: readonly Cell[]): Found | undefined {
  return logIn(cells) ?? factIn(cells) ?? stateIn(cells) ?? streamIn(cells) ?? smallIn(cells);
}

function fits(cells: readonly Cell[], shape: string, least: number): boolean {
  if (cells.length < least || cells.length > shape.length) return false;
  return cells.every((cell, index) => {
    const sort = shape[index];
    if (cell === null) return sort === "n" || sort === "b";
    if (sort === "b") return Buffer.isBuffer(cell);
    return typeof cell === (sort === "t" ? "string" : "number");
  });
}

function logIn(cells: readonly Cell[]): Found | undefined {
  if (!fits(cells, SHAPES.log, 8)) return undefined;
  const [stream_id, first_seq, last_seq, boot, mono0, t0, crc, body, placed = 1, whole = 0, packed = null] = cells;
  // The shape has been checked.
  const row = { stream_id, first_seq, last_seq, boot, mono0, t0, crc, body, placed, whole, packed } as LogRow;
  return ifWhole(unpackLog, row) === undefined ? undefined : { table: "log", row };
}

function factIn(cells: readonly Cell[]): Found | undefined {
  if (!fits(cells, SHAPES.fact, 8)) return undefined;
  const [stream_id, seq, kind, start_ms, end_ms, time, crc, body, version = 1, replaced = 0, whole = 0, prev = null] =
    cells;
  // The shape has been checked.
  const row = { stream_id, seq, kind, start_ms, end_ms, time, crc, body, version, replaced, whole, prev } as FactRow;
  return ifWhole(unpackFact, row) === undefined ? undefined : { table: "fact", row };
}

function stateIn(cells: readonly Cell[]): Found | undefined {
  if (!fits(cells, SHAPES.state, 4)) return undefined;
  const [stream_id, seq, crc, body, whole = 0] = cells;
  // The shape has been checked.
  const row = { stream_id, seq, crc, body, whole } as StateRow;
  return unpackState(row) === undefined ? undefined : { table: "state", row };
}

function streamIn(cells: readonly Cell[]): Found | undefined {
  if (!fits(cells, SHAPES.stream, 9)) return undefined;
  const [
    stream_id,
    booth_id,
    created_at,
    oldest_seq,
    newest_seq,
    acked_seq,
    last_take,
    rebuilds,
    sum,
    facts_upto,
    closed_seq,
  ] = cells;
  const summed = [stream_id, booth_id, newest_seq, acked_seq, last_take];
  if (facts_upto !== undefined) summed.push(oldest_seq, facts_upto);
  if (rowSum(summed) !== sum) return undefined;
  const rest = {
    created_at,
    oldest_seq,
    newest_seq,
    acked_seq,
    last_take,
    rebuilds,
    facts_upto: facts_upto ?? 0,
    closed_seq: closed_seq ?? 0,
  };
  // The shape has been checked.
  return { table: "stream", row: { stream_id, booth_id, ...rest } as FoundStream };
}

function smallIn(cells: readonly Cell[]): Found | undefined {
  const table = (["boot", "origin", "fork", "dead_letter"] as const).find((name) =>
    fits(cells, SHAPES[name], SHAPES[name].length),
  );
  if (table === undefined || rowSum(cells.slice(0, -1)) !== cells.at(-1)) return undefined;
  return { table, cells };
}
