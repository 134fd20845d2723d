import { copyFileSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import Database from "better-sqlite3";
import { storePath } from "../../src/store/open.ts";
import { textOf } from "../../src/store/pack-text.ts";
import { unpackLog, type LogRow } from "../../src/store/rows.ts";
import { migrate } from "../../src/store/schema.ts";

type Cells = Record<string, unknown>;

/** Turns a store that nobody has open into one of an older schema, as the agent of then would have written it. */
export function setBackTo(folder: string, version: number): void {
  const old = join(folder, "old");
  mkdirSync(old, { recursive: true });
  const from = new Database(storePath(folder), { readonly: true });
  const to = new Database(storePath(old));
  migrate(to, version);
  for (const name of tablesOf(to)) {
    const columns = columnsOf(to, name).filter((column) => columnsOf(from, name).includes(column));
    const add = to.prepare(`INSERT INTO ${name} (${columns.join()}) VALUES (${columns.map((c) => `@${c}`).join()})`);
    for (const row of from.prepare<[], Cells>(`SELECT * FROM ${name}`).all()) add.run(asOf(version, name, row));
  }
  from.close();
  to.pragma("journal_mode = WAL");
  to.close();
  for (const suffix of ["-wal", "-shm"]) rmSync(storePath(folder) + suffix, { force: true });
  copyFileSync(storePath(old), storePath(folder));
  rmSync(old, { recursive: true });
}

/** The row under the checksum that it had then. */
function asOf(version: number, table: string, row: Cells): Cells {
  const body = String(row["body"]);
  if (table === "log" && version < 6) return asText(version, row);
  if (version >= 5) return row;
  const sum = (...names: string[]): number => crc32(JSON.stringify(names.map((name) => row[name])));
  if (table === "stream") return { ...row, sum: sum("stream_id", "booth_id", "newest_seq", "acked_seq", "last_take") };
  if (version < 4) return { ...row, whole: 0, crc: crc32(body) };
  if (table !== "fact") return row;
  const whole = { ...row, whole: 1 };
  const cells = ["stream_id", "seq", "kind", "start_ms", "end_ms", "time"].map((name) => row[name]);
  return { ...whole, crc: crc32(body, crc32(JSON.stringify([...cells, 1]))) };
}

/** Log rows were JSON texts. */
function asText(version: number, row: Cells): Cells {
  // A row of the log, as the database gave it.
  const packed = row as unknown as LogRow;
  const body = packed.packed === null ? packed.body : textOf(unpackLog(packed));
  const { stream_id, first_seq, last_seq, boot, mono0, t0, placed } = packed;
  const cells = [stream_id, first_seq, last_seq, boot, mono0, t0, placed, 1];
  const sum = version < 4 ? undefined : crc32(JSON.stringify(cells));
  return { ...row, packed: null, body, whole: version < 4 ? 0 : 1, crc: crc32(body, sum) };
}

function tablesOf(db: Database.Database): string[] {
  return db
    .prepare<[], { name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table'")
    .all()
    .map((t) => t.name);
}

function columnsOf(db: Database.Database, table: string): string[] {
  return db
    .prepare<[string], { name: string }>("SELECT name FROM pragma_table_info(?)")
    .all(table)
    .map((c) => c.name);
}
