import { expect, it } from "vitest";
import { differingDays } from "./reconcile-days.ts";

it("a day with outages, filter changes and restarts: every figure of each day is the same on both sides", async () => {
  expect(await differingDays(1, 1)).toEqual([]);
});
