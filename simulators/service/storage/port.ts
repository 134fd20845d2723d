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
  /** Folder of the files next to the database; absent: no files, as with a database in memory. */
  readonly folder?: string | undefined;
  /** Runs a writing statement. Returns the number of changed rows. Values replace ? in order. */
  readonly run: (sql: string, values: readonly SqlValue[]) => number;
  /** Returns the first row, or undefined. */
  readonly get: (sql: string, values: readonly SqlValue[]) => unknown;
  readonly all: (sql: string, values: readonly SqlValue[]) => unknown[];
  /** Yields rows as arrays. Read to the end without a pause. */
  readonly each: (sql: string, values: readonly SqlValue[]) => IterableIterator<unknown>;
  /** Runs statements without values, separated by semicolons. */
  readonly exec: (sql: string) => void;
  /**
   * Runs the work completely or not at all. A nested transaction is a savepoint. write: after all other writers. apart:
   * parallel to other writers, for callers that lock the rows that they change. snapshot: all reads are of the same
   * instant. joined: like write, but a nested one is part of the outer transaction without a savepoint.
   */
  readonly transaction: <T>(kind: Transaction, work: () => T) => T;
  /** Returns the text of every statement since the start, for checks of their plans. */
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

/** Stores uplink messages of gateways, each gateway's in order of arrival. */
export interface Uplinks<Downlink> {
  /**
   * Resolves with the answer to the gateway once the whole message is committed. Rejects if the store is unreachable or
   * full, or stopped; no ack is sent then, and the gateway resends the message. Callers may have as many messages
   * pending as fit into their memory.
   */
  readonly take: (uplink: Uplink) => Promise<Downlink>;
  /** Number of pending messages, for back-pressure. */
  readonly waiting: () => number;
  /** Answers pending messages and then stops. */
  readonly stop: () => Promise<void>;
}
