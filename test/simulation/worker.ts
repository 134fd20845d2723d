import { verdictOf } from "./seed.ts";
import { shrunk } from "./shrink.ts";
import { storyOf } from "./stories.ts";
import type { SeedResult } from "./batch.ts";

/** Plays each seed that it receives and returns the result, with the shortest story found if a law is broken. */
process.on("message", (seed: number) => {
  void resultOf(seed).then((result) => process.send?.(result));
});

async function resultOf(seed: number): Promise<SeedResult> {
  const story = storyOf(seed);
  const { broken, faults, sent } = await verdictOf(story);
  const done = { seed, hours: story.hours, faults, sent, broken };
  if (broken.length === 0) return { ...done, story: null };
  const laws = new Set(broken.map(({ law }) => law));
  const short = await shrunk(story, async (shorter) =>
    (await verdictOf(shorter)).broken.some(({ law }) => laws.has(law)),
  );
  return { ...done, story: short };
}
