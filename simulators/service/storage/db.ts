import type { Db, SqlValue } from "./port.ts";

export type { Db, SqlValue } from "./port.ts";

/**
 * Placeholders for a number or a text that narrows an index. SQLite's planner (built with STAT4) plans a statement
 * again at each run if it can look at a bound value, which takes ten times as long as running it; it can't look into
 * an expression.
 */
export const ANY_NUMBER = "(? + 0)";
export const ANY_TEXT = "(? || '')";

/** Runs a writing statement. Returns the number of changed rows. */
export function run(db: Db, sql: string, ...values: SqlValue[]): number {
  return db.run(sql, values);
}

/** Returns the first row, or undefined. The caller names the row's type, which must match the SQL text. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- only the caller knows what its SQL selects
export function row<T>(db: Db, sql: string, ...values: SqlValue[]): T | undefined {
  return db.get(sql, values) as T | undefined;
}

/** Returns all rows. */
export function rows<T>(db: Db, sql: string, ...values: SqlValue[]): T[] {
  return db.all(sql, values) as T[];
}

/** Yields rows one by one as arrays. The caller must read to the end without awaiting. */
export function each<T extends readonly SqlValue[]>(db: Db, sql: string, ...values: SqlValue[]): IterableIterator<T> {
  return db.each(sql, values) as IterableIterator<T>;
}

/** Runs reads of the same instant, whatever another thread writes meanwhile. */
export function inSnapshot<T>(db: Db, read: () => T): T {
  return db.transaction("snapshot", read);
}

/** Runs the work in one transaction. Nested calls join the outer one as a savepoint. */
export function inTransaction<T>(db: Db, work: () => T): T {
  return db.transaction("write", work);
}

/**
 * Runs the work in one transaction. A nested call is part of the outer one without a savepoint, which takes a third of
 * a chunk's time. The caller must roll back the outer transaction if a part fails.
 */
export function joined<T>(db: Db, work: () => T): T {
  return db.transaction("joined", work);
}
