import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Source } from "../../src/reports/source.ts";
import { trend } from "../../src/reports/trend.ts";
import { history } from "../../src/reports/values.ts";
import { poll, script, silence, stay, T0 } from "../support/booth.ts";
import { live, lived } from "../support/lives.ts";
import { PARAMETERS, tag } from "../support/parameters.ts";
import { sourceOf } from "../support/reader.ts";
import { HOUR_MS, MINUTE_MS } from "../../src/domain/time.ts";

const WITH_AIR = { ...PARAMETERS, tags: { ...PARAMETERS.tags, air: tag("air_temperature", "C") } };

function airOf(source: Source, window: { start: number; end: number }, minutes: number) {
  const { tags, step_ms, start } = trend(source, window, { tags: ["air"], step_ms: minutes * MINUTE_MS });
  const [air] = tags;
  return { start, step_ms, unit: air?.unit, min: air?.min ?? [], max: air?.max ?? [] };
}

describe("a tag's trend", () => {
  it("has the minimum and maximum of each step, and each value holds until the next reading", () => {
    const booth = lived(WITH_AIR, [10 * MINUTE_MS, { mode: 3, air: 20 }]);
    poll(booth, { air: 71 });
    booth.now += 1_000;
    stay(booth, 29 * MINUTE_MS, { air: 22 });
    const air = airOf(sourceOf(booth, WITH_AIR), { start: T0, end: T0 + booth.now }, 10);
    expect(air).toMatchObject({ start: T0, step_ms: 10 * MINUTE_MS, unit: "C" });
    expect(air.min).toEqual([20, 22, 22, 22]);
    expect(air.max).toEqual([20, 71, 22, 22]);
  });

  it("begins with the last value before the report window", () => {
    const booth = lived(WITH_AIR, [2 * HOUR_MS, { mode: 3, air: 20 }]);
    const air = airOf(sourceOf(booth, WITH_AIR), { start: T0 + HOUR_MS, end: T0 + 2 * HOUR_MS }, 30);
    expect(air.min).toEqual([20, 20]);
  });

  it("is null for steps without readings and after a bad reading", () => {
    const booth = lived(WITH_AIR, [HOUR_MS, { mode: 3, air: 20 }]);
    silence(booth, 2 * HOUR_MS);
    live(booth, [HOUR_MS, { mode: 1, air: 24 }], [HOUR_MS, { air: null }]);
    const air = airOf(sourceOf(booth, WITH_AIR), { start: T0, end: T0 + booth.now }, 60);
    expect(air.min).toEqual([20, null, null, 24, null]);
  });

  it("is rejected with advice if it has more steps than a chart may show", () => {
    const booth = lived(WITH_AIR, [HOUR_MS, { mode: 3 }]);
    expect(() => airOf(sourceOf(booth, WITH_AIR), { start: T0 - 48 * HOUR_MS, end: T0 + HOUR_MS }, 1)).toThrow(
      "take a longer interval",
    );
  });

  it("has the same extremes as the history, for random readings and steps", () => {
    const one = fc.record({
      ms: fc.integer({ min: 1_000, max: 20 * MINUTE_MS }),
      air: fc.integer({ min: -50, max: 400 }),
    });
    fc.assert(
      fc.property(fc.array(one, { minLength: 1, maxLength: 12 }), fc.integer({ min: 1, max: 90 }), (life, minutes) => {
        const booth = script(WITH_AIR);
        for (const { ms, air } of life) stay(booth, ms, { mode: 3, air });
        const source = sourceOf(booth, WITH_AIR);
        const window = { start: T0, end: T0 + booth.now };
        const values = [...history(source, window, ["air"])].map(({ value }) => Number(value));
        const air = airOf(source, window, minutes);
        const known = (all: readonly (number | null)[]): number[] => all.filter((value) => value !== null);
        expect(Math.min(...known(air.min))).toBe(Math.min(...values));
        expect(Math.max(...known(air.max))).toBe(Math.max(...values));
        expect(air.min).toHaveLength(Math.ceil(booth.now / (minutes * MINUTE_MS)));
      }),
      { numRuns: 200 },
    );
  });
});
