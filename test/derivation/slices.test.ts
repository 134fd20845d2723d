import { expect, it } from "vitest";
import type { FiltersState } from "../../src/derivation/filters/installation.ts";
import type { RecentState } from "../../src/derivation/hours.ts";
import type { Slice, Fold as TimelineFold } from "../../src/derivation/timeline/events.ts";

/** Violations that the type checker has to find: each line that it lets pass is an error of its own. */
const trespasser: Slice<FiltersState, RecentState> = {
  time({ own, seen }, { settled }) {
    own.samples = {};
    // @ts-expect-error -- the timeline's
    seen.clock.now = settled.to;
    // @ts-expect-error -- of the timeline, inside a list
    for (const bay of seen.bays) bay.live = false;
    // @ts-expect-error -- of the timeline, a list itself
    seen.pending.length = 0;
    // @ts-expect-error -- an earlier slice's, though it may be looked at
    seen.recent.ends[0] = settled.to;
    // @ts-expect-error -- an earlier slice's, not among what is its own
    own.recent = { slices: [], ends: [], increments: [] };
    // @ts-expect-error -- another slice's that it doesn't name
    own.hours = {};
  },
  bay_passed(_, { bay }) {
    // @ts-expect-error -- of the timeline, though an event tells of it
    bay.live = false;
  },
};

function timelineThatKnowsOfSlices({ state }: TimelineFold): unknown {
  // @ts-expect-error -- what slices know doesn't feed back into the timeline
  return state.filters;
}

it("a slice writes what is its own, and the timeline sees no slice: the type checker tells", () => {
  expect(Object.keys(trespasser)).toEqual(["time", "bay_passed"]);
  expect(typeof timelineThatKnowsOfSlices).toBe("function");
});
