import { expect, it } from "vitest";
import { BUGS } from "./bugs.ts";
import type { Bug } from "./bug.ts";
import { verdictOf } from "./seed.ts";
import { storyOf } from "./stories.ts";

/** If the bug's own seed doesn't find it, the first seeds are searched up to this one. */
const MAX_SEED = 200;

/** Returns the laws that a story breaks with the bug and keeps without it. */
async function brokenBy(bug: Bug, seed: number): Promise<readonly string[]> {
  const story = storyOf(seed);
  const { broken } = await verdictOf(story, { bug });
  if (broken.length === 0) return [];
  const sound = new Set((await verdictOf(story)).broken.map(({ law }) => law));
  return broken.map(({ law }) => law).filter((law) => !sound.has(law));
}

it.each(BUGS.map((bug) => [bug.name, bug] as const))("the simulation detects the planted bug: %s", async (_, bug) => {
  const first = Array.from({ length: MAX_SEED }, (_, index) => index + 1);
  for (const seed of [bug.seed, ...first]) {
    const found = await brokenBy(bug, seed);
    if (found.length === 0) continue;
    process.stdout.write(`${bug.name}: seed ${seed}, ${found.join("; ")}\n`);
    return;
  }
  expect.fail(`no story of the first ${MAX_SEED} seeds breaks a law`);
});
