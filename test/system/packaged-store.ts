import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { memoryFolder, temporaryFolder } from "../support/temporary.ts";
import type { Seq } from "../../src/domain/units.ts";
import type { Container } from "./container.ts";
import { STATE, UNIT } from "./packaged-site.ts";

/** Access to the store of a packaged agent. */

/** Copies the store as it is now to a folder outside the container. */
export function copyOfStore(box: Container): string {
  box.sh("rm -rf /root/backup && mkdir /root/backup && booth-gateway store backup /root/backup/store.db");
  const folder = join(temporaryFolder(), "backup");
  cpSync(box.inside("/root/backup"), folder, { recursive: true });
  return folder;
}

/**
 * Stops the agent, changes a copy of the store in a folder outside the container, copies it back, and starts the agent.
 */
export function onStoppedStore(box: Container, change: (folder: string) => void): void {
  box.sh(`systemctl stop ${UNIT}`);
  const folder = memoryFolder();
  const theirs = join(box.inside(STATE), "store.db");
  const ours = join(folder, "store.db");
  // If a stop was cut short, the newest records are still in the write-ahead log.
  const ahead = existsSync(`${theirs}-wal`);
  cpSync(theirs, ours);
  if (ahead) cpSync(`${theirs}-wal`, `${ours}-wal`);
  inStore(folder, []);
  change(folder);
  // Writing in place keeps the file's owner.
  writeFileSync(theirs, readFileSync(ours));
  if (ahead) writeFileSync(`${theirs}-wal`, "");
  box.sh(`systemctl start --no-block ${UNIT}`);
}

/** Runs the SQL statements in the folder's store. */
export function inStore(folder: string, statements: readonly string[]): void {
  const db = new Database(join(folder, "store.db"));
  for (const statement of statements) db.exec(statement);
  db.pragma("wal_checkpoint(TRUNCATE)");
  db.close();
}

const PART_BYTES = 100;

/** Flips a bit in the file within the row that holds a reading. Returns the number of records in that row. */
export function rotRow(folder: string, seq: Seq): number {
  const path = join(folder, "store.db");
  const { packed, records } = rowOf(path, seq);
  const bytes = readFileSync(path);
  // Parts of the packed row, which differ from row to row. At least one part is within a single page. Free pages may
  // contain a copy of the row, in which a flipped bit has no effect.
  const parts = [1, 2, 3, 4].map((nth) => packed.subarray(nth * PART_BYTES, (nth + 1) * PART_BYTES));
  for (const part of parts) {
    for (let at = bytes.indexOf(part); at >= 0; at = bytes.indexOf(part, at + 1)) {
      bytes[at] = (bytes[at] ?? 0) ^ 1;
      writeFileSync(path, bytes);
      if (!rowOf(path, seq).packed.equals(packed)) return records;
    }
  }
  throw new Error(`the file doesn't show where record ${seq} is`);
}

function rowOf(path: string, seq: Seq): { readonly packed: Buffer; readonly records: number } {
  const db = new Database(path, { readonly: true });
  try {
    const sql = "SELECT packed, last_seq - first_seq + 1 AS records FROM log WHERE first_seq <= ? AND last_seq >= ?";
    const row = db.prepare<[Seq, Seq], { packed: Buffer; records: number }>(sql).get(seq, seq);
    if (row === undefined) throw new Error(`no row holds record ${seq}`);
    return row;
  } finally {
    db.close();
  }
}
