import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { freshStore, tablesOf } from "./store-under-test.ts";
import { type Db, rows } from "../../../simulators/service/storage/db.ts";
import { openDb } from "../../../simulators/service/storage/open.ts";
import { barOf } from "../../../simulators/service/demo/bar.ts";
import { DEMO_ACCOUNT, seedDemo } from "../../../simulators/service/demo/seed-demo.ts";
import { demoStory } from "../../../simulators/service/demo/stories.ts";
import { boothFigures } from "../../../simulators/service/figures/booth.ts";
import { cycleCount } from "../../../simulators/service/figures/summary.ts";
import { createBooth } from "../../../simulators/plc/model/booth.ts";
import { oracle } from "../../../simulators/service/admin/oracle.ts";
import { DAY_MS } from "../../../src/domain/time.ts";

const NOW = Date.UTC(2026, 10, 3, 12);
const SIZE = { seed: 1, booths: 4, days: 9, now: NOW };

/** Hashes all of the database except the ids of keys, which are random. */
function hashOf(db: Db): string {
  const tables = tablesOf(db);
  const hash = createHash("sha256");
  for (const name of tables) {
    const found = rows<Record<string, unknown>>(db, `SELECT * FROM "${name}"`);
    const shown = name === "api_keys" ? found.map((row) => ({ ...row, id: "" })) : found;
    for (const text of shown.map((row) => JSON.stringify(row)).sort()) hash.update(`${name} ${text}\n`);
  }
  return hash.digest("hex");
}

async function demo(options: Partial<typeof SIZE> = {}): Promise<Db> {
  const db = openDb(freshStore());
  await seedDemo(db, { ...SIZE, ...options });
  return db;
}

describe("the demo data", () => {
  it("is identical byte for byte for the same seed, and differs for another seed", async () => {
    const first = await demo();
    const again = await demo();
    const other = await demo({ seed: 2 });
    expect(hashOf(again)).toBe(hashOf(first));
    expect(hashOf(other)).not.toBe(hashOf(first));
  });

  it("is complete if seeding is interrupted and then continued", async () => {
    const stopping = new AbortController();
    const db = openDb(freshStore());
    const onBooth = (): void => stopping.abort(new Error("stopped"));
    await expect(seedDemo(db, { ...SIZE, onBooth, signal: stopping.signal })).rejects.toThrow("stopped");
    expect(oracle(db)).toHaveLength(1);
    await seedDemo(db, SIZE);
    expect(hashOf(db)).toBe(hashOf(await demo()));
    expect(await seedDemo(db, SIZE)).toBe(0);
  });

  it("gives every booth the figures of its simulation", async () => {
    const db = await demo();
    const window = { start: NOW - 9 * DAY_MS, end: NOW };
    const found = rows<{ id: string; tz: string }>(
      db,
      "SELECT b.id, f.tz FROM booths b JOIN facilities f ON f.id = b.facility_id ORDER BY b.serial_number",
    );
    expect(found).toHaveLength(SIZE.booths);
    for (const [nth, { id, tz }] of found.entries()) {
      const scenario = demoStory(nth, { seed: 1, tz, days: 9 });
      const truth = createBooth({ scenario, seed: 1 + nth, start: window.start }).truth(window.start, NOW);
      const figures = boothFigures(db, id, NOW);
      expect(truth.cycle_increments).toBeGreaterThan(0);
      expect(cycleCount(figures, window)).toBe(truth.cycle_increments);
      expect(figures.maintenance.length).toBe(nth === 3 ? 0 : 1);
    }
    expect(rows(db, "SELECT 1 FROM accounts WHERE name = ?", DEMO_ACCOUNT)).toHaveLength(1);
    expect(oracle(db).every(({ gaps, count, acked_seq }) => gaps.length === 0 && acked_seq === count)).toBe(true);
  });

  it("is seeded with a progress bar that counts booths and records", () => {
    expect(barOf(0, 50, 0)).toBe("[>                        ] 0 of 50 booths, 0 records");
    expect(barOf(10, 50, 129_455)).toBe("[=====>                   ] 10 of 50 booths, 129,455 records");
    expect(barOf(50, 50, 647_278)).toBe("[=========================] 50 of 50 booths, 647,278 records");
  });
});
