import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type FaultKind, storyOf } from "../../../simulators/fleet/story.ts";
import { MINUTE_MS } from "../../../src/domain/time.ts";

const KINDS: readonly FaultKind[] = ["offline", "outage", "clock", "duplicates", "fork", "replaced", "slow"];

describe("the fault story of a simulated fleet", () => {
  const options = fc.record({
    seed: fc.nat(),
    gateways: fc.integer({ min: 1, max: 1_000 }),
    length_ms: fc.integer({ min: MINUTE_MS, max: 600 * MINUTE_MS }),
    outage_ms: fc.integer({ min: 1, max: 60 * MINUTE_MS }),
  });

  it("contains every kind of fault in time order, ends before the last fifth, and depends only on the seed", () => {
    fc.assert(
      fc.property(options, (given) => {
        const story = storyOf(given);
        expect(new Set(story.map(({ kind }) => kind))).toEqual(new Set(KINDS));
        expect(story.map(({ at }) => at)).toEqual(story.map(({ at }) => at).sort((a, b) => a - b));
        for (const event of story) {
          if ("gateway" in event) expect(event.gateway).toBeLessThan(given.gateways);
          if (event.kind === "offline") expect(event.at + event.for_ms).toBeLessThanOrEqual(0.8 * given.length_ms + 1);
          expect(event.at).toBeLessThan(0.8 * given.length_ms);
        }
        expect(storyOf(given)).toEqual(story);
      }),
      { numRuns: 60 },
    );
  });

  it("gives each gateway at most one fault if there are enough gateways", () => {
    const story = storyOf({ seed: 3, gateways: 200, length_ms: 60 * MINUTE_MS, outage_ms: 0 });
    const struck = story.flatMap((event) => ("gateway" in event ? [event.gateway] : []));
    expect(new Set(struck).size).toBe(struck.length);
    expect(story.some(({ kind }) => kind === "outage")).toBe(false);
  });
});
