import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { storePath } from "../../src/store/open.ts";
import { salvage } from "../../src/store/repair/salvage.ts";
import { clockRecord, reading } from "../support/records.ts";
import { writerIn } from "../support/store.ts";
import { memoryFolder } from "../support/temporary.ts";

/** A store whose last commit stands in its write-ahead log alone, as a kill leaves it; the stream's row there is hurt or not. */
function killedStore(isHurt: boolean): string {
  const folder = memoryFolder();
  const first = writerIn(folder);
  const { stream } = first.openStream("booth-1");
  first.ingest(stream, [clockRecord(0), reading(1_000, "mode", 1)], 1);
  first.close();
  const second = writerIn(folder);
  second.openStream("booth-1");
  second.ingest(stream, [reading(2_000, "mode", 3)], 2);
  const copy = memoryFolder();
  copyFileSync(storePath(folder), storePath(copy));
  const wal = readFileSync(`${storePath(folder)}-wal`);
  second.close();
  // The log's rows don't name the booth.
  for (let at = wal.indexOf("booth-1"); isHurt && at >= 0; at = wal.indexOf("booth-1", at + 1)) wal[at] = 0x42;
  writeFileSync(join(copy, "store.db-wal"), wal);
  return copy;
}

it.each([
  ["as it was last", false, 2],
  ["only as it was before the newest records", true, 0],
])("a salvage that finds a stream's row %s keeps the take number or marks it as unknown", (_how, isHurt, take) => {
  const folder = killedStore(isHurt);
  salvage({ dataDir: folder, wall: () => 0 });
  const writer = writerIn(folder);
  // Known to be less than it was, it would have the tail's entries taken in a second time.
  expect(writer.openStream("booth-1")).toMatchObject({ newest_seq: 3, last_take: take });
  writer.close();
});
