import type { Db } from "./port.ts";
import { openPostgres } from "./postgres/db.ts";
import { openSqlite } from "./sqlite.ts";

/** Whether it names a PostgreSQL database; else it is a folder, or ":memory:". */
export function isPostgres(where: string): boolean {
  return /^postgres(ql)?:\/\//.test(where);
}

/**
 * Opens what is kept there, brought up to date: a PostgreSQL database by its URL, SQLite's file in a folder, or nothing but memory.
 * `folder`: where files go that lie beside a database on a server.
 */
export function openDb(where: string, folder?: string): Db {
  return isPostgres(where) ? openPostgres(where, folder) : openSqlite(where);
}
