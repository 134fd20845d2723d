import { expect, it } from "vitest";
import type { FilterLimits } from "../../src/domain/booth.ts";
import { filterChanges } from "../../src/api/report-records.ts";
import { summaryOf } from "../../src/reports/summary.ts";
import { sourceOf } from "../support/reader.ts";
import { enterFilter, run, script, T0 } from "../support/booth.ts";
import { live, lived } from "../support/lives.ts";
import { minutesTag, uncounted, withFilters } from "../support/parameters.ts";
import { HOUR_MS, MINUTE_MS } from "../../src/domain/time.ts";

it.each<[limits: FilterLimits, minutes: number, state: string]>([
  [{ minutes: 100 }, 79.9, "good"],
  [{ minutes: 100 }, 80, "warning"],
  [{ minutes: 100 }, 80.1, "warning"],
  [{ minutes: 100 }, 99.9, "warning"],
  [{ minutes: 100 }, 100, "overuse"],
  [{ cycles: 5 }, 70, "good"],
  [{ minutes: 100, cycles: 1 }, 70, "overuse"],
  [{ minutes: 100, days: 0.0626 }, 70, "good"],
  [{ minutes: 100, days: 0.0625 }, 70, "warning"],
])("a filter with limits of %j after %f min in use has the state %s", (limits, minutes, state) => {
  const parameters = uncounted(withFilters({ exhaust_filter: { limits } }));
  const booth = script(parameters);
  enterFilter(booth, 0);
  live(booth, [minutes * MINUTE_MS, { mode: 3 }], [5 * MINUTE_MS, { mode: 1 }]);
  const summary = summaryOf(run(booth, parameters).state, T0 + 72 * MINUTE_MS);
  expect(summary.filters.exhaust_filter?.state).toBe(state);
});

it("a filter has a state if the PLC counts its use, but not if its use is unknown", () => {
  const parameters = withFilters(
    { exhaust_filter: { limits: { minutes: 100 } }, pre_filter: { limits: { minutes: 100, cycles: 1 } } },
    { exhaust: minutesTag("exhaust_filter") },
  );
  const booth = lived(parameters, [HOUR_MS, { mode: 1, exhaust: 80 }]);
  const { filters } = summaryOf(run(booth, parameters).state, T0 + HOUR_MS);
  expect([filters.exhaust_filter?.state, filters.pre_filter?.state]).toEqual(["warning", null]);
});

it("a removed filter is marked as assumed if it was in the booth at first contact", () => {
  const parameters = withFilters(
    { exhaust_filter: { limits: { minutes: 10_000 } } },
    { exhaust: minutesTag("exhaust_filter") },
  );
  const booth = lived(parameters, [HOUR_MS, { mode: 1, exhaust: 6_480 }], [2 * HOUR_MS, { mode: 1, exhaust: 0 }]);
  live(booth, [2 * HOUR_MS, { mode: 3, exhaust: 120 }], [HOUR_MS, { mode: 1, exhaust: 0 }]);
  const source = sourceOf(booth, parameters);
  const changes = (query: Readonly<Record<string, string>>) =>
    filterChanges(source, { start: 0, end: source.now_ms }, query).data;
  expect(changes({ coverage: "true" })).toMatchObject([
    { booth_in_use_time: 6_480, assumed: true },
    { booth_in_use_time: 120 },
  ]);
  expect(changes({ coverage: "true" })[1]).not.toHaveProperty("assumed");
  expect(changes({})[0]).not.toHaveProperty("assumed");
});
