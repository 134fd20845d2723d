import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Broken } from "./judge.ts";
import type { Sent } from "./run.ts";
import { ENDS, NOTHING } from "./seed.ts";
import { storyOf } from "./stories.ts";
import type { Story } from "./story.ts";

/** A worker's result for one seed. */
export interface SeedResult {
  readonly seed: number;
  readonly hours: number;
  readonly faults: number;
  readonly sent: Sent;
  readonly broken: readonly Broken[];
  /**
   * The shortest story found that breaks one of the same laws; null: no law is broken, or the story ended its process.
   */
  readonly story: Story | null;
}

export interface BatchOptions {
  readonly from: number;
  readonly seeds: number;
  readonly workers: number;
  /** Called with each seed's result. */
  readonly done: (result: SeedResult) => void;
}

/** Stories produce short-lived objects: a larger young generation cuts the cost of garbage collection to a tenth. */
const WORKER_ARGS = ["--max-semi-space-size=64"];

/**
 * Plays consecutive seeds in worker processes. A seed that ends its process counts as broken, and the next seed gets a
 * new process.
 */
export async function playSeeds({ from, seeds, workers, done }: BatchOptions): Promise<void> {
  let next = from;
  const some = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const child = fork(fileURLToPath(new URL("worker.ts", import.meta.url)), { execArgv: WORKER_ARGS });
      let playing: number | null = null;
      const give = (): void => {
        playing = next < from + seeds ? next++ : null;
        if (playing === null) child.disconnect();
        else child.send(playing);
      };
      child.on("message", (result: SeedResult) => {
        done(result);
        give();
      });
      child.once("error", reject);
      child.once("exit", (code, signal) => {
        if (playing !== null)
          done(endedAt(playing, `the process that played it ended: ${signal ?? `code ${String(code)}`}`));
        resolve();
      });
      give();
    });
  const work = async (): Promise<void> => {
    while (next < from + seeds) await some();
  };
  await Promise.all(Array.from({ length: Math.min(workers, seeds) }, work));
}

function endedAt(seed: number, place: string): SeedResult {
  const { hours, faults } = storyOf(seed);
  return { seed, hours, faults: faults.length, sent: NOTHING, broken: [{ law: ENDS, places: [place] }], story: null };
}
