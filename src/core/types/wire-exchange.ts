import type { ModbusTable } from "./profile.ts";

/** One read of a Modbus device and what it said to it. */
export interface WireExchange {
  readonly unit: number;
  readonly table: ModbusTable;
  readonly address: number;
  readonly count: number;
  /** Registers, or bits as 0 and 1; null: an exception. */
  readonly words: readonly number[] | null;
  /** The exception's code; null: none. */
  readonly exception: number | null;
}
