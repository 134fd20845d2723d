import { closeSync, openSync, writeSync } from "node:fs";
import { expect, it } from "vitest";
import { DEFAULT_BUDGET } from "../../src/domain/storage.ts";
import { storePath } from "../../src/store/open.ts";
import { openFolder, type OpenedFolder } from "../../src/store/thread/folder.ts";
import { recordFault } from "../support/faults.ts";
import { clockRecord, reading } from "../support/records.ts";
import { allRecords, sqlOn } from "../support/store.ts";
import { memoryFolder } from "../support/temporary.ts";

const COMMITS = 300;
const EACH = 20;
/** Bytes of the header and of every small table: streams, origins, positions of boots. */
const LOST_BYTES = 8_192;

function open(folder: string): OpenedFolder {
  let names = 0;
  return openFolder(folder, DEFAULT_BUDGET, { gateway: () => "gateway-1", stream: () => `s-${++names}` });
}

function wipe(path: string): void {
  const file = openSync(path, "r+");
  writeSync(file, Buffer.alloc(LOST_BYTES), 0, LOST_BYTES, 0);
  closeSync(file);
}

it("a store that lost its first 8 KB is salvaged, and its stream still belongs to the same booth", () => {
  const folder = memoryFolder();
  const first = open(folder);
  // The second stream must not have the first name again.
  first.store.openStream("booth-0");
  const { stream } = first.store.openStream("booth-1");
  for (let take = 1; take <= COMMITS; take += 1) {
    const readings = Array.from({ length: EACH }, (_, i) =>
      reading(take * 60_000 + i * 1_000, "number", take * EACH + i),
    );
    first.store.ingest(stream, take === 1 ? [clockRecord(0), ...readings] : readings, take);
  }
  first.close();
  wipe(storePath(folder));
  const again = open(folder);
  const info = again.store.openStream("booth-1");
  expect(info.stream).toBe(stream);
  expect(info.renew_from).toBeGreaterThan(1);
  const numbers = new Set<unknown>();
  const declared = new Set<number>();
  again.store.ingest(stream, [reading(60_000_000, "after", 1)], COMMITS + 1);
  for (const record of allRecords(again.store, stream, info.oldest_seq)) {
    if (record.tag === "number") numbers.add(record.value);
    if (record.kind === "g") for (let seq = record.value.from; seq <= record.value.to; seq += 1) declared.add(seq);
  }
  again.close();
  const missing = COMMITS * EACH - numbers.size;
  const lost = Math.max(0, missing - declared.size);
  const counts = { records: COMMITS * EACH, found: numbers.size, declared: declared.size, lost };
  process.stdout.write(`${JSON.stringify(counts)}\n`);
  recordFault({ row: 6, fault: "first 8 KB gone", injected: 1, lost, doubled: 0, wrong: 0, passed: lost === 0 });
  expect(lost).toBe(0);
  expect(numbers.size).toBeGreaterThan((COMMITS * EACH) / 2);
});

it.each([
  ["names another booth", "UPDATE stream SET booth_id = 'booth-2'"],
  ["is missing", "DELETE FROM stream"],
])("a booth keeps its stream if the stream's row %s", (_how, sql) => {
  const folder = memoryFolder();
  const first = open(folder);
  const { stream } = first.store.openStream("booth-1");
  first.store.ingest(stream, [clockRecord(0), reading(1_000, "number", 1)], 1);
  first.close();
  sqlOn(folder, sql);
  const again = open(folder);
  const info = again.store.openStream("booth-1");
  expect(info.stream).toBe(stream);
  expect(again.store.read(stream, 1, 10).map(({ tag }) => tag)).toContain("number");
  again.close();
});
