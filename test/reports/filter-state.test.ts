import { expect, it } from "vitest";
import type { FilterLimits } from "../../src/domain/booth.ts";
import { summaryOf } from "../../src/reports/summary.ts";
import { put, run, script, stay, T0 } from "../support/booth.ts";
import { minutesTag, uncounted, withFilters } from "../support/parameters.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

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
])("limits %j at %f min in use: %s", (limits, minutes, state) => {
  const parameters = uncounted(withFilters({ exhaust_filter: { limits } }));
  const booth = script(parameters);
  const value = { filter: "exhaust_filter", source: "technician", installed_at: T0, flagged: false } as const;
  put(booth, { kind: "f", value });
  stay(booth, minutes * MINUTE, { mode: 3 });
  stay(booth, 5 * MINUTE, { mode: 1 });
  const summary = summaryOf(run(booth, parameters).state, T0 + 72 * MINUTE);
  expect(summary.filters.exhaust_filter?.state).toBe(state);
});

it("a filter whose use nobody knows has no state, one that the PLC counts has", () => {
  const parameters = withFilters(
    { exhaust_filter: { limits: { minutes: 100 } }, pre_filter: { limits: { minutes: 100, cycles: 1 } } },
    { exhaust: minutesTag("exhaust_filter") },
  );
  const booth = script(parameters);
  stay(booth, HOUR, { mode: 1, exhaust: 80 });
  const { filters } = summaryOf(run(booth, parameters).state, T0 + HOUR);
  expect([filters.exhaust_filter?.state, filters.pre_filter?.state]).toEqual(["warning", null]);
});
