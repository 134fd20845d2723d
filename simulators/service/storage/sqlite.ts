import { mkdirSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { SCHEMA_STEPS } from "./schema.ts";
import type { Db, SqlValue, Transaction } from "./port.ts";

/** A database file, or one in memory. `file` gives access to SQLite itself. */
export interface SqliteDb extends Db {
  readonly file: Database.Database;
}

/**
 * Opens the database file in `dataDir` and updates its schema; ":memory:" stores it in memory. Throws if the folder
 * can't be written.
 */
export function openSqlite(dataDir: string): SqliteDb {
  const inMemory = dataDir === ":memory:";
  if (!inMemory) mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const file = new Database(inMemory ? dataDir : join(dataDir, "service.db"));
  file.pragma("journal_mode = WAL");
  file.pragma("synchronous = FULL");
  file.pragma("foreign_keys = ON");
  migrate(file);
  return sqliteDb(file, inMemory ? undefined : dataDir);
}

function migrate(file: Database.Database): void {
  const version = Number(file.pragma("user_version", { simple: true }));
  if (version > SCHEMA_STEPS.length) {
    throw new Error(`the data was written by a newer service (schema ${version}, known ${SCHEMA_STEPS.length})`);
  }
  file
    .transaction(() => {
      for (const step of SCHEMA_STEPS.slice(version)) file.exec(step);
      file.pragma(`user_version = ${SCHEMA_STEPS.length}`);
    })
    .immediate();
}

/** Returns the port for an open file with the present schema. Each statement is prepared once. */
export function sqliteDb(file: Database.Database, folder?: string): SqliteDb {
  const prepared = new Map<string, Database.Statement>();
  const statement = (sql: string): Database.Statement => {
    let found = prepared.get(sql);
    if (found === undefined) prepared.set(sql, (found = file.prepare(sql)));
    return found;
  };
  // Iterating needs a separate statement, because raw() changes a statement permanently.
  const raw = new Map<string, Database.Statement>();
  const rawStatement = (sql: string): Database.Statement => {
    let found = raw.get(sql);
    if (found === undefined) raw.set(sql, (found = file.prepare(sql).raw(true)));
    return found;
  };
  // A shared transaction function, because making one takes as long as a small transaction.
  const transaction = file.transaction((work: () => unknown) => work());
  return {
    engine: "sqlite",
    folder,
    file,
    get open() {
      return file.open;
    },
    used: () => [...prepared.keys(), ...raw.keys()],
    run: (sql, values) => statement(sql).run(...values).changes,
    get: (sql, values) => statement(sql).get(...values),
    all: (sql, values) => statement(sql).all(...values),
    each: (sql, values: readonly SqlValue[]) => rawStatement(sql).iterate(...values),
    exec: (sql) => void file.exec(sql),
    transaction: <T>(kind: Transaction, work: () => T): T => {
      if (kind === "joined" && file.inTransaction) return work();
      // The result of the work is returned unchanged.
      return (kind === "snapshot" ? transaction.deferred(work) : transaction.immediate(work)) as T;
    },
    close: () => void file.close(),
  };
}
