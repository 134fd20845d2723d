import { expect, it } from "vitest";
import { rows } from "../../simulators/service/storage/db.ts";
import { outcomeOf, record } from "./clock-outcome.ts";
import { AHEAD, BOTH, lies, repents, SOUND, YEAR } from "./lying-time.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { virtualSite } from "../support/virtual-site.ts";
import { SECOND_MS, MINUTE_MS } from "../../src/domain/time.ts";

/** Mon 2026-03-02 08:00 in Denver: a standard cycle begins. */
const START = Date.UTC(2026, 2, 2, 15);

it.each([
  ["a lie in the first answer of a boot, for ten seconds", 0, 10],
  ["a lie for ten minutes, over both ways", 5, 10 * 60],
])(
  "%s: the box finds back, and nothing of the stretch is lost, counted twice, or left a year ahead",
  async (what, minutes, seconds) => {
    const folder = temporaryFolder();
    const site = virtualSite({ folder, scenario: "standard-cycle", start: START });
    site.clock.setSynced(false);
    if (minutes === 0) lies(site, BOTH, AHEAD);
    const agent = await site.start();
    await site.clock.run(minutes * MINUTE_MS);
    lies(site, BOTH, AHEAD);
    await site.clock.run(seconds * SECOND_MS);
    expect(agent.status().booths[0]?.time).toBeGreaterThan(START + YEAR);
    repents(site);
    await site.clock.run(10 * MINUTE_MS);
    expect(agent.status().clock).toEqual({ synced: true, offset_ms: 0 });
    expect(agent.status().booths[0]?.time).toBe(site.clock.truth());
    await site.clock.run(10 * MINUTE_MS);
    const ahead = rows<{ n: number }>(
      site.service.db,
      `SELECT count(*) AS n FROM records WHERE time > ${START + YEAR / 2}`,
    );
    expect(ahead[0]?.n).toBe(0);
    const outcome = await outcomeOf(site, folder, { from: START + 3000, slack_ms: 500 });
    record(what, outcome, 46);
    expect(outcome).toEqual(SOUND);
  },
);

it.each([
  ["the process", false],
  ["the box, whose kernel is put right by NTP", true],
])("a year ahead is committed, then %s is started anew: it finds back", async (what, reboots) => {
  const folder = temporaryFolder();
  const site = virtualSite({ folder, scenario: "standard-cycle", start: START });
  site.clock.setSynced(false);
  await site.start();
  await site.clock.run(5 * MINUTE_MS);
  lies(site, BOTH, AHEAD);
  await site.clock.run(5 * MINUTE_MS);
  repents(site);
  if (reboots) {
    await site.stop();
    site.clock.reboot(site.clock.truth());
    site.clock.setSynced(true);
  } else site.kill();
  const agent = await site.start();
  expect(agent.status().booths[0]?.time).toBeGreaterThan(START + YEAR);
  await site.clock.run(10 * MINUTE_MS);
  expect(agent.status().clock).toEqual({ synced: true, offset_ms: 0 });
  expect(agent.status().booths[0]?.time).toBe(site.clock.truth());
  await site.clock.run(10 * MINUTE_MS);
  const outcome = await outcomeOf(site, folder, { from: START + 3000, slack_ms: 500 });
  record(`a year ahead is committed, then ${what} is started anew`, outcome, 46);
  expect(outcome).toEqual(SOUND);
});
