import { statSync } from "node:fs";
import { expect, it } from "vitest";
import { FILTER_TYPES } from "../../src/domain/booth.ts";
import { type Fact, KIND, type Placed } from "../../src/domain/record.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../src/domain/time.ts";
import { packFact, stateRow } from "../../src/store/log/rows.ts";
import { prepareStatements } from "../../src/store/log/statements.ts";
import { emptyState } from "../../src/derivation/state.ts";
import { openStoreFile, storePath } from "../../src/store/open.ts";
import { boxAnswer, openSource } from "../support/figures.ts";
import { PARAMETERS } from "../support/parameters.ts";
import { memoryFolder } from "../support/temporary.ts";

const YEARS = 5;
const DAYS = YEARS * 365;
const BAKES_A_DAY = 10;
const START = Date.UTC(2021, 0, 1);
const MINUTES = 60;

/** Yields the records of five years: three filters a day and ten bakes of an hour. */
function* facts(): Generator<Fact> {
  const limits = { minutes: 6_000, pressure_pa: 125 };
  for (let day = 0; day < DAYS; day += 1) {
    const start = START + day * DAY_MS;
    const stamp = { boot: "b", mono: day * DAY_MS, at: start, tag: "", quality: "good" } as const;
    for (let bake = 0; bake < BAKES_A_DAY; bake += 1) {
      const from = start + bake * 2 * HOUR_MS;
      const end = from + HOUR_MS;
      const steps = Array.from({ length: MINUTES }, (_, minute) => (minute === 0 ? 200 : (minute * 7) % 11));
      const curve = { deadband: 0.1, low: steps, high: steps };
      const parts = [{ mode: "bake", start: from, end, air: curve, metal: curve }] as const;
      const value = {
        bay: 0,
        start: from,
        end,
        tz: "UTC",
        bake_ms: HOUR_MS,
        no_data_ms: 0,
        end_reason: "run",
        parts,
      } as const;
      yield { kind: KIND.bake, ...stamp, value };
    }
    for (const filter of FILTER_TYPES) {
      const use = { use_ms: 395 * MINUTE_MS, spray_ms: 170 * MINUTE_MS, no_data_ms: 0, filter_use_ms: day * MINUTE_MS };
      const drop = { highest_pa: 101.3, median_pa: 98.2, measured_ms: 160 * MINUTE_MS };
      const of = { day: new Date(start).toISOString().slice(0, 10), start, end: start + DAY_MS, tz: "UTC", filter };
      const state = { installed_at: START, assumed: false, removed_at: null, overuse_since: null, baseline_pa: 50 };
      yield { kind: KIND.filterDay, ...stamp, value: { ...of, ...use, ...state, drop, limits } };
    }
  }
}

it("five years of records fit into the store's budget, none is lost, and a year's log sheet takes less than 200 ms of CPU", () => {
  const folder = memoryFolder();
  const db = openStoreFile(folder);
  const sql = prepareStatements(db);
  sql.addStream.run({ stream: "s-1", booth: "booth-1", at: START });
  let seq = 0;
  db.transaction(() => {
    for (const fact of facts()) {
      const placed = { ...fact, seq: ++seq, time: fact.at } as Placed<Fact>;
      sql.addFact.run(packFact("s-1", placed, { version: 1, prev: seq - 1 }));
    }
    const limits = { limits: { minutes: 6_000 } };
    const filters = { intake_filter: limits, pre_filter: limits, exhaust_filter: limits };
    const state = { ...emptyState(), seq, parameters: { ...PARAMETERS, filters } };
    sql.saveState.run(stateRow("s-1", seq, state));
    sql.moveStream.run({ stream: "s-1", newest: seq, acked: seq, take: 0 });
  })();
  db.close();
  const mb_a_year = statSync(storePath(folder)).size / 1e6 / YEARS;
  const now = START + DAYS * DAY_MS;
  const { source, close } = openSource(folder, now);
  const year = { start: new Date(now - 365 * DAY_MS).toISOString(), end: new Date(now).toISOString() };
  boxAnswer(source, "log_sheet", { ...year, start: new Date(now - DAY_MS).toISOString() });
  const before = process.cpuUsage();
  const sheet = boxAnswer(source, "log_sheet", year);
  const { user, system } = process.cpuUsage(before);
  const all = Array.from({ length: YEARS }, (_, nth) => START + nth * 365 * DAY_MS).flatMap((start) => {
    const window = { start: new Date(start).toISOString(), end: new Date(start + 365 * DAY_MS).toISOString() };
    return boxAnswer(source, "bake_records", window)["bakes"];
  });
  close();
  process.stdout.write(
    `${mb_a_year.toFixed(2)} MB a year, ${Math.round((user + system) / 1_000)} ms of CPU for a year's log sheet\n`,
  );
  expect(sheet["days"]).toHaveLength(365);
  expect(all).toHaveLength(DAYS * BAKES_A_DAY);
  // Half of the default budget of 64 MB is for facts.
  expect(mb_a_year * YEARS).toBeLessThan(64);
  expect((user + system) / 1_000).toBeLessThan(200);
});
