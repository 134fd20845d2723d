import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { seededRandom } from "../support/seeded-random.ts";
import { type VirtualSite } from "../support/virtual-site.ts";
import { expectedSpans, isUndecided, united } from "./expected.ts";
import { play, resultOf, type Played } from "./play.ts";
import { diceOf, randomScenario, type Dice } from "./random.ts";
import { HOUR_MS } from "../../src/domain/time.ts";

/** Mon 2026-03-02 06:00 in Denver. */
const START = Date.UTC(2026, 2, 2, 13);
const POLL_MS = 1_000;
/** A cycle this near to an outage may be seen otherwise than it was. */
const NEAR_MS = 31 * 60_000;
/** Quiet enough for a restart of the agent: no change of the booth in so long. */
const QUIET_MS = 20_000;

/** Plays the seed's story. @returns the hours of booth life. */
export async function playSeed(seed: number): Promise<number> {
  const dice = diceOf(seededRandom(seed));
  const hours = Math.round(dice.between(10, 40));
  const scenario = randomScenario(dice, hours - 1);
  const played = await play({
    number: 0,
    scenario,
    seed,
    start: START,
    hours,
    unlisted: true,
    skip: (booth, window) =>
      united(booth.truth(window.start, window.end).outages).some((gap) => isUndecided(booth, gap)),
    during: (site) => troubles(site, dice, START + hours * HOUR_MS),
  });
  try {
    judgeCycles(played);
  } finally {
    played.close();
  }
  return hours;
}

/** What happens to the box and its uplink on the way. */
async function troubles(site: VirtualSite, dice: Dice, end: number): Promise<void> {
  for (;;) {
    await site.clock.run(dice.between(0.5, 8) * HOUR_MS);
    if (site.clock.wall() > end) return;
    if (dice.chance(0.4)) {
      site.service.way.down = true;
      await site.clock.run(dice.between(0.1, 4) * HOUR_MS);
      site.service.way.down = false;
    } else if (dice.chance(0.5)) site.service.way.lose_acks = 3;
    else await restart(site, dice);
  }
}

async function restart(site: VirtualSite, dice: Dice): Promise<void> {
  const isQuiet = (): boolean => {
    const now = site.clock.wall();
    const state = site.booth.stateAt(site.clock.wall());
    const since = now - Math.max(state.mode_since, site.booth.stateAt(now - QUIET_MS).mode_since);
    const before = site.booth.entries(now - QUIET_MS, now + QUIET_MS);
    return before.length === 0 && since > QUIET_MS && state.powered && state.cable;
  };
  while (!isQuiet()) await site.clock.run(5_000);
  if (dice.chance(0.5)) site.kill();
  else await site.stop();
  await site.clock.run(dice.between(0.1, 5) * 1_000);
  await site.start();
}

/** Cycles far from any outage are as they were, to a poll. */
function judgeCycles({ site, window, truth, figures }: Played): void {
  const gaps = expectedSpans(site.booth, window).filter(({ mode }) => mode === "no_data");
  const outages = [...truth.outages, ...gaps];
  const far = ({ start, end }: { start: number; end: number }): boolean =>
    outages.every((gap) => gap.end < start - NEAR_MS || gap.start > end + NEAR_MS);
  const real = truth.cycles.filter(far);
  const derived = figures.cycles.filter(far);
  expect(derived.map(resultOf)).toEqual(real.map(resultOf));
  derived.forEach(({ start, end }, index) => {
    expect(Math.abs(start - (real[index]?.start ?? NaN))).toBeLessThanOrEqual(POLL_MS);
    expect(Math.abs(end - (real[index]?.end ?? NaN))).toBeLessThanOrEqual(POLL_MS);
  });
}

export interface RandomRun {
  readonly from: number;
  readonly seeds: number;
  readonly booth_hours: number;
  readonly broken: readonly { readonly seed: number; readonly why: string }[];
}

/** Writes test/results/scenarios-random.json. */
export function recordRandom(run: RandomRun): void {
  const folder = fileURLToPath(new URL("../results", import.meta.url));
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}/scenarios-random.json`, `${JSON.stringify(run, null, 2)}\n`);
}
