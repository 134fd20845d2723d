import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { inspectStore } from "../../src/store/inspect.ts";
import { storePath } from "../../src/store/open.ts";
import { setBackTo } from "../support/old-schema.ts";
import { clockRecord, reading } from "../support/records.ts";
import { writerIn } from "../support/store.ts";
import { memoryFolder } from "../support/temporary.ts";

it("a store that an agent of before kept states left is looked through as it is", () => {
  const folder = memoryFolder();
  const writer = writerIn(folder);
  const { stream } = writer.openStream("booth-1");
  writer.ingest(stream, [clockRecord(0), reading(1_000, "mode", 3)], 1);
  writer.close();
  setBackTo(folder, 6);
  expect(inspectStore(folder, () => undefined)).toMatchObject({
    sound: true,
    problems: [],
    streams: [{ newest_seq: 2 }],
  });
});

it.each([
  [5, "the store has schema 5, of an older agent: start this one once, which brings it forward, then look again"],
  [99, "the store has schema 99, of a newer agent: look through it with that agent"],
])("a store of schema %i, which this agent can't look through, is called so, with what to do", (schema, problem) => {
  const folder = memoryFolder();
  const writer = writerIn(folder);
  writer.openStream("booth-1");
  writer.close();
  if (schema === 5) setBackTo(folder, schema);
  const db = new Database(storePath(folder));
  db.pragma(`user_version = ${schema.toString()}`);
  db.close();
  expect(inspectStore(folder, () => undefined)).toMatchObject({ sound: false, problems: [problem], streams: [] });
});

it("a store is sound while the agent puts its rows together in the midst of the look", () => {
  const folder = memoryFolder();
  const writer = writerIn(folder);
  const { stream } = writer.openStream("booth-1");
  let take = 0;
  const commit = (records: number): void => {
    take += 1;
    const at = take * 1_000;
    const polled = Array.from({ length: records }, (_, i) => reading(at, `tag_${i.toString()}`, take));
    writer.ingest(stream, take === 1 ? [clockRecord(0), ...polled] : polled, take);
  };
  for (let i = 0; i < 40; i += 1) commit(20);
  // Enough for a chunk: the rows that the look has begun with are gone after it.
  let looks = 0;
  const found = inspectStore(folder, () => {
    looks += 1;
    if (looks === 1) for (let i = 0; i < 40; i += 1) commit(200);
  });
  expect(looks).toBeGreaterThan(0);
  expect(take).toBe(80);
  expect(found).toMatchObject({
    sound: true,
    problems: [],
    streams: [{ newest_seq: 801, damaged_rows: 0, missing: 0 }],
  });
  // The next look sees what came.
  expect(inspectStore(folder, () => undefined)).toMatchObject({ sound: true, streams: [{ newest_seq: 8_801 }] });
  writer.close();
});
