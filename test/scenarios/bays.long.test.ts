import { expect, it } from "vitest";
import { findProfile } from "../../src/config/profile.ts";
import { play } from "./play.ts";

/** Mon 2026-03-02 08:00 in Denver. */
const MORNING = Date.UTC(2026, 2, 2, 15);

it("two bays staggered by 20 min give the booth the mode of higher priority and the cycles of both bays", async () => {
  const played = await play({
    scenario: "two-bays",
    start: MORNING,
    hours: 5,
    profile: findProfile("click-two-bay"),
    booth: { bay_count: 2 },
  });
  const { figures, truth } = played;
  expect(figures.cycles.map(({ bay, result }) => [bay, result])).toEqual([
    [1, "complete"],
    [2, "complete"],
    [1, "complete"],
    [2, "complete"],
  ]);
  expect(figures.cycle_count).toBe(truth.cycle_increments);
  played.close();
});
