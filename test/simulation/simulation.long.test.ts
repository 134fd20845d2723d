import { expect, it } from "vitest";
import { verdictOf } from "./seed.ts";
import { shrunk } from "./shrink.ts";
import { storyOf } from "./stories.ts";
import { LIES } from "./story.ts";

const HOUR_MS = 3_600_000;

it("the same seed gives the same story and the same trace, to the last log line and record", async () => {
  const story = { ...storyOf(7), hours: 6 };
  const [once, again] = [await verdictOf(story), await verdictOf(story)];
  expect(once.broken).toEqual([]);
  expect(once.hash).toMatch(/^[0-9a-f]{64}$/);
  expect(again.hash).toBe(once.hash);
});

it("a story has a day of booth life and twenty faults at least, in order, all from its seed", () => {
  for (let seed = 1; seed <= 200; seed += 1) {
    const story = storyOf(seed);
    expect(story).toEqual(storyOf(seed));
    expect(story.hours).toBeGreaterThanOrEqual(24);
    expect(story.faults.length).toBeGreaterThanOrEqual(20);
    const instants = story.faults.map(({ at_ms }) => at_ms);
    expect(instants).toEqual(instants.toSorted((a, b) => a - b));
    expect(Math.max(...instants)).toBeLessThan(story.hours * HOUR_MS);
  }
});

it("every lie, and a PLC that loses each share of its answers, is told by some of the first hundred seeds", () => {
  const faults = Array.from({ length: 100 }, (_, i) => storyOf(i + 1).faults).flat();
  const lies = new Set(faults.flatMap((fault) => (fault.kind === "lying" ? [fault.lie] : [])));
  const shares = new Set(faults.flatMap((fault) => (fault.kind === "lossy" ? [fault.share] : [])));
  expect([...lies].sort()).toEqual([...LIES].sort());
  expect([...shares].sort((a, b) => a - b)).toEqual([0.01, 0.05, 0.1, 0.2]);
});

it("a broken story is told with no more faults than it takes", async () => {
  const story = storyOf(3);
  const [one, other] = [story.faults[4], story.faults[17]];
  const short = await shrunk(story, ({ faults }) =>
    Promise.resolve(one !== undefined && other !== undefined && faults.includes(one) && faults.includes(other)),
  );
  expect(short.faults).toEqual([one, other]);
  expect(short.hours).toBeLessThanOrEqual(story.hours);
});
