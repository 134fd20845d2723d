import { expect, it } from "vitest";
import { latencies } from "../../../simulators/fleet/meter.ts";

it("the fleet's latency meter computes quantiles that are at most 11 % too high", () => {
  const all = latencies();
  expect(all.quantile(0.5)).toBe(0);
  for (let ms = 1; ms <= 1_000; ms += 1) all.add(ms);
  expect(all.count).toBe(1_000);
  for (const part of [0.5, 0.9, 0.99]) {
    expect(all.quantile(part)).toBeGreaterThanOrEqual(part * 1_000 * 0.99);
    expect(all.quantile(part)).toBeLessThanOrEqual(part * 1_000 * 1.11);
  }
});
