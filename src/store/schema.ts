import { addRowSum } from "./log/rows.ts";
import Sqlite, { type Database } from "better-sqlite3";

/** Which tables a store has, written in the file as `user_version`. */
export const SCHEMA_VERSION = 9;

/**
 * The store's tables. Each file holds these texts too, and at the start they are compared to the letter, blanks among them: that is why
 * columns stand where they stand.
 *
 * stream: `closed_seq`: rows up to there have been put together in chunks; `facts_upto`: facts up to there have been dropped; `rebuilds`: how
 * often it was rebuilt.
 * log: one row per run of records of one commit, or of a chunk of many, that share a boot and a clock offset, in time order, no index beside
 * the key: each further index would multiply the blocks that a commit writes. `t0` is the corrected time at `mono0`, `packed` holds the
 * records by column; `body` is empty.
 * A row with placed = 0 is of a boot whose clock isn't synced yet: its `t0` is what that clock shows. The index is partial:
 * the usual row isn't in it.
 * fact: one row per derived fact, with the times that windows are asked by, the version of the definitions that made it, whether another has
 * replaced it, and the seq of the fact before.
 * state: the fold's state after the record with that seq; the newest row is what start-up continues from.
 * boot: the place in time that a boot was given after it had waited.
 * quarantine: ranges in which rows were found damaged and taken out; declared = 1: a gap record says so.
 * origin: which booth a stream is of, beside the row that each commit writes: a salvage needs it where that row is lost.
 * fork: from which seq on a salvaged stream's records go to the service under another name.
 * due: events that the stream's next commit logs.
 * base: the fold's state once a day, as long as the log from there on is kept: a rebuild begins with the first of them.
 * dead_letter: records that the service will never take, with its reason, as they were; declared = 0: a gap record is to say so.
 * `crc` and `sum` are checksums over whole rows; `whole` says which sort, and is one of the cells.
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

/** A value as the file holds it: a number beyond 2^53 doesn't occur in ours. */
export type Cell = string | number | Buffer | null;

/**
 * Gives an empty database its tables. Throws where an agent of another schema wrote the file; it is then left alone.
 */
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

/** 0: nothing has been written yet. */
export function schemaOf(db: Database): number {
  return Number(db.pragma("user_version", { simple: true }));
}

/** What is said of a store of another schema, and what to do. */
export function otherSchema(version: number): string {
  const known = SCHEMA_VERSION.toString();
  if (version === 0) return "the store holds nothing yet: start the agent once";
  return version > SCHEMA_VERSION
    ? `the store has schema ${version}, this agent knows up to ${known}: install the newer agent again, or move the file away`
    : `the store has schema ${version}, this agent knows ${known} alone: install the older agent again until all is delivered, ` +
        `then move the file away`;
}

/** Tables, indexes and triggers as they were made, to the letter. */
export function schemaText(db: Database): string {
  return JSON.stringify(db.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name").all());
}

/** As schemaText, of a file that `make` has just made. */
export function schemaTextMadeBy(make: (db: Database) => void): string {
  const db = new Sqlite(":memory:");
  make(db);
  const text = schemaText(db);
  db.close();
  return text;
}
