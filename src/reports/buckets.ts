import { dayOf, instantOf, weekdayOf, daysFromCivil } from "../domain/time-zone.ts";
import type { EpochMs } from "../domain/units.ts";
import type { Window } from "../store/port.ts";
import { HOUR_MS } from "../domain/time.ts";

export type BucketUnit = "hour" | "day" | "week" | "month";
/** Maximum number of time buckets (hours, days, weeks or months) in one answer. */
const MAX_BUCKETS = 5_000;

/**
 * Splits the window at local hours, days, weeks (from Monday) or months of `tz`. A local day has 23 to 25 h; some zones change by half an
 * hour. Throws a RangeError if there are too many buckets.
 */
export function localBuckets(tz: string, window: Window, unit: BucketUnit): Window[] {
  const [least_ms, parts] = unit === "hour" ? [HOUR_MS, "hours"] : [24 * HOUR_MS, "days"];
  if ((window.end - window.start) / least_ms > MAX_BUCKETS) throw new RangeError(`too many ${parts} in the window`);
  const buckets: Window[] = [];
  let start = window.start;
  while (start < window.end) {
    const end = Math.min(nextBorder(tz, start, unit), window.end);
    buckets.push({ start, end });
    start = end;
  }
  return buckets;
}

/** Returns the first bucket border after the instant. */
function nextBorder(tz: string, at: EpochMs, unit: BucketUnit): EpochMs {
  const day = dayOf(tz, at);
  switch (unit) {
    case "hour": {
      // Counts hours from the local midnight, so that a clock change makes no hour longer.
      const midnight = instantOf(tz, day, 0);
      const next = midnight + (Math.floor((at - midnight) / HOUR_MS) + 1) * HOUR_MS;
      return Math.min(next, instantOf(tz, day + 1, 0));
    }
    case "day":
      return instantOf(tz, day + 1, 0);
    case "week":
      return instantOf(tz, day + 7 - weekdayOf(day), 0);
    case "month":
      return instantOf(tz, nextMonth(day), 0);
  }
}

/** Returns the first day of the next month, by a search that starts in the previous year. */
function nextMonth(day: number): number {
  let month = 12 * (1969 + Math.floor(day / 365.2425));
  const first = (): number => daysFromCivil(Math.floor(month / 12), (month % 12) + 1, 1);
  while (first() <= day) month += 1;
  return first();
}
