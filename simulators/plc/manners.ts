import type { ModbusTable } from "../../src/domain/profile.ts";

/** Addresses (0-based, inclusive) that answer with an exception. */
export interface BadRange {
  readonly table: ModbusTable;
  readonly first: number;
  readonly last: number;
  readonly code: number;
}

/** Faults of a server. A test may change every field at any time; the change applies from the next request on. */
export interface Manners {
  /**
   * Maximum number of connections; all others are reset at once. 1: an HMI that connects first occupies the only one.
   * 0: every connection is reset.
   */
  max_connections: number;
  /** Accepts requests but never answers. */
  drop_answers: boolean;
  /** Delay of each answer in simulated ms. */
  delay_ms: number;
  /** Simulated ms after which an idle connection is closed; null: never. */
  idle_close_ms: number | null;
  /** Answers each request with the answer and transaction id of the previous request. */
  late_answers: boolean;
  /** Answers every request with this exception (6 busy, 10 and 11 from serial gateways); null: no exception. */
  exception: number | null;
  bad_ranges: readonly BadRange[];
  /** A request within this many simulated ms after the previous answer, on any connection, gets exception 6. */
  min_gap_ms: number;
  /** Number of next register reads in which the high words of 32-bit values are 10 s old. */
  torn_reads: number;
  /** Number of registers or bytes that each answer lacks (below 0: has in excess), with a consistent header. */
  short_by: number;
  /** The byte count and the MBAP length are larger than the data, and the rest never arrives. */
  wrong_length: boolean;
  /** Closes the connection instead of answering. */
  close_on_request: boolean;
  /**
   * Largest PDU of an identification (43/14), so that it takes several requests; null: the device doesn't support the
   * function.
   */
  identification_bytes: number | null;
  /** Sends each answer in pieces of this many bytes; null: as a whole. */
  split_bytes: number | null;
}

export function goodManners(): Manners {
  return {
    max_connections: Infinity,
    drop_answers: false,
    delay_ms: 0,
    idle_close_ms: null,
    late_answers: false,
    exception: null,
    bad_ranges: [],
    min_gap_ms: 0,
    torn_reads: 0,
    short_by: 0,
    wrong_length: false,
    close_on_request: false,
    identification_bytes: 253,
    split_bytes: null,
  };
}
