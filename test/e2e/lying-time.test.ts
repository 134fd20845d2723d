import { expect, it } from "vitest";
import { outcomeOf, record } from "./clock-outcome.ts";
import { AHEAD, BOTH, lies, repents, SOUND, YEAR, type Lie } from "./lying-time.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { virtualSite } from "../support/virtual-site.ts";
import { SECOND_MS, MINUTE_MS } from "../../src/domain/time.ts";

/** Mon 2026-03-02 08:00 in Denver: a standard cycle begins. */
const START = Date.UTC(2026, 2, 2, 15);

const LIES: readonly (readonly [string, Lie])[] = [
  ["a year ahead", AHEAD],
  ["a year back", (time) => time - YEAR],
  ["4e15", () => 4e15],
  ["nothing that is a number", () => NaN],
];

it("ten seconds of any lie, and a hundred of a year ahead: no time moves, though the box has no clock that anybody vouches for", async () => {
  const folder = temporaryFolder();
  const site = virtualSite({ folder, scenario: "standard-cycle", start: START });
  site.clock.setSynced(false);
  const agent = await site.start();
  await site.clock.run(5 * MINUTE_MS);
  expect(agent.status().clock).toEqual({ synced: true, offset_ms: 0 });
  const told = [...LIES.map(([, lie]) => ({ lie, seconds: 10 })), { lie: AHEAD, seconds: 100 }];
  for (const { lie, seconds } of told) {
    lies(site, BOTH, lie);
    await site.clock.run(seconds * SECOND_MS);
    expect(agent.status().booths[0]?.time).toBe(site.clock.truth());
    repents(site);
    await site.clock.run(3 * MINUTE_MS);
    expect(agent.status().clock).toEqual({ synced: true, offset_ms: 0 });
  }
  const outcome = await outcomeOf(site, folder, { from: START + 3000, slack_ms: 500 });
  record("the service says four wrong times for 10 s each, and one for 100 s", outcome, 46);
  expect(outcome).toEqual(SOUND);
});

it.each([
  ["whatever the service says for 20 min where the kernel's clock is synchronised", true, BOTH],
  ["whatever acks say for 20 min where HTTP says the truth", false, ["ack"] as const],
])("%s: no time moves, and status doesn't say synchronised", async (what, kernel, ways) => {
  const folder = temporaryFolder();
  const site = virtualSite({ folder, scenario: "standard-cycle", start: START });
  site.clock.setSynced(kernel);
  const agent = await site.start();
  await site.clock.run(5 * MINUTE_MS);
  lies(site, ways, AHEAD);
  await site.clock.run(20 * MINUTE_MS);
  expect(agent.status().booths[0]?.time).toBe(site.clock.truth());
  expect(agent.status().clock).toEqual({ synced: false, offset_ms: 0 });
  repents(site);
  await site.clock.run(2 * MINUTE_MS);
  expect(agent.status().clock).toEqual({ synced: true, offset_ms: 0 });
  const outcome = await outcomeOf(site, folder, { from: START + 3000, slack_ms: 500 });
  record(what, outcome, 46);
  expect(outcome).toEqual(SOUND);
});
