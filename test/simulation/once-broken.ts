import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { verdictOf } from "./seed.ts";
import type { Story } from "./story.ts";
import { HOUR_MS } from "../../src/domain/time.ts";

const STORIES = new URL("once-broken/", import.meta.url);

/** A story's cost depends on its number of polls. Longer stories run at night. */
const SHORT_POLLS = 6_500;

/**
 * Plays stories that broke a law once. They are stored completely, because the story of a seed changes with the
 * generator.
 */
export function onceBroken(length: "short" | "long"): void {
  // The stories as the simulation printed them.
  const stories = readdirSync(STORIES).map((name) => {
    return { name, story: JSON.parse(readFileSync(new URL(name, STORIES), "utf8")) as Story };
  });
  const isMeant = ({ story: { hours, poll_ms } }: { readonly story: Story }): boolean =>
    (hours * HOUR_MS) / poll_ms <= SHORT_POLLS === (length === "short");
  it.each(stories.filter(isMeant).map(({ name, story }) => [name, story] as const))(
    "the simulation story %s, which once broke a law of the simulation, breaks none",
    async (_, story) => {
      expect((await verdictOf(story)).broken).toEqual([]);
    },
  );
}
