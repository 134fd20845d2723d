import { mkdirSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { SCHEMA_STEPS } from "./schema.ts";

/** The service's one database; synchronous, every write durable when its transaction returns. */
export type Db = Database.Database;

export type SqlValue = string | number | null | Uint8Array;

/**
 * In place of ? for a number or a text that narrows an index: SQLite's planner doesn't look at it. What it looks at (it is built with
 * STAT4) makes it plan the statement anew at each run, which takes ten times as long as running it.
 */
export const ANY_NUMBER = "(? + 0)";
export const ANY_TEXT = "(? || '')";

const statements = new WeakMap<Db, Map<string, Database.Statement>>();

/** Opens (and brings up to date) the database file in `dataDir`; ":memory:" keeps it in memory. Throws where the folder can't be written. */
export function openDb(dataDir: string): Db {
  const inMemory = dataDir === ":memory:";
  if (!inMemory) mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const db = new Database(inMemory ? dataDir : join(dataDir, "service.db"));
  db.pragma("journal_mode = WAL");
  db.pragma("synchronous = FULL");
  db.pragma("foreign_keys = ON");
  migrate(db);
  return db;
}

function migrate(db: Db): void {
  const version = Number(db.pragma("user_version", { simple: true }));
  if (version > SCHEMA_STEPS.length) {
    throw new Error(`the data was written by a newer service (schema ${version}, known ${SCHEMA_STEPS.length})`);
  }
  db.transaction(() => {
    for (const step of SCHEMA_STEPS.slice(version)) db.exec(step);
    db.pragma(`user_version = ${SCHEMA_STEPS.length}`);
  }).immediate();
}

/** The text of every statement that was run on it since it was opened, in order: for looking at their plans. */
export function usedStatements(db: Db): string[] {
  return [...(statements.get(db)?.keys() ?? [])];
}

function statement(db: Db, sql: string): Database.Statement {
  let known = statements.get(db);
  if (known === undefined) statements.set(db, (known = new Map<string, Database.Statement>()));
  let found = known.get(sql);
  if (found === undefined) known.set(sql, (found = db.prepare(sql)));
  return found;
}

/** Runs a writing statement; answers the number of rows changed. */
export function run(db: Db, sql: string, ...values: SqlValue[]): number {
  return statement(db, sql).run(...values).changes;
}

/** The first row, or undefined. The caller names the row's shape: it is the shape of the SQL text beside it. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- only the caller knows what its SQL selects
export function row<T>(db: Db, sql: string, ...values: SqlValue[]): T | undefined {
  return statement(db, sql).get(...values) as T | undefined;
}

/** All rows. */
export function rows<T>(db: Db, sql: string, ...values: SqlValue[]): T[] {
  return statement(db, sql).all(...values) as T[];
}

/** Rows one by one, as arrays; the caller must run it to its end without awaiting. */
export function each<T extends readonly SqlValue[]>(db: Db, sql: string, ...values: SqlValue[]): IterableIterator<T> {
  return statement(db, sql)
    .raw(true)
    .iterate(...values) as IterableIterator<T>;
}

/** Everything that is read in it is of one instant, whatever another thread writes meanwhile. */
export function inSnapshot<T>(db: Db, read: () => T): T {
  return db.transaction(read).deferred();
}

const transactions = new WeakMap<Db, Database.Transaction<(work: () => unknown) => unknown>>();

/** One immediate transaction: all of it or nothing. Nested calls join the outer one as a savepoint. */
export function inTransaction<T>(db: Db, work: () => T): T {
  let known = transactions.get(db);
  if (known === undefined) transactions.set(db, (known = db.transaction((any: () => unknown) => any())));
  // What the work answers comes through as it is.
  return known.immediate(work) as T;
}
