import { describe, expect, it } from "vitest";
import { filterUse, forecastOf, weeklyUse } from "../../src/reports/filter-use.ts";
import type { Source } from "../../src/reports/source.ts";
import { enterFilter, script, type Script, stay, T0 } from "../support/booth.ts";
import { live } from "../support/lives.ts";
import { tag, withFilters } from "../support/parameters.ts";
import { sourceOf } from "../support/reader.ts";
import { DAY_MS, HOUR_MS } from "../../src/domain/time.ts";

const WEEK = 7 * DAY_MS;
const NOW = T0 + 100 * DAY_MS;

const USE = { minutes: 3_000, limit_minutes: 6_000, limit_days: null, installed_at: NOW - 30 * DAY_MS };

describe("the forecast of the day on which a filter reaches its limit", () => {
  it.each([
    ["at the mean weekly use, with the busiest and the quietest week as bounds", [1_000, 500, 1_500, 1_000], [3, 2, 6]],
    ["a single day if all weeks have the same use", [600], [5, 5, 5]],
  ])("is %s", (_, pace, [at = 0, earliest = 0, latest = 0]) => {
    expect(forecastOf(USE, pace, NOW)).toEqual({
      at: NOW + at * WEEK,
      earliest: NOW + earliest * WEEK,
      latest: NOW + latest * WEEK,
      by: "use",
    });
  });

  it("has no latest day after a week without use, and is null without a full week of data or without use", () => {
    expect(forecastOf(USE, [1_000, 0], NOW)).toMatchObject({
      at: NOW + 6 * WEEK,
      earliest: NOW + 3 * WEEK,
      latest: null,
    });
    expect(forecastOf(USE, [], NOW)).toBeNull();
    expect(forecastOf(USE, [0, 0], NOW)).toBeNull();
    expect(forecastOf({ ...USE, minutes: null }, [1_000], NOW)).toBeNull();
    expect(forecastOf({ ...USE, limit_minutes: 10_000_000 }, [1], NOW)).toBeNull();
  });

  it("is the day of the filter's age limit if that day comes before the limit by use", () => {
    const forecast = forecastOf({ ...USE, limit_days: 37 }, [1_000], NOW);
    expect(forecast).toEqual({ at: NOW + WEEK, earliest: NOW + WEEK, latest: NOW + WEEK, by: "age" });
  });
});

const PARAMETERS = withFilters(
  { exhaust_filter: { limits: { minutes: 6_000, pressure_pa: 100 } } },
  { drop: tag("filter_pressure", "Pa", { filter: "exhaust_filter" }) },
);

/** Days with 4 h of spray each; the filter is changed on the fifth. */
function lived(days: number): Script {
  const booth = script(PARAMETERS);
  for (let day = 0; day < days; day += 1) {
    stay(booth, 8 * HOUR_MS, { mode: 0, drop: 0 });
    live(booth, [4 * HOUR_MS, { mode: 3, drop: 30 + day }], [12 * HOUR_MS, { mode: 0, drop: 0 }]);
    if (day !== 4) continue;
    enterFilter(booth, booth.now, { ago_ms: 0, id: "the-change", by: "Dana" });
  }
  return booth;
}

describe("the use of a filter", () => {
  const booth = lived(16);
  const source: Source = sourceOf(booth, PARAMETERS);
  const [exhaust] = filterUse(source, { start: T0, end: T0 + booth.now });

  it("is reported in minutes and percent of the limit, with the use per week and a forecast", () => {
    expect(exhaust).toMatchObject({ filter: "exhaust_filter", minutes: 11 * 240, limit_minutes: 6_000, percent: 44 });
    expect(weeklyUse(source)).toEqual([7 * 240, 7 * 240]);
    const left = (6_000 - 11 * 240) / (7 * 240);
    expect(exhaust?.forecast?.at).toBeCloseTo(source.now_ms + left * WEEK, -1);
    expect(exhaust?.forecast?.by).toBe("use");
  });

  it("grows from day to day, and starts from 0 after a filter change", () => {
    const points = exhaust?.points ?? [];
    const change = points.findIndex(({ minutes }) => minutes === null);
    const after = points.slice(change + 1);
    expect(after[0]).toEqual({ at: T0 + 5 * DAY_MS, minutes: 0 });
    expect(after.map(({ minutes }) => minutes)).toEqual(Array.from({ length: 12 }, (_, day) => day * 240));
    expect(points.slice(0, change).map(({ minutes }) => minutes)).toEqual([0, 240, 480, 720, 960, 1200]);
  });

  it("includes the highest pressure drop of each day in use", () => {
    expect(exhaust?.pressure).toMatchObject({ tag: "drop", unit: "Pa" });
    expect(exhaust?.pressure?.days.map(({ max }) => max)).toEqual(Array.from({ length: 16 }, (_, day) => 30 + day));
  });
});
