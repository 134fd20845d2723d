import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { deriveFold } from "../../src/store/derive-fold.ts";
import { openStoreFile, storePath } from "../../src/store/open.ts";
import { createQuarantine } from "../../src/store/quarantine.ts";
import { addRowSum } from "../../src/store/schema.ts";
import { prepareReadStatements } from "../../src/store/statements.ts";
import { infoOf } from "../../src/store/streams.ts";
import { createWriter } from "../../src/store/writer.ts";
import { clockRecord, reading } from "../support/records.ts";
import { memoryFolder } from "../support/temporary.ts";

const COMMITS = 120;
/** Short, so that no page ends within it. It stands before every row's seq. */
const STREAM = "s-1";

/** A store of many rows, as bytes. */
function manyRows(folder: string): Buffer {
  const now = (): number => 0;
  const writer = createWriter({ db: openStoreFile(folder), fold: deriveFold, now, wall: now, uuid: () => STREAM });
  const { stream } = writer.openStream("booth-1");
  for (let take = 1; take <= COMMITS; take += 1) {
    const polled = [reading(take * 1_000, "mode", take), reading(take * 1_000, "level", take)];
    writer.ingest(stream, take === 1 ? [clockRecord(0), ...polled] : polled, take);
  }
  writer.close();
  return readFileSync(storePath(folder));
}

/** Whether a look through all rows of the store finds something wrong, and how many rows a search by their keys doesn't find. */
function lookedThrough(file: string): { readonly seen: boolean; readonly hidden: number } {
  const db = new Database(file);
  try {
    addRowSum(db);
    const [row] = prepareReadStatements(db).allStreams.all();
    if (row === undefined) return { seen: true, hidden: 0 };
    const quarantine = createQuarantine(db);
    quarantine.checkFrom(infoOf(row), row.oldest_seq, () => false);
    const hiddenIn = (table: string, key: string): number => {
      const byKey = db.prepare(`SELECT 1 FROM ${table} WHERE stream_id = ? AND ${key} = ?`);
      const seqs = db.prepare<[], number>(`SELECT ${key} FROM ${table} NOT INDEXED`).pluck().all();
      return seqs.filter((seq) => byKey.get(row.stream_id, seq) === undefined).length;
    };
    const hidden = hiddenIn("log", "first_seq") + hiddenIn("fact", "seq");
    return { seen: quarantine.count(row.stream_id) > 0, hidden };
  } catch {
    return { seen: true, hidden: 0 };
  } finally {
    db.close();
  }
}

it("whichever row's key is hurt: a look through the store finds that, or every row is found by its key", () => {
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
      const found = lookedThrough(copy);
      if (found.seen) seen += 1;
      else if (found.hidden > 0) hidden.push(at);
    }
  }
  expect(seen).toBeGreaterThan(COMMITS);
  expect(hidden).toEqual([]);
});
