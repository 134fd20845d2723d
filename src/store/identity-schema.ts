import Database from "better-sqlite3";
import { rowSum } from "./schema.ts";

/** What an identity holds, in this order under its seal. */
const TABLES = ["gateway", "provisioning", "learned", "kept", "origin"] as const;

/**
 * seal: a checksum over all rows of all tables, so that a row that a flipped bit changes or hides is noticed. Whoever changes a row
 * breaks it, by a trigger, and puts it back in the same transaction; an older agent, which knows of no seal, leaves none.
 * origin: which booth a stream of the log is of, for a salvage that finds neither in the log's own file.
 */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS gateway (one INTEGER PRIMARY KEY CHECK (one = 1), gateway_id TEXT NOT NULL, credential TEXT) STRICT;
  CREATE TABLE IF NOT EXISTS provisioning (booth_id TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS learned (booth_id TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS kept (name TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS origin (stream_id TEXT PRIMARY KEY, booth_id TEXT NOT NULL, created_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS seal (one INTEGER PRIMARY KEY CHECK (one = 1), sum INTEGER NOT NULL) STRICT;
  ${TABLES.flatMap((table) => ["INSERT", "UPDATE", "DELETE"].map((change) => breaking(table, change))).join("\n")}`;

function breaking(table: string, change: string): string {
  const name = `${table}_${change.toLowerCase()}_breaks_seal`;
  return `CREATE TRIGGER IF NOT EXISTS ${name} AFTER ${change} ON ${table} BEGIN DELETE FROM seal; END;`;
}

/** Goes up by one with each change of the tables that this version couldn't read. */
export const IDENTITY_VERSION = 0;

/**
 * Whether a newer agent wrote the file, by its version and its tables: a version number alone, under tables of ours, is no
 * newer agent's work.
 */
export function isNewerIdentity(db: Database.Database): boolean {
  return Number(db.pragma("user_version", { simple: true })) > IDENTITY_VERSION && schemaText(db) !== ownSchema();
}

/** Makes what isn't there yet. Throws where the tables aren't as they were made, or the rows don't fit their seal. */
export function openIdentitySchema(db: Database.Database): void {
  db.exec(SCHEMA);
  if (schemaText(db) !== ownSchema()) throw new Error("the identity is damaged: its tables aren't as they were made");
  const found = db.prepare<[], { sum: number }>("SELECT sum FROM seal").get();
  if (found === undefined) seal(db);
  else if (found.sum !== sumOf(db)) throw new Error("the identity is damaged: its rows don't fit their seal");
}

/** Inside the transaction of a change. */
export function seal(db: Database.Database): void {
  db.prepare("INSERT OR REPLACE INTO seal (one, sum) VALUES (1, ?)").run(sumOf(db));
}

function sumOf(db: Database.Database): number {
  return rowSum(TABLES.map((table) => db.prepare(`SELECT * FROM ${table} ORDER BY 1`).raw().all()));
}

function ownSchema(): string {
  const made = new Database(":memory:");
  made.exec(SCHEMA);
  const text = schemaText(made);
  made.close();
  return text;
}

function schemaText(db: Database.Database): string {
  return JSON.stringify(db.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name").all());
}
