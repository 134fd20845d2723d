import { expect, it } from "vitest";
import { differingDays } from "./reconcile-days.ts";

it.each([1, 2, 3])(
  "a day with outages, filter changes and restarts: every figure of each day is the same on both sides: story %i",
  async (seed) => {
    expect(await differingDays(seed, 1)).toEqual([]);
  },
);
