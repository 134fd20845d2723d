import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { recordFault } from "../support/faults.ts";
import type { SeedResult } from "./batch.ts";
import { fieldCounts } from "./field/state.ts";
import type { Sent } from "./run.ts";
import { storyOf } from "./stories.ts";
import type { Fault, Story } from "./story.ts";

const HOURS_A_DAY = 24;

/** The content of test/results/simulation.json. */
export interface SimulationReport {
  readonly seeds: number;
  /** Number of whole simulated days. */
  readonly booth_days: number;
  readonly faults: number;
  readonly sent: Sent;
  /** An entry for each law that a seed broke, with the shortest story found. */
  readonly broken: readonly {
    readonly seed: number;
    readonly law: string;
    readonly places: readonly string[];
    readonly story: Story | null;
  }[];
}

export function recordSimulation(results: readonly SeedResult[]): SimulationReport {
  const sum = (of: (result: SeedResult) => number): number => results.reduce((total, result) => total + of(result), 0);
  const report = {
    seeds: results.length,
    booth_days: Math.floor(sum(({ hours }) => hours) / HOURS_A_DAY),
    faults: sum(({ faults }) => faults),
    sent: {
      chunks: sum(({ sent }) => sent.chunks),
      batches: sum(({ sent }) => sent.batches),
      refused_chunks: sum(({ sent }) => sent.refused_chunks),
      outputs: sum(({ sent }) => sent.outputs),
      told: sum(({ sent }) => sent.told),
      field: fieldCounts((kind) => sum(({ sent }) => sent.field[kind])),
    },
    broken: results.flatMap(({ seed, story, broken }) =>
      broken.map(({ law, places }) => ({ seed, law, places, story })),
    ),
  };
  const folder = fileURLToPath(new URL("../results", import.meta.url));
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}/simulation.json`, `${JSON.stringify(report, null, 2)}\n`);
  for (const [row, kinds] of MATRIX_ROWS) recordRow(row, kinds, results);
  return report;
}

/** Rows of the fault matrix that stories prove, with the kinds of their faults. */
const MATRIX_ROWS: readonly (readonly [row: number, kinds: readonly Fault["kind"][]])[] = [
  [14, ["cable"]],
  [37, ["clock_step", "no_time"]],
  [46, ["lying"]],
];

/** Enters the number of faults of these kinds in the stories. Every story with a broken law counts as wrong. */
function recordRow(row: number, kinds: readonly Fault["kind"][], results: readonly SeedResult[]): void {
  const struck = results.map(({ seed, broken }) => ({
    isWrong: broken.length > 0,
    count: storyOf(seed).faults.filter(({ kind }) => kinds.includes(kind)).length,
  }));
  const injected = struck.reduce((sum, { count }) => sum + count, 0);
  const wrong = struck.filter(({ isWrong, count }) => isWrong && count > 0).length;
  const fault = `${kinds.join(", ")} in stories`;
  recordFault({ row, fault, injected, lost: 0, doubled: 0, wrong, passed: wrong === 0 });
}
