import { crc32 } from "node:zlib";
import type { Database } from "better-sqlite3";

/**
 * The store's tables, as numbered steps forward. `user_version` is the number of the last step carried out.
 *
 * log: one row per run of records of one commit, or of a chunk of many, that share a boot and a clock offset, in time order, no index beside
 * the key: each further index would multiply the blocks that a commit writes. `t0` is the corrected time at `mono0`.
 * A row with placed = 0 is of a boot whose clock isn't synced yet: its `t0` is what that clock shows. The index is partial:
 * the usual row isn't in it.
 * boot: the place in time that a boot was given after it had waited.
 * fact: one row per derived fact, with the times that windows are asked by.
 * quarantine: ranges in which rows were found damaged and taken out; declared = 1: a gap record says so.
 * origin: which booth a stream is of, beside the row that each commit writes: a salvage needs it where that row is lost.
 * fork: from which seq on a salvaged stream's records go to the service under another name.
 * due: events that the stream's next commit logs.
 * dead_letter: records that the service will never take, with its reason, as they were; declared = 0: a gap record is to say so.
 * state: the fold's state after the record with that seq; the newest row is what start-up continues from.
 */
const STEPS: readonly string[] = [
  `CREATE TABLE stream (
     stream_id TEXT PRIMARY KEY,
     booth_id TEXT NOT NULL,
     created_at INTEGER NOT NULL,
     oldest_seq INTEGER NOT NULL,
     newest_seq INTEGER NOT NULL,
     acked_seq INTEGER NOT NULL,
     last_take INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE log (
     stream_id TEXT NOT NULL,
     first_seq INTEGER NOT NULL,
     last_seq INTEGER NOT NULL,
     boot TEXT NOT NULL,
     mono0 INTEGER NOT NULL,
     t0 INTEGER NOT NULL,
     crc INTEGER NOT NULL,
     body TEXT NOT NULL,
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
     body TEXT NOT NULL,
     PRIMARY KEY (stream_id, seq)
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX fact_by_time ON fact (stream_id, kind, start_ms, end_ms);
   CREATE TABLE state (
     stream_id TEXT PRIMARY KEY,
     seq INTEGER NOT NULL,
     crc INTEGER NOT NULL,
     body TEXT NOT NULL
   ) STRICT, WITHOUT ROWID;`,
  `ALTER TABLE log ADD COLUMN placed INTEGER NOT NULL DEFAULT 1;
   CREATE INDEX log_waiting ON log (stream_id, first_seq) WHERE placed = 0;
   CREATE TABLE boot (
     stream_id TEXT NOT NULL,
     boot TEXT NOT NULL,
     offset_ms INTEGER NOT NULL,
     uncertain INTEGER NOT NULL,
     PRIMARY KEY (stream_id, boot)
   ) STRICT, WITHOUT ROWID;`,
  // Rebuilding: which version of the definitions made a fact, which facts others have replaced, how often a stream was rebuilt.
  `ALTER TABLE fact ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
   ALTER TABLE fact ADD COLUMN replaced INTEGER NOT NULL DEFAULT 0;
   ALTER TABLE stream ADD COLUMN rebuilds INTEGER NOT NULL DEFAULT 0;`,
  // Checksums over whole rows. whole = 0: a row from before, whose checksum is of its body alone; nothing is rewritten.
  // A stream whose sum is 0 has none yet.
  `ALTER TABLE log ADD COLUMN whole INTEGER NOT NULL DEFAULT 0;
   ALTER TABLE fact ADD COLUMN whole INTEGER NOT NULL DEFAULT 0;
   ALTER TABLE stream ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
   ALTER TABLE state ADD COLUMN whole INTEGER NOT NULL DEFAULT 0;
   CREATE TABLE quarantine (
     stream_id TEXT NOT NULL,
     from_seq INTEGER NOT NULL,
     to_seq INTEGER NOT NULL,
     reason TEXT NOT NULL,
     declared INTEGER NOT NULL,
     PRIMARY KEY (stream_id, from_seq)
   ) STRICT, WITHOUT ROWID;`,
  // Everything else that a flipped bit could change or hide without a word: places of boots, the end and the version of facts,
  // the stream's other fields. facts_upto: facts up to there have been dropped. prev: seq of the fact before; NULL: not known.
  `ALTER TABLE boot ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
   UPDATE boot SET sum = row_sum(stream_id, boot, offset_ms, uncertain);
   ALTER TABLE fact ADD COLUMN prev INTEGER;
   ALTER TABLE stream ADD COLUMN facts_upto INTEGER NOT NULL DEFAULT 0;
   UPDATE stream SET facts_upto = ifnull((SELECT min(seq) - 1 FROM fact WHERE fact.stream_id = stream.stream_id), 0);
   UPDATE stream SET sum = row_sum(stream_id, booth_id, newest_seq, acked_seq, last_take, oldest_seq, facts_upto);
   CREATE TABLE origin (
     stream_id TEXT PRIMARY KEY,
     booth_id TEXT NOT NULL,
     created_at INTEGER NOT NULL,
     sum INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
   INSERT INTO origin SELECT stream_id, booth_id, created_at, row_sum(stream_id, booth_id, created_at) FROM stream;
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
   ) STRICT, WITHOUT ROWID;`,
  // Records packed by column, in the body's place. closed_seq: rows up to there have been put together in chunks.
  `ALTER TABLE log ADD COLUMN packed BLOB;
   ALTER TABLE stream ADD COLUMN closed_seq INTEGER NOT NULL DEFAULT 0;`,
  // The fold's state once a day, as long as the log from there on is kept: a rebuild begins with the first of them.
  `CREATE TABLE base (
     stream_id TEXT NOT NULL,
     seq INTEGER NOT NULL,
     at INTEGER NOT NULL,
     sum INTEGER NOT NULL,
     packed BLOB NOT NULL,
     PRIMARY KEY (stream_id, seq)
   ) STRICT, WITHOUT ROWID;`,
  `CREATE TABLE dead_letter (
     stream_id TEXT NOT NULL,
     seq INTEGER NOT NULL,
     at INTEGER NOT NULL,
     reason TEXT NOT NULL,
     record TEXT NOT NULL,
     declared INTEGER NOT NULL,
     PRIMARY KEY (stream_id, seq)
   ) STRICT, WITHOUT ROWID;`,
  // What was set aside is proven like everything else, so that a salvage finds it again.
  `ALTER TABLE dead_letter ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
   UPDATE dead_letter SET sum = row_sum(stream_id, seq, at, reason, record, declared);`,
];

/** The schema this version writes and reads. */
export const SCHEMA_VERSION = STEPS.length;

/** Makes the checksum over a row's cells known to SQL, as row_sum(cell, ...). */
export function addRowSum(db: Database): void {
  db.function("row_sum", { deterministic: true, varargs: true }, (...cells: unknown[]) => rowSum(cells));
}

export function rowSum(cells: readonly unknown[]): number {
  return crc32(JSON.stringify(cells));
}

/**
 * Brings a database to SCHEMA_VERSION, or to an older one, each step in a transaction of its own.
 * Throws when the file was written by a newer version; it is then left alone.
 */
export function migrate(db: Database, to = SCHEMA_VERSION): void {
  const version = Number(db.pragma("user_version", { simple: true }));
  if (version > SCHEMA_VERSION) {
    throw new Error(
      `the store has schema ${version.toString()}, this agent knows up to ${SCHEMA_VERSION.toString()}: ` +
        `install the newer agent again, or move the file away`,
    );
  }
  addRowSum(db);
  STEPS.slice(version, to).forEach((sql, index) => {
    db.transaction(() => {
      db.exec(sql);
      db.pragma(`user_version = ${(version + index + 1).toString()}`);
    })();
  });
}
