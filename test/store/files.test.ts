import { expect, it } from "vitest";
import { checkStore } from "../../src/store/files.ts";
import { clockRecord, reading } from "../support/records.ts";
import { writerIn } from "../support/store.ts";
import { memoryFolder } from "../support/temporary.ts";

it("a check finds the store sound even if the agent merges rows during the check", () => {
  const folder = memoryFolder();
  const writer = writerIn(folder);
  const { stream } = writer.openStream("booth-1");
  let take = 0;
  const commit = (records: number): void => {
    take += 1;
    const at = take * 1_000;
    const polled = Array.from({ length: records }, (_, i) => reading(at, `tag_${i}`, take));
    writer.ingest(stream, take === 1 ? [clockRecord(0), ...polled] : polled, take);
  };
  for (let i = 0; i < 40; i += 1) commit(20);
  // Enough records for a chunk, so that rows read at the start of the check don't exist at its end.
  let looks = 0;
  const found = checkStore(folder, () => {
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
  // The next check sees the new records.
  expect(checkStore(folder, () => undefined)).toMatchObject({ sound: true, streams: [{ newest_seq: 8_801 }] });
  writer.close();
});
