import { expect, it } from "vitest";
import { rows } from "../../simulators/service/storage/db.ts";
import { LAST_INSTANT } from "../../simulators/service/base/time.ts";
import { outcomeOf, record } from "./clock-outcome.ts";
import { AHEAD, BOTH, lies, repents, SOUND, YEAR } from "./lying-time.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { virtualSite, type VirtualSite } from "../support/virtual-site.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

/** Mon 2026-03-02 08:00 in Denver: a standard cycle begins. */
const START = Date.UTC(2026, 2, 2, 15);
const DAY = 24 * 60 * MINUTE_MS;

/** The service refuses for good what is a day ahead of its own clock, as a strict one may. */
function refusesTheFuture({ service, clock }: VirtualSite): void {
  const { way } = service;
  const { answers } = way;
  way.answers = (batch, take) => {
    const columns = batch as { t0: number };
    if (columns.t0 > clock.truth() + DAY) columns.t0 = LAST_INSTANT + 1;
    return answers(batch, take);
  };
}

it("records that the service refused for their time are offered again with right times and taken, none lost, none doubled", async () => {
  const folder = temporaryFolder();
  const site = virtualSite({ folder, scenario: "standard-cycle", start: START });
  refusesTheFuture(site);
  site.clock.setSynced(false);
  let agent = await site.start();
  await site.clock.run(5 * MINUTE_MS);
  lies(site, BOTH, AHEAD);
  await site.clock.run(5 * MINUTE_MS);
  expect(agent.status().booths[0]?.time).toBeGreaterThan(START + YEAR);
  repents(site);
  site.kill();
  agent = await site.start();
  await site.clock.run(3 * MINUTE_MS);
  // What was refused stands aside with the service's reason.
  expect(site.service.way.refused.size).toBeGreaterThan(0);
  await site.clock.run(30 * MINUTE_MS);
  expect(agent.status().clock).toEqual({ synced: true, offset_ms: 0 });
  const refused = agent.status().booths[0]?.log.refused;
  const ahead = rows<{ n: number }>(
    site.service.db,
    `SELECT count(*) AS n FROM records WHERE time > ${START + YEAR / 2}`,
  );
  const outcome = await outcomeOf(site, folder, { from: START + 3000, slack_ms: 500 });
  record("records refused for a time a year ahead", outcome);
  expect(ahead[0]?.n).toBe(0);
  expect(outcome).toEqual(SOUND);
  expect(refused).toEqual({ count: 0, newest: null });
});
