import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { storePath } from "../../src/store/open.ts";
import { salvage } from "../../src/store/repair/salvage.ts";
import { clockRecord, reading } from "../support/records.ts";
import { writerIn } from "../support/store.ts";
import { memoryFolder } from "../support/temporary.ts";

/**
 * Makes a store whose last commit is only in its write-ahead log, as after a kill. If `isHurt`, the stream's row in the
 * log is damaged.
 */
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
  // The log's other rows don't contain the booth's name.
  for (let at = wal.indexOf("booth-1"); isHurt && at >= 0; at = wal.indexOf("booth-1", at + 1)) wal[at] = 0x42;
  writeFileSync(join(copy, "store.db-wal"), wal);
  return copy;
}

it.each([
  ["keeps the take number if it finds the newest row of the stream", false, 2],
  ["marks the take number as unknown if it finds only an older row of the stream", true, 0],
])("a salvage %s", (_how, isHurt, take) => {
  const folder = killedStore(isHurt);
  salvage({ dataDir: folder, wall: () => 0 });
  const writer = writerIn(folder);
  // If the take number were too low, the tail's entries would be ingested twice.
  expect(writer.openStream("booth-1")).toMatchObject({ newest_seq: 3, last_take: take });
  writer.close();
});
