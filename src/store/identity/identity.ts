import Sqlite, { type Database } from "better-sqlite3";
import { copyFileSync, existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { faultOf } from "../../domain/storage.ts";
import type { BoothId, EpochMs, StreamId } from "../../domain/units.ts";
import { openWriter } from "../open.ts";
import type { IdentityCalls } from "../port.ts";
import { schemaText, schemaTextMadeBy } from "../schema.ts";
import { rowSum } from "../log/rows.ts";

/** Tables of the identity, in the order of their rows in the seal's checksum. */
const TABLES = ["gateway", "provisioning", "learned", "kept", "origin"] as const;

/**
 * - seal: a checksum over all rows of all tables. It reveals a row that a flipped bit has changed or hidden. A trigger deletes the seal at
 * each change, and the same transaction writes a new one. An agent too old to know the seal only deletes it.
 * - origin: the booth that each stream of the log belongs to. The repair of a damaged log needs it if the log file no longer names the
 * booth.
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

/** Version of the tables. It is increased with each change that older agents can't read. */
const IDENTITY_VERSION = 0;

/** Creates missing tables. Throws if existing tables have been altered, or if the rows don't match the seal. */
function prepareTables(db: Database): void {
  db.exec(SCHEMA);
  if (schemaText(db) !== ownSchema()) throw new Error("the identity is damaged: its tables aren't as they were made");
  const found = db.prepare<[], { sum: number }>("SELECT sum FROM seal").get();
  if (found === undefined) seal(db);
  else if (found.sum !== sumOf(db)) throw new Error("the identity is damaged: its rows don't fit their seal");
}

/** Writes the seal (the checksum over all rows) inside the transaction of a change. */
function seal(db: Database): void {
  db.prepare("INSERT OR REPLACE INTO seal (one, sum) VALUES (1, ?)").run(sumOf(db));
}

function sumOf(db: Database): number {
  return rowSum(TABLES.map((table) => db.prepare(`SELECT * FROM ${table} ORDER BY 1`).raw().all()));
}

function ownSchema(): string {
  return schemaTextMadeBy((db) => db.exec(SCHEMA));
}

/** The open identity database. */
export interface IdentityFile extends IdentityCalls {
  /** Stores which booth a stream of the log belongs to. Does nothing if that is already stored. */
  noteOrigin(origin: Origin): void;
  close(): void;
}

/** Key under which the loss of an earlier identity is noted until a booth is bound again. */
const LOST = "lost";

/**
 * Opens identity.db (mode 0600) of a data folder. If the file is missing, empty or damaged, its copy replaces it. `uuid` makes the gateway
 * id once. `hadStore`: the folder already holds records, so a missing identity was lost. Throws if a newer agent wrote the file, and leaves
 * the file unchanged.
 */
export function openIdentity(dataDir: string, uuid: () => string, hadStore = false): IdentityFile {
  const path = join(dataDir, "identity.db");
  const copy = join(dataDir, "identity.copy.db");
  // Returns whether a damaged file was set aside, because it held an identity too.
  const isDamaged = (): boolean => [path, copy].some((one) => existsSync(`${one}.damaged`));
  const db = openWhole(path, copy);
  const sealed = (write: () => unknown): void =>
    db.transaction(() => {
      write();
      seal(db);
    })();
  const gateway = db.prepare<[], { gateway_id: string; credential: string | null }>(
    `SELECT gateway_id, credential FROM gateway`,
  );
  const addGateway = db.prepare<[string]>(`INSERT INTO gateway (one, gateway_id, credential) VALUES (1, ?, NULL)`);
  const isNew = gateway.get() === undefined;
  if (isNew) sealed(() => addGateway.run(uuid()));
  const putCredential = db.prepare<[string | null]>(`UPDATE gateway SET credential = ?`);
  const provisioning = bodies(db, "provisioning", "booth_id");
  const learned = bodies(db, "learned", "booth_id");
  const kept = bodies(db, "kept", "name");
  if (isNew && (hadStore || isDamaged())) sealed(() => kept.put(LOST, true));
  const knownOrigin = db.prepare<[string]>(`SELECT 1 FROM origin WHERE stream_id = ?`);
  const addOrigin = db.prepare<[Origin]>(
    `INSERT INTO origin (stream_id, booth_id, created_at) VALUES (@stream, @booth, @created_at)`,
  );
  const copied = (write: () => unknown): void => {
    sealed(write);
    replaceCopy(db, path, copy);
  };
  replaceCopy(db, path, copy);
  return {
    gateway() {
      const row = gateway.get();
      if (row === undefined) throw new Error("the gateway's row is gone from identity.db");
      return kept.get(LOST) === true ? { ...row, is_lost: true } : row;
    },
    setCredential: (credential) => copied(() => putCredential.run(credential)),
    provisioning: provisioning.get,
    setProvisioning: (booth, row) => copied(() => provisioning.put(booth, row)),
    learned: learned.get,
    setLearned: (booth, what) => sealed(() => learned.put(booth, what)),
    kept: kept.get,
    keep: (name, what) => copied(() => kept.put(name, what)),
    promote: (credential, name, what) =>
      copied(() => {
        putCredential.run(credential);
        kept.put(name, what);
      }),
    noteOrigin(origin) {
      if (knownOrigin.get(origin.stream) === undefined) copied(() => addOrigin.run(origin));
    },
    close: () => db.close(),
  };
}

/** Returns access by key to a table of JSON values. */
function bodies(db: Database, table: string, key: string) {
  const get = db.prepare<[string], { body: string }>(`SELECT body FROM ${table} WHERE ${key} = ?`);
  const put = db.prepare<[string, string]>(
    `INSERT INTO ${table} (${key}, body) VALUES (?, ?) ON CONFLICT (${key}) DO UPDATE SET body = excluded.body`,
  );
  return {
    get: (name: string): unknown => {
      const row = get.get(name);
      return row === undefined ? undefined : (JSON.parse(row.body) as unknown);
    },
    put: (name: string, body: unknown): void => void put.run(name, JSON.stringify(body)),
  };
}

/**
 * Opens the identity, or its copy if the file is missing, empty or damaged. If both are unusable, sets both aside and creates a file
 * without an identity: an agent that polls and stores under a new identity is better than one that doesn't start.
 */
function openWhole(path: string, copy: string): Database {
  const main = existsSync(path) ? openUsable(path) : null;
  if (!existsSync(copy)) return main ?? openAnew(path);
  if (main !== null && hasGateway(main)) return main;
  main?.close();
  setAside(path);
  copyFileSync(copy, path);
  const second = openUsable(path);
  if (second !== null) return second;
  setAside(copy);
  return openAnew(path);
}

/** Opens the file; null: it is damaged. Throws if the disk fails, or if a newer agent wrote the file. */
function openUsable(path: string): Database | null {
  if (isNewer(path)) {
    throw new Error(
      `a newer agent wrote ${path}: install that version again, or this one over a copy of the data from before; nothing was changed`,
    );
  }
  try {
    return openChecked(path);
  } catch (error) {
    if (isOfDisk(error)) throw error;
    return null;
  }
}

function openAnew(path: string): Database {
  setAside(path);
  return openChecked(path);
}

/** Renames a damaged file and so keeps it for inspection. */
function setAside(path: string): void {
  if (existsSync(path) && statSync(path).size > 0) renameSync(path, `${path}.damaged`);
  for (const suffix of ["", "-wal", "-shm"]) rmSync(path + suffix, { force: true });
}

/** Returns whether the database holds an identity. An emptied file opens as a new database without an identity. */
function hasGateway(db: Database): boolean {
  return db.prepare("SELECT 1 FROM gateway").get() !== undefined;
}

/**
 * Returns whether a newer agent wrote the file. Such an agent would have changed both the version and the tables. Other faults are found
 * when the file is opened.
 */
function isNewer(path: string): boolean {
  let db: Database | undefined;
  try {
    db = new Sqlite(path, { readonly: true });
    return Number(db.pragma("user_version", { simple: true })) > IDENTITY_VERSION && schemaText(db) !== ownSchema();
  } catch {
    return false;
  } finally {
    db?.close();
  }
}

/** Returns whether the disk caused the error and not the file. Opening the copy would then fail too. */
function isOfDisk(error: unknown): boolean {
  const fault = error instanceof Error && "code" in error ? faultOf(String(error.code)) : "other";
  return fault !== "other" && fault !== "damaged";
}

function openChecked(path: string): Database {
  const db = openWriter(path);
  try {
    const verdict = db.pragma("quick_check(1)", { simple: true });
    if (verdict !== "ok") throw new Error(`${path} is damaged: ${String(verdict)}`);
    prepareTables(db);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Replaces the copy by a new file, which is written, synced and renamed: after a power cut, the identity or its copy is complete. */
function replaceCopy(db: Database, path: string, copy: string): void {
  db.pragma("wal_checkpoint(TRUNCATE)");
  const fresh = `${copy}.new`;
  writeFileSync(fresh, readFileSync(path), { mode: 0o600, flush: true });
  renameSync(fresh, copy);
}

/** The booth that a stream of the log belongs to. */
export interface Origin {
  readonly stream: StreamId;
  readonly booth: BoothId;
  readonly created_at: EpochMs;
}

/** Returns the origins stored in a folder's identity; []: the identity is missing, or an older agent wrote it. */
export function originsIn(dataDir: string): readonly Origin[] {
  const files = ["identity.db", "identity.copy.db"].map((name) => originsOf(join(dataDir, name)));
  return files.find((origins) => origins.length > 0) ?? [];
}

function originsOf(file: string): readonly Origin[] {
  if (!existsSync(file)) return [];
  try {
    const db = new Sqlite(file, { readonly: true, fileMustExist: true });
    try {
      return db.prepare<[], Origin>("SELECT stream_id AS stream, booth_id AS booth, created_at FROM origin").all();
    } finally {
      db.close();
    }
  } catch (error) {
    // Returns no origins if the file is damaged or lacks the table. The other file may have the table; otherwise the booths stay unknown.
    if (error instanceof Sqlite.SqliteError) return [];
    throw error;
  }
}
