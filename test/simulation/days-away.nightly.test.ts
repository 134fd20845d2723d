import { expect, it } from "vitest";
import { verdictOf } from "./seed.ts";
import { storyOf } from "./stories.ts";
import type { Story } from "./story.ts";
import { HOUR_MS } from "../../src/domain/time.ts";

const KINDS = ["plain", "home_assistant", "sparkplug"] as const;
const MOST_SEEDS = 200;

function storyWith(kind: (typeof KINDS)[number]): Story {
  for (let seed = 1; seed <= MOST_SEEDS; seed += 1) {
    const story = storyOf(seed);
    const output = story.outputs?.[0];
    if (output?.kind !== kind) continue;
    const away = { kind: "output_away", how: "refused", output: output.name } as const;
    return { ...story, hours: 80, faults: [{ ...away, at_ms: 3 * HOUR_MS, for_ms: 60 * HOUR_MS }] };
  }
  throw new Error(`no story of the first ${MOST_SEEDS} begins with an output of kind ${kind}`);
}

it.each(KINDS)("an output of kind %s loses no reading in a sixty-hour outage of its broker", async (kind) => {
  const { broken, sent } = await verdictOf({ ...storyWith(kind), is_compared: false });
  expect(broken).toEqual([]);
  expect(sent.told).toBeGreaterThan(1_000);
});
