import type { Cell } from "./cells.ts";
import { ifWhole, unpackFact, unpackLog, unpackState, type FactRow, type LogRow, type StateRow } from "../log/rows.ts";
import { rowSum } from "../schema.ts";

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

/** What sort of value stands in each column: t text, i number, b bytes. */
const SHAPES = {
  log: "tiitiiitiib",
  fact: "titiiiitiiii",
  state: "tiiti",
  stream: "ttiiiiiiiii",
  boot: "ttiii",
  origin: "ttii",
  fork: "tii",
  dead_letter: "tiittii",
} as const;

/**
 * Whose row these cells are; undefined: of none that can be proven. A table's row is known by its sorts of values and by its
 * checksum.
 */
export function foundIn(cells: readonly Cell[]): Found | undefined {
  return logIn(cells) ?? factIn(cells) ?? stateIn(cells) ?? streamIn(cells) ?? smallIn(cells);
}

function fits(cells: readonly Cell[], shape: string): boolean {
  if (cells.length !== shape.length) return false;
  return cells.every((cell, index) => {
    const sort = shape[index];
    if (sort === "b") return Buffer.isBuffer(cell);
    return typeof cell === (sort === "t" ? "string" : "number");
  });
}

function logIn(cells: readonly Cell[]): Found | undefined {
  if (!fits(cells, SHAPES.log)) return undefined;
  const [stream_id, first_seq, last_seq, boot, mono0, t0, crc, , placed, whole, packed] = cells;
  // The shape has been checked.
  const row = { stream_id, first_seq, last_seq, boot, mono0, t0, crc, placed, whole, packed } as LogRow;
  return ifWhole(unpackLog, row) === undefined ? undefined : { table: "log", row };
}

function factIn(cells: readonly Cell[]): Found | undefined {
  if (!fits(cells, SHAPES.fact)) return undefined;
  const [stream_id, seq, kind, start_ms, end_ms, time, crc, body, version, replaced, whole, prev] = cells;
  // The shape has been checked.
  const row = { stream_id, seq, kind, start_ms, end_ms, time, crc, body, version, replaced, whole, prev } as FactRow;
  return ifWhole(unpackFact, row) === undefined ? undefined : { table: "fact", row };
}

function stateIn(cells: readonly Cell[]): Found | undefined {
  if (!fits(cells, SHAPES.state)) return undefined;
  const [stream_id, seq, crc, body, whole] = cells;
  // The shape has been checked.
  const row = { stream_id, seq, crc, body, whole } as StateRow;
  return unpackState(row) === undefined ? undefined : { table: "state", row };
}

function streamIn(cells: readonly Cell[]): Found | undefined {
  if (!fits(cells, SHAPES.stream)) return undefined;
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
  if (rowSum([stream_id, booth_id, newest_seq, acked_seq, last_take, oldest_seq, facts_upto]) !== sum) return undefined;
  const rest = { created_at, oldest_seq, newest_seq, acked_seq, last_take, rebuilds, facts_upto, closed_seq };
  // The shape has been checked.
  return { table: "stream", row: { stream_id, booth_id, ...rest } as FoundStream };
}

function smallIn(cells: readonly Cell[]): Found | undefined {
  const table = (["boot", "origin", "fork", "dead_letter"] as const).find((name) => fits(cells, SHAPES[name]));
  if (table === undefined || rowSum(cells.slice(0, -1)) !== cells.at(-1)) return undefined;
  return { table, cells };
}
