import type { Window } from "../store/port.ts";
import { type BucketUnit, localBuckets } from "./buckets.ts";
import { cycleCount } from "./cycles.ts";
import { energy } from "./energy.ts";
import { zoneOf } from "./rules.ts";
import { type Source, stateOf, timeLineOf } from "./source.ts";
import { filled, utilization } from "./usage.ts";

/** Maximum number of bars in one chart: a quarter by days, two days by hours. More can't be distinguished on a screen. */
const MAX_PERIODS = 100;

/**
 * Returns the figures of `utilization`, `cycleCount` and `energy` by local hours, days, weeks or months, for a bar chart. Throws a
 * RangeError if there are too many periods.
 */
export function usePeriods(source: Source, window: Window, unit: BucketUnit) {
  const line = timeLineOf(source, window);
  const buckets = localBuckets(zoneOf(stateOf(source)), line.window, unit);
  if (buckets.length > MAX_PERIODS) {
    throw new RangeError(`too many ${unit}s in the window: at most ${MAX_PERIODS}; take a longer unit`);
  }
  const slots = filled(
    buckets.map((bucket) => ({ ...bucket, by_mode: {} })),
    line.spans,
  );
  const periods = slots.map((period) => {
    const { in_use_ms, working_ms, utilization_pct } = utilization(source, period);
    const { gas_therm, energy_kwh, ...used } = energy(source, period);
    const { cycle_count, ...counted } = cycleCount(source, period);
    // Set if the period includes only part of an hour whose readings are no longer in the log. Its cycles and energy are then split by
    // time.
    const approximate = used.approximate || counted.approximate;
    return { ...period, in_use_ms, working_ms, utilization_pct, cycle_count, gas_therm, energy_kwh, approximate };
  });
  return { periods, coverage: line.coverage };
}
