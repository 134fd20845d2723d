/**
 * The service's storage. Two engines: SQLite, embedded, in a folder or in memory, and PostgreSQL. The 75 operations,
 * provisioning, events and figures are one code for both, in SQL that both understand. It blocks (`Db`), so a thread
 * with sockets hands this work to other threads (`reports/reports.ts`) if the store is a server. Gateways' messages,
 * thousands a second, have their own code for each engine: `Uplinks`.
 */

export type SqlValue = string | number | null | Uint8Array;

export type Transaction = "write" | "apart" | "snapshot" | "joined";

/** A connection of the calling thread. Each call waits for its answer; every write is durable when its transaction has returned. */
export interface Db {
  readonly engine: "sqlite" | "postgres";
  readonly open: boolean;
  /** Folder of the files beside the database; absent: none, as with a database in memory. */
  readonly folder?: string | undefined;
  /** Runs a writing statement; answers the number of rows changed. Values stand for ?, in order. */
  readonly run: (sql: string, values: readonly SqlValue[]) => number;
  /** The first row, or undefined. */
  readonly get: (sql: string, values: readonly SqlValue[]) => unknown;
  readonly all: (sql: string, values: readonly SqlValue[]) => unknown[];
  /** Yields rows as arrays. Read to the end without a pause. */
  readonly each: (sql: string, values: readonly SqlValue[]) => IterableIterator<unknown>;
  /** Statements without values, parted by semicolons. */
  readonly exec: (sql: string) => void;
  /**
   * All of it or nothing; one within another is a savepoint. write: after all other writers. apart: beside them, for who locks what it
   * changes itself. snapshot: what is read is of one instant. joined: as write, and within another no savepoint but a part of it.
   */
  readonly transaction: <T>(kind: Transaction, work: () => T) => T;
  /** The text of every statement that was run since it was opened: for looking at their plans. */
  readonly used: () => string[];
  readonly close: () => void;
}

/** A message of a gateway as it arrived. */
export interface Uplink {
  readonly gateway: string;
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly now: number;
}

/** Takes in what gateways send up, each one's in the order in which it came. */
export interface Uplinks<Downlink> {
  /**
   * Resolves with what goes down in answer once all of the message is committed. Rejects where the store can't be reached or is full, and
   * once it is stopped: nothing is acked then, and the gateway offers it again. Callers may have as many under way as they like to hold in memory.
   */
  readonly take: (uplink: Uplink) => Promise<Downlink>;
  /** Messages taken whose answer is awaited: what back-pressure goes by. */
  readonly waiting: () => number;
  /** Those under way are answered first. */
  readonly stop: () => Promise<void>;
}
