import { expect, it } from "vitest";
import { expectFacts, storedFacts } from "../support/fact-trace.ts";
import { play } from "./run.ts";
import { storyOf } from "./stories.ts";

/** The first hours of a story contain its first faults. */
const HOURS = 6;

it.each([2, 4, 5, 6, 7])("the facts (derived records) of simulation seed %i match the recorded facts", async (seed) => {
  const played = await play({ ...storyOf(seed), hours: HOURS });
  try {
    const facts = played.boxes.flatMap(({ folder }) => storedFacts(folder));
    expect(facts.length).toBeGreaterThan(0);
    expectFacts(`simulated ${seed}`, facts);
  } finally {
    played.close();
  }
});
