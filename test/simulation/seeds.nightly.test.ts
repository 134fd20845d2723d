import { expect, it } from "vitest";
import { playSeeds, type SeedResult } from "./batch.ts";
import { recordSimulation } from "./report.ts";

const SEEDS = 1_000;

it(`${SEEDS} simulation seeds, each with at least a day of simulated booth time, break no law`, async () => {
  const results: SeedResult[] = [];
  await playSeeds({ from: 1, seeds: SEEDS, workers: 2, done: (result) => void results.push(result) });
  const report = recordSimulation(results);
  expect(report.broken).toEqual([]);
  expect(report.seeds).toBe(SEEDS);
  expect(report.booth_days).toBeGreaterThanOrEqual(SEEDS);
  expect(report.faults).toBeGreaterThanOrEqual(20 * SEEDS);
});
