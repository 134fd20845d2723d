import type { Db } from "./port.ts";
import { openPostgres } from "./postgres/db.ts";
import { openSqlite } from "./sqlite.ts";

/** Whether the name is a PostgreSQL URL. Otherwise it is a folder, or ":memory:". */
export function isPostgres(where: string): boolean {
  return /^postgres(ql)?:\/\//.test(where);
}

/**
 * Opens a store and updates its schema: a PostgreSQL database by its URL, SQLite's file in a folder, or memory.
 * `folder`: folder of additional files if the database is on a server.
 */
export function openDb(where: string, folder?: string): Db {
  return isPostgres(where) ? openPostgres(where, folder) : openSqlite(where);
}
