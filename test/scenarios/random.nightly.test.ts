import { expect, it } from "vitest";
import { recordRandom, playSeed } from "./random-run.ts";

/** One seed: SCENARIO_SEED=n. Else as many as the minutes allow, from SCENARIO_FROM on. */
const ONE = process.env["SCENARIO_SEED"];
const FROM = Number(process.env["SCENARIO_FROM"] ?? 1);
const MINUTES = Number(process.env["SCENARIO_MINUTES"] ?? 10);

it("random days: gateway and service agree, and every transition lies within a poll of the truth", async () => {
  const broken: { seed: number; why: string }[] = [];
  const until = performance.now() + MINUTES * 60_000;
  let seeds = 0;
  let booth_hours = 0;
  const from = ONE === undefined ? FROM : Number(ONE);
  for (let seed = from; seed === from || (ONE === undefined && performance.now() < until); seed += 1) {
    try {
      booth_hours += await playSeed(seed);
    } catch (error) {
      broken.push({ seed, why: whyOf(error) });
    }
    seeds += 1;
  }
  if (ONE === undefined) recordRandom({ from, seeds, booth_hours: Math.round(booth_hours), broken });
  expect(broken).toEqual([]);
});

/** Vitest's own message names an array without its content. */
function whyOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const actual = "actual" in error ? JSON.stringify(error.actual) : "";
  return `${error.message} ${actual}`.slice(0, 3_000);
}
