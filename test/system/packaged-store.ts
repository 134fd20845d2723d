import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { memoryFolder, temporaryFolder } from "../support/temporary.ts";
import type { Seq } from "../../src/domain/units.ts";
import type { Container } from "./container.ts";
import { STATE, UNIT } from "./packaged-site.ts";

/** The store of a packaged agent. */

/** A folder of ours with the store as it is now. */
export function copyOfStore(box: Container): string {
  box.sh("rm -rf /root/backup && mkdir /root/backup && booth-gateway store backup /root/backup/store.db");
  const folder = join(temporaryFolder(), "backup");
  cpSync(box.inside("/root/backup"), folder, { recursive: true });
  return folder;
}

/** Does something with the store while the agent is stopped, in a folder of ours, and puts it back. The agent runs on. */
export function onStoppedStore(box: Container, change: (folder: string) => void): void {
  box.sh(`systemctl stop ${UNIT}`);
  const folder = memoryFolder();
  const theirs = join(box.inside(STATE), "store.db");
  const ours = join(folder, "store.db");
  // A stop that was cut short leaves the newest in the write-ahead log.
  const ahead = existsSync(`${theirs}-wal`);
  cpSync(theirs, ours);
  if (ahead) cpSync(`${theirs}-wal`, `${ours}-wal`);
  inStore(folder, []);
  change(folder);
  // Its owner stays.
  writeFileSync(theirs, readFileSync(ours));
  if (ahead) writeFileSync(`${theirs}-wal`, "");
  box.sh(`systemctl start --no-block ${UNIT}`);
}

/** Carries the statements out in the folder's store. */
export function inStore(folder: string, statements: readonly string[]): void {
  const db = new Database(join(folder, "store.db"));
  for (const statement of statements) db.exec(statement);
  db.pragma("wal_checkpoint(TRUNCATE)");
  db.close();
}

const PART_BYTES = 100;

/** Flips a bit of the row that holds a reading, in the file itself. Returns how many records the row has. */
export function rotRow(folder: string, seq: Seq): number {
  const path = join(folder, "store.db");
  const { packed, records } = rowOf(path, seq);
  const bytes = readFileSync(path);
  // Parts of its texts, which differ from row to row. At least one part lies in one page. Free pages may hold the row as well: a bit of
  // theirs changes nothing.
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
