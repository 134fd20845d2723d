import { expect, it } from "vitest";
import { seedOf } from "../support/seed.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { type VirtualSite } from "../support/virtual-site.ts";
import { tellFault } from "./clock-fault.ts";
import { play } from "./play.ts";
import { MINUTE_MS, HOUR_MS } from "../../src/domain/time.ts";

/** Mon 2026-03-02 07:40 in Denver. */
const BEFORE_WORK = Date.UTC(2026, 2, 2, 14, 40);
const SEED = seedOf("test/scenarios/clock-steps.long");
const STEPS_MS = [86_400_000, -86_400_000, HOUR_MS, -HOUR_MS, 1_000, -1_000];
const STEPS = 1_000;
const DAYS = 2;

/** A thousand steps at random instants; now and then the agent is restarted among them, or has no way to the service. */
async function putAbout(site: VirtualSite): Promise<void> {
  const random = seededRandom(SEED);
  const { clock, service } = site;
  const span = DAYS * 24 * HOUR_MS - 10 * MINUTE_MS;
  const instants = Array.from({ length: STEPS }, () => Math.floor(random.next() * span)).sort((a, b) => a - b);
  for (const [index, at] of instants.entries()) {
    await clock.run(BEFORE_WORK + at - clock.truth());
    clock.stepWall(STEPS_MS[Math.floor(random.next() * STEPS_MS.length)] ?? 0);
    if (index % 50 === 20) service.way.down = true;
    if (index % 50 === 40) service.way.down = false;
    if (index % 100 === 99) {
      if (random.next() < 0.5) site.kill();
      else await site.stop();
      await site.start();
    }
  }
  service.way.down = false;
}

it(`18: ${STEPS} steps of the wall clock by a day, an hour, a second, either way, in two working days`, async () => {
  const played = await play({
    number: 18,
    name: `${STEPS} steps of the wall clock`,
    scenario: "busy-day",
    start: BEFORE_WORK,
    hours: DAYS * 24,
    booth: { poll: { fast: { poll_interval_ms: 5_000 } } },
    during: putAbout,
    drawn: true,
    // Steps within ten minutes of each other are one incident.
    incidents: (found) => found.map(() => "clock_skew "),
  });
  expect(played.expected.length).toBeGreaterThan(100);
  tellFault("wall clock put about at 1,000 random points of two days, agent and all", { injected: STEPS }, played);
  played.close();
});
