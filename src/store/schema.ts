import { addRowSum } from "./log/rows.ts";
import Sqlite, { type Database } from "better-sqlite3";

/** Version of the tables, stored in the file as `user_version`. */
export const SCHEMA_VERSION = 9;

/**
 * SQL texts of the store's tables. Each file stores these texts. A start compares them character by character, so not even a blank may
 * change.
 *
 * - stream: one row per log. `closed_seq`: rows up to it are merged into chunks. `facts_upto`: facts up to it are deleted. `rebuilds`: the
 *   number of rebuilds.
 * - log: one row per run of records of one commit, or per chunk of many commits. Its records share a boot and a clock offset, in time
 *   order. The table has no index besides the key, because each index would multiply the blocks that a commit writes. `t0` is the corrected
 *   time at `mono0`, `packed` holds the records by column, `body` is empty. placed = 0: the boot's clock isn't synced yet, and `t0` is
 *   provisional. Only these rows are in the partial index.
 * - fact: one row per derived fact, with the times of its window, the version of its definitions, whether it was replaced, and the seq of
 *   the previous fact.
 * - state: the fold's state after the record with that seq, from which a start continues.
 * - boot: the clock offset of a boot that had to wait for a clock sync.
 * - quarantine: ranges in which rows were damaged and removed. declared = 1: a gap record reports them.
 * - origin: the booth of a stream. It is stored apart from the row that each commit writes, because a salvage needs it if that row is lost.
 * - fork: the seq from which a salvaged stream's records are sent under another name.
 * - due: events that the stream's next commit logs.
 * - base: a daily snapshot of the fold's state, while the log after it is kept. A rebuild begins with the first one.
 * - dead_letter: records that the service will never accept, with its reason. declared = 0: a gap record must still report them.
 *
 * `crc` and `sum` are checksums over whole rows. `whole` is the kind of checksum, and one of the cells that it covers.
 */
const TABLES = `
   CREATE TABLE stream (
     stream_id TEXT PRIMARY KEY,
     booth_id TEXT NOT NULL,
     created_at INTEGER NOT NULL,
     oldest_seq INTEGER NOT NULL,
     newest_seq INTEGER NOT NULL,
     acked_seq INTEGER NOT NULL,
     last_take INTEGER NOT NULL
   , rebuilds INTEGER NOT NULL DEFAULT 0, sum INTEGER NOT NULL DEFAULT 0, facts_upto INTEGER NOT NULL DEFAULT 0, closed_seq INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;
   CREATE TABLE log (
     stream_id TEXT NOT NULL,
     first_seq INTEGER NOT NULL,
     last_seq INTEGER NOT NULL,
     boot TEXT NOT NULL,
     mono0 INTEGER NOT NULL,
     t0 INTEGER NOT NULL,
     crc INTEGER NOT NULL,
     body TEXT NOT NULL, placed INTEGER NOT NULL DEFAULT 1, whole INTEGER NOT NULL DEFAULT 0, packed BLOB,
     PRIMARY KEY (stream_id, first_seq)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE fact (
     stream_id TEXT NOT NULL,
     seq INTEGER NOT NULL,
     kind TEXT NOT NULL,
     start_ms INTEGER NOT NULL,
     end_ms INTEGER NOT NULL,
     time INTEGER NOT NULL,
     crc INTEGER NOT NULL,
     body TEXT NOT NULL, version INTEGER NOT NULL DEFAULT 1, replaced INTEGER NOT NULL DEFAULT 0, whole INTEGER NOT NULL DEFAULT 0, prev INTEGER,
     PRIMARY KEY (stream_id, seq)
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX fact_by_time ON fact (stream_id, kind, start_ms, end_ms);
   CREATE TABLE state (
     stream_id TEXT PRIMARY KEY,
     seq INTEGER NOT NULL,
     crc INTEGER NOT NULL,
     body TEXT NOT NULL
   , whole INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;
   CREATE INDEX log_waiting ON log (stream_id, first_seq) WHERE placed = 0;
   CREATE TABLE boot (
     stream_id TEXT NOT NULL,
     boot TEXT NOT NULL,
     offset_ms INTEGER NOT NULL,
     uncertain INTEGER NOT NULL, sum INTEGER NOT NULL DEFAULT 0,
     PRIMARY KEY (stream_id, boot)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE quarantine (
     stream_id TEXT NOT NULL,
     from_seq INTEGER NOT NULL,
     to_seq INTEGER NOT NULL,
     reason TEXT NOT NULL,
     declared INTEGER NOT NULL,
     PRIMARY KEY (stream_id, from_seq)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE origin (
     stream_id TEXT PRIMARY KEY,
     booth_id TEXT NOT NULL,
     created_at INTEGER NOT NULL,
     sum INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE fork (
     stream_id TEXT PRIMARY KEY,
     from_seq INTEGER NOT NULL,
     sum INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE due (
     stream_id TEXT NOT NULL,
     event TEXT NOT NULL,
     detail TEXT NOT NULL,
     PRIMARY KEY (stream_id, event)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE base (
     stream_id TEXT NOT NULL,
     seq INTEGER NOT NULL,
     at INTEGER NOT NULL,
     sum INTEGER NOT NULL,
     packed BLOB NOT NULL,
     PRIMARY KEY (stream_id, seq)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE dead_letter (
     stream_id TEXT NOT NULL,
     seq INTEGER NOT NULL,
     at INTEGER NOT NULL,
     reason TEXT NOT NULL,
     record TEXT NOT NULL,
     declared INTEGER NOT NULL, sum INTEGER NOT NULL DEFAULT 0,
     PRIMARY KEY (stream_id, seq)
   ) STRICT, WITHOUT ROWID;`;

/** A value of a cell in the file. Numbers beyond 2^53 don't occur. */
export type Cell = string | number | Buffer | null;

/** Creates the tables in an empty database. Throws if an agent with another schema wrote the file, and then leaves the file unchanged. */
export function prepareSchema(db: Database): void {
  addRowSum(db);
  const version = schemaOf(db);
  if (version === SCHEMA_VERSION) return;
  if (version !== 0) throw new Error(otherSchema(version));
  db.transaction(() => {
    db.exec(TABLES);
    db.pragma(`user_version = ${SCHEMA_VERSION}`);
  })();
}

/** Returns the version of the schema; 0: the file is empty. */
export function schemaOf(db: Database): number {
  return Number(db.pragma("user_version", { simple: true }));
}

/** Returns a message for the user about a store with another schema version, with advice. */
export function otherSchema(version: number): string {
  const known = SCHEMA_VERSION.toString();
  if (version === 0) return "the store holds nothing yet: start the agent once";
  return version > SCHEMA_VERSION
    ? `the store has schema ${version}, this agent knows up to ${known}: install the newer agent again, or move the file away`
    : `the store has schema ${version}, this agent knows ${known} alone: install the older agent again until all is delivered, ` +
        `then move the file away`;
}

/** Returns the exact SQL texts of the database's tables, indexes and triggers. */
export function schemaText(db: Database): string {
  return JSON.stringify(db.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name").all());
}

/** Returns the exact SQL texts that `make` creates in a new database. */
export function schemaTextMadeBy(make: (db: Database) => void): string {
  const db = new Sqlite(":memory:");
  make(db);
  const text = schemaText(db);
  db.close();
  return text;
}
