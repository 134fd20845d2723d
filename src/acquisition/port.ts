import type { ModbusTable } from "../domain/profile.ts";
import type { RequestCounts } from "../domain/live.ts";
import type { Sample } from "../domain/sample.ts";
import type { TakenEntry } from "../domain/taken.ts";
import type { StreamId, TakeNumber } from "../domain/units.ts";

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

/** Passwords of a booth's PLC in the service's record, the newer one first; opened as they are asked for, and kept nowhere. */
export type PlcPasswords = () => readonly string[];
/**
 * One way to one device. It may make its connection anew within a read; after open or read has rejected it must be closed, and a
 * new one made.
 */
export interface Driver {
  /** Rejects with a LinkError. */ open(signal: AbortSignal): Promise<void>;
  /**
   * Reads every tag of the poll group once; one sample for each tag of the group, in the profile's order. One at a time.
   * What refuses, or was lost (no_answer, wrong_answer), is bad beside good ones; no usable answer at all rejects with a LinkError.
   */
  read(group: string, signal: AbortSignal): Promise<readonly Sample[]>;
  /** Over all its connections. */ requests?(): RequestCounts;
  /** How often it has made its connection anew within reads; absent: it never does. */ renewals?(): number;
  /** Frees everything; never rejects; may be called at any time and more than once. */
  close(): Promise<void>;
}

/** Append-only file on tmpfs: what it holds survives a crash of the process, not of the machine. */
export interface Tail {
  /** Entries that an earlier process left behind, oldest first. */
  leftover(): readonly TakenEntry[];
  /** Lines in its midst that can't be read, each an entry or more; absent: none can be. */
  damaged?(): number;
  /** Returns once the entry is out of this process's hands. */
  append(entry: TakenEntry): void;
  /** Entries of the stream up to this take number are durable and may be dropped. */
  committed(stream: StreamId, take: TakeNumber): void;
  close(): void;
}
