import { describe, expect, it } from "vitest";
import { cycleCount } from "../../src/reports/cycles.ts";
import { filterMaintenances } from "../../src/reports/filters.ts";
import { overuse } from "../../src/reports/overuse.ts";
import { durationByMode, frequencyByMode } from "../../src/reports/usage.ts";
import type { Source } from "../../src/reports/source.ts";
import { enterFilter, run, script, T0 } from "../support/booth.ts";
import { live, lived } from "../support/lives.ts";
import { PLAIN, uncounted, withFilters } from "../support/parameters.ts";
import { readerOf, sourceOf } from "../support/reader.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../src/domain/time.ts";

/** Spray from minute 10 to 50, idle before and after: one cycle without a bake with its END at minute 50. */
function sprayed(): Source {
  const booth = lived(PLAIN, [10 * MINUTE_MS, { mode: 1 }], [40 * MINUTE_MS, { mode: 3 }], [HOUR_MS, { mode: 1 }]);
  return sourceOf(booth, PLAIN);
}

describe("a report window", () => {
  const source = sprayed();
  const from = (start: number) => ({ start: T0 + start, end: T0 + 2 * HOUR_MS });
  const to = (end: number) => ({ start: T0, end: T0 + end });

  it.each([
    [10 * MINUTE_MS - 1, 1],
    [10 * MINUTE_MS, 1],
    [10 * MINUTE_MS + 1, 0],
  ])("from %i ms on counts %i start(s) of a stage that starts at minute 10", (start, count) => {
    expect(frequencyByMode(source, from(start)).by_mode.spray ?? 0).toBe(count);
  });

  it.each([
    [10 * MINUTE_MS - 1, 0],
    [10 * MINUTE_MS, 0],
    [10 * MINUTE_MS + 1, 1],
  ])("until %i ms counts %i start(s) of a stage that starts at minute 10", (end, count) => {
    expect(frequencyByMode(source, to(end)).by_mode.spray ?? 0).toBe(count);
    expect(durationByMode(source, to(end)).by_mode.spray ?? 0).toBe(Math.max(0, end - 10 * MINUTE_MS));
  });

  it.each([
    [50 * MINUTE_MS - 1, 1],
    [50 * MINUTE_MS, 1],
    [50 * MINUTE_MS + 1, 0],
  ])("from %i ms on counts %i cycle(s) if a cycle ends at minute 50", (start, count) => {
    expect(cycleCount(source, from(start)).cycle_count).toBe(count);
  });

  it.each([
    [50 * MINUTE_MS - 1, 0],
    [50 * MINUTE_MS, 0],
    [50 * MINUTE_MS + 1, 1],
  ])("until %i ms counts %i cycle(s) if a cycle ends at minute 50", (end, count) => {
    expect(cycleCount(source, to(end)).cycle_count).toBe(count);
  });
});

describe("booth overuse", () => {
  // The limit is reached at the end of the cycle, or a millisecond from it.
  it.each([
    [40 * MINUTE_MS - 1, 1, 1],
    [40 * MINUTE_MS, 0, 0],
    [40 * MINUTE_MS + 1, 0, 0],
  ])("after 40 min in use with a limit of %i ms is %i ms and %i cycle(s)", (limit_ms, ms, cycles) => {
    const parameters = uncounted(withFilters({ exhaust_filter: { limits: { minutes: limit_ms / MINUTE_MS } } }));
    const booth = script(parameters);
    enterFilter(booth, 0);
    live(booth, [40 * MINUTE_MS, { mode: 3 }], [HOUR_MS, { mode: 1 }]);
    const source = sourceOf(booth, parameters);
    const found = overuse(source, { start: T0, end: T0 + 2 * HOUR_MS });
    expect(found).toMatchObject({ overuse_ms: ms, overuse_cycles: cycles });
  });
});

describe("a filter's estimated lifetime", () => {
  const parameters = withFilters({ exhaust_filter: { limits: { minutes: 1400 } } });
  const booth = script(parameters);
  enterFilter(booth, 0);
  live(booth, [70 * MINUTE_MS, { mode: 3 }], [HOUR_MS, { mode: 1 }]);
  const reader = readerOf(run(booth, parameters));

  it.each([
    [7 * DAY_MS - 1, null, null, null],
    // 70 min in 7 days: the limit is reached after 140 days, of which 80 % are nominal and 20 % maintenance.
    [7 * DAY_MS, 140, 112, 28],
    [14 * DAY_MS, 280, 224, 56],
  ])("at an age of %i ms is %s days, of which %s are nominal and %s are maintenance", (...row) => {
    const [age, estimated_days, nominal_days, maintenance_days] = row;
    const source = { reader, stream: "s", now_ms: T0 + age };
    const [filter] = filterMaintenances(source, { start: T0, end: T0 + 30 * DAY_MS });
    expect(filter).toMatchObject({ estimated_days, nominal_days, maintenance_days });
  });
});
