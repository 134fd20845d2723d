import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { deriveFold } from "../../src/store/facts/fold.ts";
import { openStoreFile, storePath } from "../../src/store/open.ts";
import { find, mend } from "../../src/store/check.ts";
import { createQuarantine } from "../../src/store/log/quarantine.ts";
import { addRowSum } from "../../src/store/log/rows.ts";
import { prepareReadStatements } from "../../src/store/log/statements.ts";
import { infoOf } from "../../src/store/log/streams.ts";
import { createWriter } from "../../src/store/thread/writer.ts";
import { script, stay } from "../support/booth.ts";
import { PLAIN } from "../support/parameters.ts";
import { ingestEntries } from "../support/store.ts";
import { memoryFolder } from "../support/temporary.ts";

const STAGES = 60;
/** A short name, so that no page ends within it. It precedes every row's seq. */
const STREAM = "s-1";

/** Makes a store of many rows and facts, as bytes. */
function manyRows(folder: string): Buffer {
  const now = (): number => 0;
  const writer = createWriter({ db: openStoreFile(folder), fold: deriveFold, now, wall: now, uuid: () => STREAM });
  const booth = script(PLAIN);
  for (let i = 0; i < STAGES; i += 1) stay(booth, 60_000, { mode: i % 2 === 0 ? 3 : 4 });
  ingestEntries(writer, booth.entries, { sizes: [4] });
  writer.close();
  return readFileSync(storePath(folder));
}

/**
 * Checks whether a scan of all rows from `oldest` on and of the facts before it finds damage. Also counts the entries
 * that a search by key doesn't find.
 */
function lookedThrough(file: string, oldest_seq: number): { readonly seen: boolean; readonly hidden: number } {
  const db = new Database(file);
  try {
    addRowSum(db);
    const [row] = prepareReadStatements(db).allStreams.all();
    if (row?.stream_id !== STREAM) return { seen: true, hidden: 0 };
    const info = { ...infoOf(row), oldest_seq };
    for (const found of find(db, () => [info])) mend(db, found);
    const hiddenIn = (table: string, key: string): number => {
      const byKey = db.prepare(`SELECT 1 FROM ${table} WHERE stream_id = ? AND ${key} = ?`);
      const seqs = db.prepare<[], number>(`SELECT ${key} FROM ${table} NOT INDEXED`).pluck().all();
      return seqs.filter((seq) => byKey.get(STREAM, seq) === undefined).length;
    };
    const hidden = hiddenIn("fact", "seq") + (oldest_seq === 1 ? hiddenIn("log", "first_seq") : 0);
    return { seen: createQuarantine(db).count(STREAM) > 0, hidden };
  } catch {
    return { seen: true, hidden: 0 };
  } finally {
    db.close();
  }
}

it.each([
  ["log", 1],
  ["log and in facts whose log records are deleted", 125],
])("a check reports any damaged key in the %s if the damage hides a row", (_part, oldest) => {
  const folder = memoryFolder();
  const bytes = manyRows(folder);
  const copy = join(folder, "copy.db");
  const hidden: number[] = [];
  let seen = 0;
  for (let at = bytes.indexOf(STREAM); at >= 0; at = bytes.indexOf(STREAM, at + 1)) {
    for (const bit of [1, 2]) {
      const spoilt = Buffer.from(bytes);
      const last = at + STREAM.length - 1;
      spoilt[last] = (bytes[last] ?? 0) ^ bit;
      writeFileSync(copy, spoilt);
      const found = lookedThrough(copy, oldest);
      if (found.seen) seen += 1;
      else if (found.hidden > 0) hidden.push(at);
    }
  }
  expect(seen).toBeGreaterThan(STAGES);
  expect(hidden).toEqual([]);
});
