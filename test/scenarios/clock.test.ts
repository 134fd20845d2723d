import { expect, it } from "vitest";
import { rows } from "../../simulators/service/db.ts";
import { recordFault } from "../support/faults.ts";
import { seedOf } from "../support/seed.ts";
import { seededRandom, type VirtualSite } from "../support/virtual-site.ts";
import { play, type Played } from "./play.ts";

/** Mon 2026-03-02 08:00 in Denver. */
const MORNING = Date.UTC(2026, 2, 2, 15);
/** Mon 2026-03-02 07:40 in Denver. */
const BEFORE_WORK = Date.UTC(2026, 2, 2, 14, 40);
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** What a box without a battery shows a few seconds after its kernel began. */
const WALL_1970 = 12_000;
const SEED = seedOf("test/scenarios/clock");

/** What every story of a clock is counted by; `play` has held each transition against the model's own time by then. */
function tellFault(fault: string, injected: number, { site, source, figures, truth }: Played): void {
  const [info] = source.reader.streams();
  const seqs = rows<{ seq: number }>(site.service.db, "SELECT seq FROM records ORDER BY seq").map(({ seq }) => seq);
  const doubled = seqs.length - new Set(seqs).size;
  const lost = (info?.acked_seq ?? 0) - new Set(seqs.filter((seq) => seq <= (info?.acked_seq ?? 0))).size;
  const wrong = Math.abs(figures.cycle_count - truth.cycle_increments);
  const passed = lost === 0 && doubled === 0 && wrong === 0;
  recordFault({ row: 37, fault, injected, lost, doubled, wrong, passed });
  expect({ lost, doubled, wrong }).toEqual({ lost: 0, doubled: 0, wrong: 0 });
}

it("18: a box that wakes in 1970 and is put right by NTP after 40 s: no figure knows of it", async () => {
  const played = await play({
    number: 18,
    name: "1970, NTP after 40 s",
    scenario: "standard-cycle",
    start: MORNING,
    hours: 2.5,
    arrange: ({ clock }) => {
      clock.reboot(WALL_1970);
      clock.setSynced(false);
    },
    during: async ({ clock, service }) => {
      service.way.down = true;
      await clock.run(40_000);
      clock.stepWall(clock.truth() - clock.wall());
      clock.setSynced(true);
      await clock.run(10_000);
      service.way.down = false;
    },
  });
  tellFault("scenario 18: 1970 at boot, stepped 56 years by NTP after 40 s", 1, played);
  played.close();
});

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

it(`18: ${STEPS.toString()} steps of the wall clock by a day, an hour, a second, either way, in two working days`, async () => {
  const played = await play({
    number: 18,
    name: `${STEPS.toString()} steps of the wall clock`,
    scenario: "busy-day",
    start: BEFORE_WORK,
    hours: DAYS * 24,
    booth: { poll: { fast: { poll_interval_ms: 5_000 } } },
    during: putAbout,
  });
  expect(played.expected.length).toBeGreaterThan(100);
  tellFault("wall clock put about at 1,000 random points of two days, agent and all", STEPS, played);
  played.close();
});
