import { expect, it } from "vitest";
import { BUGS } from "./bugs.ts";
import { verdictOf } from "./seed.ts";
import { storyOf } from "./stories.ts";

/** Each must be found within so many seeds. */
const MOST_SEEDS = 200;

it.each(BUGS)("$name is found by a story", async (bug) => {
  let found: string[] = [];
  let seed = 0;
  while (found.length === 0 && seed < MOST_SEEDS) {
    seed += 1;
    const story = storyOf(seed);
    const sound = new Set((await verdictOf(story)).broken.map(({ law }) => law));
    const { broken } = await verdictOf(story, { bug });
    found = broken.map(({ law }) => law).filter((law) => !sound.has(law));
  }
  process.stdout.write(`${bug.name}: seed ${seed}, ${found.join("; ")}\n`);
  expect(found).not.toEqual([]);
});
