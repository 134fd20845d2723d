/**
 * The store of a test's service: in memory, or, if $SERVICE_STORE names a PostgreSQL server, a new database there, copied from a template
 * with the current schema. So each test of the service covers both engines: `on-postgres.nightly.test.ts` runs them on PostgreSQL.
 */
import { type Db, rows } from "../../../simulators/service/storage/db.ts";
import { openDb } from "../../../simulators/service/storage/open.ts";
import { postgresDb } from "../../../simulators/service/storage/postgres/db.ts";

const TEMPLATE = "booth_template";

let made = 0;

export function freshStore(): string {
  const server = process.env["SERVICE_STORE"];
  if (server === undefined) return ":memory:";
  made += 1;
  const name = `test_${process.pid}_${made}`;
  const admin = postgresDb(server);
  admin.exec(`CREATE DATABASE ${name} TEMPLATE ${TEMPLATE}`);
  admin.close();
  return databaseAt(server, name);
}

/** Makes the template that the other databases are copied from. */
export function prepareStores(server: string): void {
  const admin = postgresDb(server);
  admin.exec(`CREATE DATABASE ${TEMPLATE}`);
  const template = openDb(databaseAt(server, TEMPLATE));
  template.close();
  admin.close();
}

function databaseAt(server: string, name: string): string {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

/** Returns the names of all tables with data, in order. */
export function tablesOf(db: Db): string[] {
  const sql = {
    sqlite: "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name",
    postgres: `SELECT relname AS name FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition
      AND relnamespace = 'public'::regnamespace AND relname <> 'schema_steps' ORDER BY relname`,
  };
  return rows<{ name: string }>(db, sql[db.engine]).map(({ name }) => name);
}
