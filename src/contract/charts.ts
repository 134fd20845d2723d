import type { CycleFact } from "../domain/record.ts";
import { type Mode, wireNameOf, MODES_LISTED } from "../domain/booth.ts";
import type { EpochMs, Milliseconds } from "../domain/units.ts";
import { intervalParam, type Query, QueryError, tagsParam } from "./reports-query.ts";
import { minutesOf } from "./time.ts";

/** Shapes of what the box's own page draws charts from; the service has no such operations. Times in epoch ms, as in /status. */

/** Lines of one chart. */
const MAX_TAGS = 12;

/** `tags`, comma-separated, and by steps of how many minutes (`interval`). */
export function trendParams(query: Query): { readonly tags: string[]; readonly step_ms: Milliseconds } {
  const tags = tagsParam(query, { needed: true });
  if (tags.length > MAX_TAGS) throw new QueryError(`tags names over ${MAX_TAGS} tags`);
  return { tags, step_ms: intervalParam(query) };
}

interface TrendFigures {
  readonly start: EpochMs;
  readonly step_ms: Milliseconds;
  readonly end: EpochMs;
  readonly trends: readonly {
    readonly tag: string;
    readonly unit: string;
    readonly min: readonly (number | null)[];
    readonly max: readonly (number | null)[];
  }[];
}

/** By column: the nth value of each list is that of the nth step from `start` on. */
export function trendBody({ trends, ...grid }: TrendFigures) {
  return { ...grid, tags: trends };
}

interface PeriodFigures {
  readonly start: EpochMs;
  readonly end: EpochMs;
  readonly by_mode: Readonly<Partial<Record<Mode, Milliseconds>>>;
  readonly in_use_ms: Milliseconds;
  readonly working_ms: Milliseconds;
  readonly utilization_pct: number | null;
  readonly cycle_count: number;
  readonly gas_therm: number | null;
  readonly energy_kwh: number | null;
  readonly approximate: boolean;
}

/** The names of `utilization_stats` and `duration_by_mode`; null for energy that nothing counts. */
export function periodItem(period: PeriodFigures) {
  const { start, end, by_mode, in_use_ms, working_ms, utilization_pct, cycle_count, gas_therm, energy_kwh } = period;
  const modes = MODES_LISTED.flatMap((mode) => {
    const ms = by_mode[mode] ?? 0;
    return ms > 0 ? [{ mode: wireNameOf(mode), duration: minutesOf(ms) }] : [];
  });
  return {
    start,
    end,
    modes,
    utilization_minutes: minutesOf(in_use_ms),
    working_minutes: minutesOf(working_ms),
    utilization_pct: rounded(utilization_pct),
    cycle_count,
    gas_usage: rounded(gas_therm),
    kwh_usage: rounded(energy_kwh),
    ...(period.approximate ? { approximate: true } : {}),
  };
}

/** To 4 decimals, as figures of energy and percentages are written. */
function rounded(value: number | null): number | null {
  return value === null ? null : Math.round(value * 10_000) / 10_000;
}

export function cycleItem({ start, end, result, counted }: CycleFact["value"]) {
  return { start, end, result, counted };
}
