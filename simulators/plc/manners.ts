import type { ModbusTable } from "../../src/domain/profile.ts";

/** Addresses (0-based, inclusive) that answer with an exception. */
export interface BadRange {
  readonly table: ModbusTable;
  readonly first: number;
  readonly last: number;
  readonly code: number;
}

/** How badly a server behaves. Every field may be changed while it runs and holds from the next request on. */
export interface Manners {
  /**
   * Further connections are reset at once. 1: an HMI that connects first has the only one. 0: every connection is
   * reset.
   */
  max_connections: number;
  /** Takes requests, never answers. */
  drop_answers: boolean;
  /** Simulated ms before each answer. */
  delay_ms: number;
  /** Closes a connection that has been silent for so long, simulated ms; null: never. */
  idle_close_ms: number | null;
  /** Answers each request with what the one before it should have got, under that one's transaction id. */
  late_answers: boolean;
  /** Answers every request with this exception (6 busy, 10 and 11 from serial gateways); null: behaves. */
  exception: number | null;
  bad_ranges: readonly BadRange[];
  /** A request sooner than so many simulated ms after the answer before, on any connection, gets exception 6. */
  min_gap_ms: number;
  /** In so many of the next reads of registers, the high words of 32-bit values are those of 10 s before. */
  torn_reads: number;
  /** Number of registers or bytes that each answer lacks (below 0: has in excess), with a consistent header. */
  short_by: number;
  /** Byte count and MBAP length say more than is sent; the rest never comes. */
  wrong_length: boolean;
  /** Closes the connection after the request instead of answering. */
  close_on_request: boolean;
  /** Largest PDU of an identification (43/14), so that it takes several; null: the device doesn't know the function. */
  identification_bytes: number | null;
  /** Sends each answer in pieces of so many bytes; null: whole. */
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
