import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { storeFiles } from "../../../src/store/files.ts";
import { storePath } from "../../../src/store/open.ts";
import { storeOn } from "../disk-bed.ts";
import { clockRecord, reading } from "../../support/records.ts";
import { memoryFolder } from "../../support/temporary.ts";

const QUIET = (): void => undefined;

/** Makes a store with five readings, of which the service has rejected two. */
function withRefused(): string {
  const folder = memoryFolder();
  const { store } = storeOn(folder, 0);
  store.openStream("booth-1");
  store.ingest("s-1", [clockRecord(0), ...[1, 2, 3, 4, 5].map((at) => reading(at * 1_000, "number", at))], 1);
  store.setAside("s-1", [
    { seq: 3, reason: "no such tag", declare: true },
    { seq: 5, reason: "no such unit", declare: false },
  ]);
  store.close();
  return folder;
}

function refusedIn(folder: string) {
  const { store } = storeOn(folder, 0);
  store.openStream("booth-1");
  const { count, newest } = store.refused("s-1");
  store.ingest("s-1", [reading(60_000, "number", 6)], 2);
  const gaps = store.read("s-1", 1, 100).flatMap((record) => (record.kind === "g" ? [record.value] : []));
  store.close();
  return { count, seq: newest?.seq, reason: newest?.reason, gaps: gaps.map(({ from, to }) => [from, to]) };
}

const WHOLE = { count: 2, seq: 5, reason: "no such unit", gaps: [[3, 3]] };

it("rejected records survive a salvage, and a gap record still declares them", () => {
  const folder = withRefused();
  storeFiles(() => 0).salvage(folder, QUIET);
  expect(refusedIn(folder)).toEqual(WHOLE);
});

it("an export contains rejected records", () => {
  const folder = withRefused();
  const other = memoryFolder();
  const file = join(folder, "copy");
  storeFiles(() => 0).export(folder, file, QUIET);
  storeFiles(() => 0).import(other, file, QUIET);
  expect(refusedIn(other)).toEqual(WHOLE);
});

it("a damaged rejected record is dropped, and other rejected records are kept", () => {
  const folder = withRefused();
  const db = new Database(storePath(folder));
  db.prepare("UPDATE dead_letter SET reason = 'no such uniT' WHERE seq = 5").run();
  db.close();
  expect(refusedIn(folder)).toEqual({ count: 1, seq: 3, reason: "no such tag", gaps: [[3, 3]] });
});
