import { expect, it } from "vitest";
import { type Db, rows } from "../../simulators/service/storage/db.ts";
import { heldSeqs } from "../../simulators/service/ingest/records.ts";
import type { Scenario } from "../../simulators/plc/model/scenario.ts";
import { busyDay } from "../../simulators/plc/scenarios/busy-day.ts";
import { play } from "./play.ts";
import { DAY_MS } from "../../src/domain/time.ts";

/** Mon 2026-03-02 00:10 in Denver. */
const START = Date.UTC(2026, 2, 2, 7, 10);

/** One cycle a day: what counts here is how long the way is closed. */
const ONE_A_DAY: Scenario = {
  ...busyDay,
  name: "one-a-day",
  beats: busyDay.beats.filter(({ at }) => String(at) < "09" || at === "17:30"),
};

it("12: three weeks without an uplink are drained, and both sides agree on every figure", async () => {
  const played = await play({
    number: 12,
    name: "uplink out for three weeks",
    scenario: ONE_A_DAY,
    start: START,
    hours: 23 * 24,
    commit_interval_ms: 600_000,
    booth: { poll: { fast: { poll_interval_ms: 120_000 }, slow: { poll_interval_ms: 600_000 } } },
    during: async (site) => {
      await site.clock.run(DAY_MS / 2);
      const before = countIn(site.service.db);
      expect(before).toBeGreaterThan(100);
      site.service.way.down = true;
      await site.clock.run(21 * DAY_MS);
      expect(countIn(site.service.db)).toBe(before);
      site.service.way.down = false;
      // Drained at once: the backlog waits for the next try to connect, not for days.
      await site.clock.run(DAY_MS / 24);
      expect(countIn(site.service.db)).toBeGreaterThan(20 * before);
    },
  });
  const { source, site, truth, figures } = played;
  const [info] = source.reader.streams();
  const [first] = heldBy(site.service.db);
  expect(first?.[0]).toBe(1);
  expect(first?.[1]).toBeGreaterThanOrEqual(info?.acked_seq ?? Infinity);
  expect(figures.cycle_count).toBe(truth.cycle_increments);
  expect(figures.cycles).toHaveLength(truth.cycles.length);
  played.close();
});

/** The seqs that the service holds of its one stream. */
function heldBy(db: Db): readonly (readonly [from: number, to: number])[] {
  const [stream] = rows<{ id: number; gateway_id: string }>(db, "SELECT id, gateway_id FROM streams");
  return stream === undefined ? [] : heldSeqs(db, stream);
}

function countIn(db: Db): number {
  return heldBy(db).reduce((sum, [from, to]) => sum + to - from + 1, 0);
}
