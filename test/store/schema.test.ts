import { expect, it } from "vitest";
import { setBackTo } from "../support/old-schema.ts";
import { coverage, reading } from "../support/records.ts";
import { writerIn } from "../support/store.ts";
import { temporaryFolder } from "../support/temporary.ts";

it("a store of the schema before is opened, its rows still checked by their bodies, and goes on", () => {
  const folder = temporaryFolder();
  const before = writerIn(folder);
  const { stream } = before.openStream("booth-1");
  before.ingest(stream, [{ ...reading(0, "mode", 3) }], 1);
  before.close();
  setBackTo(folder, 3);
  const after = writerIn(folder);
  expect(after.openStream("booth-1")).toMatchObject({ stream, newest_seq: 1, last_take: 1 });
  after.ingest(stream, [coverage(6_000, 9_000)], 2);
  expect(after.info(stream).newest_seq).toBe(2);
  after.close();
});
