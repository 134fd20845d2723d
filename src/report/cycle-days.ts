import { dayOf, weekdayOf, zoneOffsetMs } from "../core/time-zone.ts";
import { workingTime, zoneOf } from "./rules.ts";
import type { Window } from "../ports.ts";
import { localBuckets } from "./buckets.ts";
import { cycleCount, cyclesIn } from "./cycles.ts";
import { stateOf, timeLineOf, type FigureCoverage, type Source } from "./source.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export interface MedianCycles {
  /** Of the daily cycle counts; null: no local day of the window has working hours. */
  readonly median_cycles: number | null;
  readonly days: number;
  readonly coverage: FigureCoverage;
}

/** Median of the daily cycle_count over the window's local days with working hours. */
export function medianCycles(source: Source, window: Window): MedianCycles {
  const line = timeLineOf(source, window);
  const days = localBuckets(zoneOf(line.state), line.window, "day").filter(
    (day) => workingTime(line.state, day).length > 0,
  );
  const counts = days.map((day) => cycleCount(source, day).cycle_count).sort((a, b) => a - b);
  const middle = counts.length >> 1;
  const upper = counts[middle] ?? null;
  const lower = counts.length % 2 === 1 ? upper : (counts[middle - 1] ?? null);
  const median_cycles = upper === null || lower === null ? null : (upper + lower) / 2;
  return { median_cycles, days: counts.length, coverage: line.coverage };
}

/** Counted cycles by the local hour of the week of their END; index 0 is Monday 00:00. */
export function utilizationFrequency(
  source: Source,
  window: Window,
): { readonly counts: readonly number[]; readonly coverage: FigureCoverage } {
  const line = timeLineOf(source, window);
  const tz = zoneOf(stateOf(source));
  const counts = Array.from({ length: 168 }, () => 0);
  for (const { counted, end } of cyclesIn(source, line)) {
    if (!counted) continue;
    const local = end + zoneOffsetMs(tz, end);
    const hour = weekdayOf(dayOf(tz, end)) * 24 + Math.floor((local % DAY_MS) / HOUR_MS);
    counts[hour] = (counts[hour] ?? 0) + 1;
  }
  return { counts, coverage: line.coverage };
}
