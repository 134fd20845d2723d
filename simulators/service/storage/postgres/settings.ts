import type { ClientConfig } from "pg";

/** All that writes a few rows by SQL of both engines goes one after another, as SQLite has it: what was read stays so until it is written. */
export const WRITERS = 7_301;
/** A statement that takes longer has lost its way: the longest report asks for a booth's segments of years in under a second. */
const STATEMENT_MS = 30_000;
/** Limit of waiting for a lock. A lock lasts for one transaction, whose time is limited too. */
const LOCK_MS = 20_000;
/** A transaction whose program was stopped in the middle gives its locks back. */
const IDLE_IN_TRANSACTION_MS = 60_000;
const CONNECT_MS = 5_000;

/** Settings that the service changes: JIT compilation of a report's plan takes longer than the report. */
export const SERVER_SETTINGS = "-c jit=off";

/** How the service connects: with bounds of its own on whatever may wait. */
export function settingsOf(url: string): ClientConfig {
  return {
    connectionString: url,
    application_name: "booth-sim service",
    options: SERVER_SETTINGS,
    connectionTimeoutMillis: CONNECT_MS,
    statement_timeout: STATEMENT_MS,
    lock_timeout: LOCK_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    keepAlive: true,
    types: { getTypeParser },
  };
}

const INT8 = 20;
const NUMERIC = 1700;
const FLOAT8 = 701;
const INT4 = 23;
const BYTEA = 17;

/** Numbers as numbers: seqs and times of records are whole ones below 2^53 wherever they come from. */
function getTypeParser(oid: number): (text: string) => unknown {
  if (oid === INT8 || oid === NUMERIC || oid === FLOAT8 || oid === INT4) return Number;
  // An array of its own: a slice of what came over the socket would be copied from thread to thread with all around it.
  if (oid === BYTEA) return (text) => new Uint8Array(Buffer.from(text.slice(2), "hex"));
  return (text) => text;
}

/** The service's SQL has ? for each value: numbered, as PostgreSQL wants them. */
export function numbered(sql: string): string {
  let count = 0;
  return sql
    .replaceAll("(? + 0)", "?")
    .replaceAll("(? || '')", "?")
    .replaceAll("?", () => `$${(count += 1)}`);
}
