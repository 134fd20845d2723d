import type { ClientConfig } from "pg";

/**
 * Lock under which all small writes in the SQL of both engines run one after another, as in SQLite: rows that were read
 * don't change until the write.
 */
export const WRITERS = 7_301;
/** A longer statement is faulty: the longest report reads a booth's segments of years in under a second. */
const STATEMENT_MS = 30_000;
/** Limit of waiting for a lock. A lock lasts for one transaction, whose time is limited too. */
const LOCK_MS = 20_000;
/** A transaction whose program was stopped in the middle releases its locks after this time. */
const IDLE_IN_TRANSACTION_MS = 60_000;
const CONNECT_MS = 5_000;

/**
 * Settings that the service changes: JIT compilation of a report's plan takes longer than the report. A connection of a
 * lost machine ends after half a minute instead of two hours.
 */
export const SERVER_SETTINGS =
  "-c jit=off -c tcp_keepalives_idle=15 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3";

/** Returns the connection settings of the service, with limits for everything that may wait. */
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

/** Parses numbers as JavaScript numbers, because seqs and times are whole numbers below 2^53. */
function getTypeParser(oid: number): (text: string) => unknown {
  if (oid === INT8 || oid === NUMERIC || oid === FLOAT8 || oid === INT4) return Number;
  // A separate array: a slice of the socket's buffer would be copied between threads with the whole buffer.
  if (oid === BYTEA) return (text) => new Uint8Array(Buffer.from(text.slice(2), "hex"));
  return (text) => text;
}

/** Numbers the ? placeholders as PostgreSQL requires. */
export function numbered(sql: string): string {
  let count = 0;
  return sql
    .replaceAll("(? + 0)", "?")
    .replaceAll("(? || '')", "?")
    .replaceAll("?", () => `$${(count += 1)}`);
}
