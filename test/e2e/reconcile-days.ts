import { expect, onTestFinished } from "vitest";
import { FILTER_TYPES } from "../../src/domain/booth.ts";
import { dayBefore, type LocalDay } from "../../src/provisioning/rules/reconciliation.ts";
import type { FigureDifference, Reconciliation } from "../../src/domain/reconciliation.ts";
import { diceOf, randomScenario, type Dice } from "../scenarios/random.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { virtualSite, type VirtualSite } from "../support/virtual-site.ts";
import { MINUTE_MS, HOUR_MS, DAY_MS } from "../../src/domain/time.ts";

/** Mon 2026-03-02 06:00 in Denver; the clocks are put forward on the 8th. */
const START = Date.UTC(2026, 2, 2, 13);
const TZ = "America/Denver";

type Done = Extract<Reconciliation, { kind: "done" }>;

/** Why a figure may differ, by name. A figure that differs for another reason is wrong on one side. */
const EXPLAINED: Readonly<Record<string, (difference: FigureDifference) => boolean>> = {};

/** Days of a booth that isn't well, with a box that is restarted and a service that isn't always there. */
async function daysOf(seed: number, count: number): Promise<VirtualSite> {
  const dice = diceOf(seededRandom(seed));
  const site = virtualSite({
    folder: temporaryFolder(),
    scenario: randomScenario(dice, count * 24),
    seed,
    start: START,
    commit_interval_ms: 10 * MINUTE_MS,
    summary_interval_ms: HOUR_MS,
    heartbeat_interval_ms: HOUR_MS,
    booth: {
      poll: { fast: { poll_interval_ms: 30_000 }, slow: { poll_interval_ms: 5 * MINUTE_MS } },
      filters: Object.fromEntries(FILTER_TYPES.map((type) => [type, { limits: { minutes: 6_000, cycles: 60 } }])),
    },
  });
  onTestFinished(() => {
    expect(site.lines.filter((line) => line.startsWith("FAILED"))).toEqual([]);
    site.close();
  });
  if (dice.chance(0.5)) {
    site.plc.fault = "timeout";
    await site.start();
    await site.clock.run(dice.between(5, 90) * MINUTE_MS);
    site.plc.fault = null;
  } else await site.start();
  while (site.clock.wall() < START + count * DAY_MS) {
    await site.clock.run(dice.between(2, 12) * HOUR_MS);
    await trouble(site, dice);
  }
  await site.clock.run(3 * HOUR_MS);
  return site;
}

async function trouble(site: VirtualSite, dice: Dice): Promise<void> {
  // In whole milliseconds, as the agent's socket hands on what a person entered.
  const length = Math.round(dice.one([dice.between(0.5, 3), dice.between(4, 40), dice.between(60, 300)]) * MINUTE_MS);
  await dice.one([
    async () => {
      site.service.way.down = true;
      await site.clock.run(length);
      site.service.way.down = false;
    },
    async () => {
      site.plc.fault = dice.one(["timeout", "refused", "reset"] as const);
      await site.clock.run(length);
      site.plc.fault = null;
    },
    async () => {
      site.kill();
      await site.clock.run(length);
      await site.start();
    },
    async () => {
      await site.stop();
      await site.clock.run(length);
      await site.start();
    },
    async () => {
      const filter = dice.one(FILTER_TYPES);
      const change = { id: String(dice.between(0, 1)), filter, ago_ms: length, by: "alex" };
      let entered = false;
      void site
        .control()
        .changeFilter("booth-1", change)
        .then(() => (entered = true));
      await site.clock.runUntil(() => entered, HOUR_MS);
    },
  ])();
}

async function reconciled(site: VirtualSite, day: LocalDay): Promise<Done> {
  const control = site.control();
  const running = (): boolean => control.status().booths[0]?.reconciliation?.kind === "running";
  await site.clock.runUntil(() => !running(), 2 * HOUR_MS);
  const id = control.reconcile("booth-1", day.day);
  const now = (): Reconciliation | null => control.reconciliation("booth-1", id);
  await site.clock.runUntil(() => now()?.kind !== "running", 2 * HOUR_MS);
  const done = now();
  if (done?.kind !== "done") throw new Error(`${day.day}: ${JSON.stringify(done)}`);
  return done;
}

/** Plays the seed's story of so many days and compares each with the service. @returns the days that differ, with what does. */
export async function differingDays(seed: number, count: number): Promise<readonly object[]> {
  const began = process.cpuUsage();
  const site = await daysOf(seed, count);
  const days: Done[] = [];
  for (let day = dayBefore(TZ, site.clock.wall()); day.end > START; day = dayBefore(TZ, day.start)) {
    days.push(await reconciled(site, day));
  }
  expect(days.length).toBeGreaterThanOrEqual(count);
  const { user, system } = process.cpuUsage(began);
  const found = days.flatMap(({ day, differed, remaining }) => {
    const unexplained = remaining.filter((one) => !Object.values(EXPLAINED).some((explains) => explains(one)));
    return differed === remaining.length && unexplained.length === 0 ? [] : [{ day, differed, remaining }];
  });
  const compared = days.reduce((sum, one) => sum + one.compared, 0);
  const cpu_s = ((user + system) / 1e6).toFixed(0);
  process.stdout.write(
    `reconcile: story ${seed}, ${days.length} days, ${compared} figures, ${found.length} days differ, ${cpu_s} s of CPU\n`,
  );
  return found;
}
