import type { Mode } from "../domain/booth.ts";
import type { Milliseconds } from "../domain/units.ts";
import type { Window } from "../store/port.ts";
import { type BucketUnit, localBuckets } from "./buckets.ts";
import { cycleCount } from "./cycles.ts";
import { energy } from "./energy.ts";
import { zoneOf } from "./rules.ts";
import { type Source, stateOf, timeLineOf } from "./source.ts";
import { filled, utilization } from "./usage.ts";

/** Bars of one chart: a quarter by days, two days by hours. More could not be told apart on any screen. */
const MAX_PERIODS = 100;

export interface Period extends Window {
  /** Each period's modes, no_data included, add up to it. */
  readonly by_mode: Partial<Record<Mode, Milliseconds>>;
  readonly in_use_ms: Milliseconds;
  readonly working_ms: Milliseconds;
  /** 0..100; null where the period has no working time. */
  readonly utilization_pct: number | null;
  readonly cycle_count: number;
  /** null: neither a meter nor what an estimate needs. */
  readonly gas_therm: number | null;
  readonly energy_kwh: number | null;
  /** Cycles or energy of an hour that the period cuts are shared out by time: its readings have left the log. */
  readonly approximate: boolean;
}

/**
 * A window's figures by local hours, days, weeks or months, as `utilization`, `cycleCount` and `energy` have them for each: what a
 * chart of bars is drawn from. Throws a RangeError for more periods than a chart may have.
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
  const periods = slots.map((period): Period => {
    const { in_use_ms, working_ms, utilization_pct } = utilization(source, period);
    const { gas_therm, energy_kwh, ...used } = energy(source, period);
    const { cycle_count, ...counted } = cycleCount(source, period);
    const approximate = used.approximate || counted.approximate;
    return { ...period, in_use_ms, working_ms, utilization_pct, cycle_count, gas_therm, energy_kwh, approximate };
  });
  return { periods, coverage: line.coverage };
}
