import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { storePath } from "../../src/store/open.ts";
import { checkStore } from "../../src/store/files.ts";
import { SCHEMA_VERSION } from "../../src/store/schema.ts";
import { storeOn } from "./disk-bed.ts";
import { clockRecord, reading } from "../support/records.ts";
import { writerIn } from "../support/store.ts";
import { memoryFolder, temporaryFolder } from "../support/temporary.ts";

/** Makes a closed store with some records. */
function madeStore(): string {
  const folder = temporaryFolder();
  const writer = writerIn(folder);
  const { stream } = writer.openStream("booth-1");
  writer.ingest(stream, [clockRecord(0), reading(0, "mode", 3)], 1);
  writer.close();
  return folder;
}

it.each([
  ["newer", SCHEMA_VERSION + 1, "CREATE TABLE of_tomorrow (one INTEGER) STRICT", /install the newer agent again, or/],
  [
    "older",
    SCHEMA_VERSION - 2,
    "DROP TABLE dead_letter",
    /knows 9 alone: install the older agent again until all is delivered/,
  ],
])("a store whose schema is %s is rejected with advice, and its file stays unchanged", (_, version, ...how) => {
  const folder = madeStore();
  const [statement, sentence] = how;
  const db = new Database(storePath(folder));
  db.exec(statement);
  db.pragma(`user_version = ${version}`);
  db.close();
  const bytes = readFileSync(storePath(folder));
  expect(() => storeOn(folder, 0)).toThrow(sentence);
  expect(readFileSync(storePath(folder)).equals(bytes)).toBe(true);
  expect(checkStore(folder, () => undefined)).toMatchObject({
    sound: false,
    problems: [expect.stringMatching(sentence)],
    streams: [],
  });
});

it.each([0, SCHEMA_VERSION - 1, SCHEMA_VERSION + 1])(
  "a store with the known tables but the schema version %i counts as damaged, and is salvaged completely",
  (version) => {
    const folder = madeStore();
    const db = new Database(storePath(folder));
    db.pragma(`user_version = ${version}`);
    db.close();
    const { store } = storeOn(folder, 0);
    const { stream } = store.openStream("booth-1");
    expect(store.read(stream, 1, 10).map(({ kind }) => kind)).toEqual(expect.arrayContaining(["t", "r"]));
    store.close();
  },
);

it("a new store has exactly the same tables as a store from an earlier release", () => {
  const now = madeStore();
  const before = memoryFolder();
  const bytes = readFileSync(join(import.meta.dirname, "../fixtures/store-9.db.gz"));
  writeFileSync(storePath(before), gunzipSync(bytes));
  const [made, kept] = [now, before].map((folder) => {
    const db = new Database(storePath(folder), { readonly: true });
    const tables = db.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name").all();
    db.close();
    return tables;
  });
  expect(made).toEqual(kept);
});
