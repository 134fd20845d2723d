import { expect, it } from "vitest";
import { rows } from "../../simulators/service/storage/db.ts";
import { outcomeOf, record, storedIn } from "./clock-outcome.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { virtualSite } from "../support/virtual-site.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

/** Mon 2026-03-02 08:00 in Denver: a standard cycle begins. */
const START = Date.UTC(2026, 2, 2, 15);
/** What a box without a battery shows a few seconds after its kernel began. */
const WALL_1970 = 12_000;

it.each([
  ["by NTP after 40 s, while the service can't be reached", true],
  ["by the service alone", false],
])("a box that starts in 1970 and is put right %s loses nothing and shifts nothing", async (how, ntp) => {
  const folder = temporaryFolder();
  const site = virtualSite({ folder, scenario: "standard-cycle", start: START });
  site.clock.reboot(WALL_1970);
  site.clock.setSynced(false);
  site.service.way.down = true;
  const agent = await site.start();
  await site.clock.run(40_000);
  expect(agent.status().clock).toEqual({ synced: false, offset_ms: null });
  expect(agent.status().booths[0]?.now?.mode).not.toBe("no_data");
  expect(storedIn(site)).toBe(0);
  if (ntp) {
    site.clock.stepWall(site.clock.truth() - site.clock.wall());
    site.clock.setSynced(true);
    await site.clock.run(10_000);
  }
  site.service.way.down = false;
  await site.clock.run(30 * MINUTE_MS);
  expect(agent.status().clock.synced).toBe(true);
  // Date names a second, so a clock that only the service put right is half a second off at most.
  expect(
    Math.abs((agent.status().clock.offset_ms ?? NaN) - (site.clock.truth() - site.clock.wall())),
  ).toBeLessThanOrEqual(ntp ? 0 : 500);
  const outcome = await outcomeOf(site, folder, { from: START + 3000, slack_ms: ntp ? 0 : 500 });
  record(`1970 at boot, put right ${how}`, outcome);
  expect(outcome).toEqual({ agree: true, wrong: 0, lost: 0, doubled: 0 });
});

it("the wall clock is put about by a day, an hour, a second while the booth runs: no figure moves", async () => {
  const folder = temporaryFolder();
  const site = virtualSite({ folder, scenario: "standard-cycle", start: START });
  await site.start();
  const steps = [86_400_000, -86_400_000, -3_600_000, 3_600_000, 1000, -1000, -86_400_000, 86_400_000];
  for (const step of steps) {
    await site.clock.run(4 * MINUTE_MS + 321);
    site.clock.stepWall(step);
  }
  await site.clock.run(4 * MINUTE_MS);
  const outcome = await outcomeOf(site, folder, { from: START + 3000 });
  record("wall clock put about eight times under a running agent", outcome);
  expect(outcome).toEqual({ agree: true, wrong: 0, lost: 0, doubled: 0 });
});

it("two boots that nobody ever synced, then one that is: both are sent, uncertain, between what is known", async () => {
  const folder = temporaryFolder();
  const site = virtualSite({ folder, scenario: "standard-cycle", start: START });
  await site.start();
  await site.clock.run(5 * MINUTE_MS);
  site.service.way.down = true;
  site.clock.setSynced(false);
  for (const minutes of [4, 3]) {
    site.cutPower();
    await site.clock.run(2 * MINUTE_MS);
    site.clock.reboot(WALL_1970);
    await site.start();
    await site.clock.run(minutes * MINUTE_MS);
  }
  site.cutPower();
  const acked = storedIn(site);
  await site.clock.run(2 * MINUTE_MS);
  site.clock.reboot(site.clock.truth());
  site.clock.setSynced(true);
  site.service.way.down = false;
  const synced_at = site.clock.truth();
  await site.start();
  await site.clock.run(6 * MINUTE_MS);
  const held = rows<{ n: number }>(
    site.service.db,
    "SELECT count(*) AS n FROM records WHERE quality = 'uncertain' AND kind IN ('r', 'h')",
  );
  expect(held[0]?.n).toBeGreaterThan(20);
  expect(storedIn(site)).toBeGreaterThan(acked);
  // Where the two boots stand in time can't be known: what the booth really did is compared from the sync on.
  const outcome = await outcomeOf(site, folder, { from: START + 3000, truth_from: synced_at + 3000 });
  record("two boots never synced, then a sync", outcome);
  expect(outcome).toEqual({ agree: true, wrong: 0, lost: 0, doubled: 0 });
});
