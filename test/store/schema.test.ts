import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { crc32 } from "node:zlib";
import { storePath } from "../../src/store/open.ts";
import { coverage, reading } from "../support/records.ts";
import { writerIn } from "../support/store.ts";
import { temporaryFolder } from "../support/temporary.ts";

it("a store of the schema before is opened, its rows still checked by their bodies, and goes on", () => {
  const folder = temporaryFolder();
  const before = writerIn(folder);
  const { stream } = before.openStream("booth-1");
  before.ingest(stream, [{ ...reading(0, "mode", 3) }], 1);
  before.close();
  const db = new Database(storePath(folder));
  const rows = db.prepare<[], { first_seq: number; body: string }>("SELECT first_seq, body FROM log").all();
  for (const { first_seq, body } of rows) {
    db.prepare("UPDATE log SET crc = ? WHERE first_seq = ?").run(crc32(body), first_seq);
  }
  db.exec(`DELETE FROM state; DROP TABLE quarantine;
    ALTER TABLE log DROP COLUMN whole; ALTER TABLE fact DROP COLUMN whole; ALTER TABLE state DROP COLUMN whole;
    ALTER TABLE stream DROP COLUMN sum`);
  db.pragma("user_version = 3");
  db.close();
  const after = writerIn(folder);
  expect(after.openStream("booth-1")).toMatchObject({ stream, newest_seq: 1, last_take: 1 });
  after.ingest(stream, [coverage(6_000, 9_000)], 2);
  expect(after.info(stream).newest_seq).toBe(2);
  after.close();
});
