import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { keepStore, type KeptStore } from "../../src/store/thread/keeper.ts";
import { storePath } from "../../src/store/open.ts";
import { damagedFiles } from "../../src/store/replace.ts";
import { countingFold } from "./busy-log.ts";
import { clockRecord, reading } from "../support/records.ts";
import { temporaryFolder } from "../support/temporary.ts";

/** As the agent opens it: nobody is told of a salvage but by what the store says of itself. */
function storeIn(folder: string): KeptStore {
  const base = { fold: countingFold(50), now: () => 0, wall: () => 0, uuid: () => "s-1", ballast_bytes: 0 };
  return keepStore({ dataDir: folder, ...base });
}

it("a file whose damage shows only once a stream is opened is salvaged then, and goes on", () => {
  const folder = temporaryFolder();
  const store = storeIn(folder);
  store.openStream("booth-1");
  for (let take = 1; take <= 6; take += 1) {
    const first = take === 1 ? [clockRecord(0)] : [];
    store.ingest(
      "s-1",
      [...first, ...Array.from({ length: 20 }, (_, i) => reading(take * 60_000 + i, "number", i))],
      take,
    );
  }
  const { newest_seq } = store.info("s-1");
  store.close();
  const db = new Database(storePath(folder));
  const changed = db.prepare(
    "DELETE FROM log WHERE first_seq = (SELECT first_seq FROM log ORDER BY first_seq LIMIT 1 OFFSET 1)",
  );
  expect(changed.run().changes).toBe(1);
  db.close();

  const again = storeIn(folder);
  const info = again.openStream("booth-1");
  expect(damagedFiles(folder)).toHaveLength(1);
  expect(info.newest_seq).toBe(newest_seq);
  expect(info.renew_from).toBe(newest_seq + 1);
  const { storage } = again.ingest("s-1", [reading(600_000, "number", 1)], 7);
  expect(storage.quarantined).toBeGreaterThan(0);
  const [range] = storage.missing ?? [];
  expect(storage.missing).toHaveLength(1);
  expect((range?.[1] ?? 0) - (range?.[0] ?? 0) + 1).toBe(storage.quarantined);
  again.close();
});
