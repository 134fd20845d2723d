import { readFileSync } from "node:fs";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { storePath } from "../../src/store/open.ts";
import { SCHEMA_VERSION } from "../../src/store/schema.ts";
import { storeOn } from "../support/disk-bed.ts";
import { setBackTo } from "../support/old-schema.ts";
import { clockRecord, coverage, reading } from "../support/records.ts";
import { writerIn } from "../support/store.ts";
import { temporaryFolder } from "../support/temporary.ts";

const OLDER = Array.from({ length: SCHEMA_VERSION - 1 }, (_, index) => index + 1);

describe("a store of an older schema", () => {
  it.each(OLDER)("schema %i is brought up to date with all that it holds, and goes on", (version) => {
    const folder = temporaryFolder();
    const before = writerIn(folder);
    const { stream } = before.openStream("booth-1");
    const day = [reading(0, "mode", 3), reading(5_000, "mode", 4), reading(65_000, "mode", 3)];
    before.ingest(stream, [clockRecord(0), coverage(0, 70_000), ...day], 5);
    before.ack(stream, 2);
    const records = before.read(stream, 1, 100);
    const state = structuredClone(before.state(stream));
    before.close();
    setBackTo(folder, version);
    const after = writerIn(folder);
    expect(after.openStream("booth-1")).toMatchObject({
      stream,
      acked_seq: 2,
      last_take: 5,
      newest_seq: records.length,
    });
    expect(after.read(stream, 1, 100)).toEqual(records);
    expect(after.state(stream)).toEqual(state);
    while (after.check());
    after.ingest(stream, [coverage(71_000, 90_000)], 6);
    expect(after.info(stream).newest_seq).toBe(records.length + 1);
    after.close();
    const again = storeOn(folder, 0).store;
    expect(again.openStream("booth-1").newest_seq).toBe(records.length + 1);
    again.close();
  });
});

it("an agent of the version before refuses a newer store in a sentence, and leaves the file as it is", () => {
  const folder = temporaryFolder();
  const writer = writerIn(folder);
  const { stream } = writer.openStream("booth-1");
  writer.ingest(stream, [clockRecord(0), reading(0, "mode", 3)], 1);
  writer.close();
  const db = new Database(storePath(folder));
  db.exec("CREATE TABLE of_tomorrow (one INTEGER) STRICT");
  db.pragma(`user_version = ${(SCHEMA_VERSION + 1).toString()}`);
  db.close();
  const bytes = readFileSync(storePath(folder));
  expect(() => storeOn(folder, 0)).toThrow(/install the newer agent again, or move the file away/);
  expect(readFileSync(storePath(folder)).equals(bytes)).toBe(true);
});
