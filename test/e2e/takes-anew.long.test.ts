import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { storePath } from "../../src/store/open.ts";
import { openBox } from "../simulation/box.ts";
import { doubledAtService } from "../simulation/laws/delivered.ts";
import { openLedger } from "../simulation/ledger.ts";
import { openPlant } from "../simulation/outputs/plant.ts";
import { heldRecords } from "../simulation/records.ts";
import { goodUplink } from "../simulation/uplink.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

const START = Date.UTC(2026, 2, 2, 15);

/** Its own row, where it stands how far takes were committed, doesn't fit its checksum any more. */
function spoilStreamRow(folder: string): void {
  const db = new Database(storePath(folder));
  db.exec("UPDATE stream SET last_take = last_take + 1");
  db.close();
}

it("a process that died between a commit and the tail's trimming, and then the stream's row was lost: nothing is taken in twice", async () => {
  const random = seededRandom(9);
  const box = openBox({
    site: { scenario: "busy-day", start: START, seed: 9, commit_interval_ms: 5 * MINUTE_MS },
    ledger: openLedger(),
    uplink: goodUplink(),
    bug: null,
    random: () => random.next(),
    trace: () => undefined,
    took: () => undefined,
    plant: (at) => openPlant([], at),
    outputs_seed: 1,
  });
  const { clock, service } = box.site;
  box.start();
  await clock.run(20 * MINUTE_MS);
  let killed = 0;
  box.at({ port: "ingest", nth: 1, when: "after" }, 60 * MINUTE_MS, () => {
    killed += 1;
    box.kill(5_000);
    spoilStreamRow(box.folder);
  });
  await clock.run(60 * MINUTE_MS);
  expect([killed, box.counts.starts]).toEqual([1, 2]);
  const held = heldRecords(service.db);
  expect(new Set(held.map(({ stream }) => stream)).size).toBe(2);
  expect(doubledAtService(held)).toEqual([]);
  box.close();
});
