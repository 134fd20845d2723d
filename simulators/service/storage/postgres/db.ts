import type { Db, Transaction } from "../port.ts";
import { ask } from "./line.ts";
import { MIGRATIONS } from "./schema.ts";
import { WRITERS } from "./settings.ts";

/** Lock of the program that migrates. Other programs wait for it at their start. */
const MIGRATORS = 7_302;

let made = 0;

/** Connects to a database by its URL and updates its schema. Throws if it can't be reached. */
export function openPostgres(url: string, folder?: string): Db {
  const db = postgresDb(url, folder);
  migrate(db);
  return db;
}

/** Returns the port for a database with the present schema. */
export function postgresDb(url: string, folder?: string): Db {
  made += 1;
  const connection = made;
  let open = true;
  let depth = 0;
  const used = new Set<string>();
  const query = (sql: string, values: readonly unknown[], as: "rows" | "arrays" = "rows") => {
    if (!open) throw new Error("the database is closed");
    used.add(sql);
    return ask({ kind: "query", connection, url, sql, values: values as never, as });
  };
  const within = <T>(kind: Transaction, work: () => T): T => {
    if (kind === "joined" && depth > 0) return work();
    const name = `s${depth}`;
    const [first, last, back] =
      depth === 0
        ? [BEGIN[kind], "COMMIT", "ROLLBACK"]
        : [`SAVEPOINT ${name}`, `RELEASE SAVEPOINT ${name}`, `ROLLBACK TO SAVEPOINT ${name}`];
    query(first, []);
    depth += 1;
    try {
      if ((kind === "write" || kind === "joined") && depth === 1) query(`SELECT pg_advisory_xact_lock(${WRITERS})`, []);
      const result = work();
      query(last, []);
      return result;
    } catch (error) {
      rollBack(() => query(back, []));
      throw error;
    } finally {
      depth -= 1;
    }
  };
  return {
    engine: "postgres",
    folder,
    get open() {
      return open;
    },
    used: () => [...used],
    run: (sql, values) => query(sql, values).count,
    get: (sql, values) => query(sql, values).rows[0],
    all: (sql, values) => query(sql, values).rows,
    each: (sql, values) => query(sql, values, "arrays").rows.values(),
    exec: (sql) => void query(sql, []),
    transaction: within,
    close: () => {
      if (open) ask({ kind: "close", connection });
      open = false;
    },
  };
}

const BEGIN: Readonly<Record<Transaction, string>> = {
  write: "BEGIN ISOLATION LEVEL READ COMMITTED",
  joined: "BEGIN ISOLATION LEVEL READ COMMITTED",
  apart: "BEGIN ISOLATION LEVEL READ COMMITTED",
  snapshot: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
};

/** The first error is the one to report. If the connection is lost, there is nothing to roll back. */
function rollBack(act: () => unknown): void {
  try {
    act();
  } catch {
    // The server rolled back when the connection ended.
  }
}

/** Runs numbered steps, forward only, each in its own transaction. */
export function migrate(db: Db): void {
  db.exec(
    "CREATE TABLE IF NOT EXISTS schema_steps (step bigint PRIMARY KEY, made_at timestamptz NOT NULL DEFAULT now())",
  );
  const versionOf = (): number =>
    (db.get("SELECT coalesce(max(step), 0) AS step FROM schema_steps", []) as { step: number }).step;
  if (versionOf() > MIGRATIONS.length) {
    throw new Error(`the data was written by a newer service (schema ${versionOf()}, known ${MIGRATIONS.length})`);
  }
  while (versionOf() < MIGRATIONS.length) {
    db.transaction("write", () => {
      db.exec(`SELECT pg_advisory_xact_lock(${MIGRATORS})`);
      const next = versionOf();
      const step = MIGRATIONS[next];
      if (step === undefined) return;
      db.exec(step);
      db.run("INSERT INTO schema_steps (step) VALUES (?)", [next + 1]);
    });
  }
}
