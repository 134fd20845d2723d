import { dayOf, instantOf, weekdayOf, daysFromCivil } from "../domain/time-zone.ts";
import type { EpochMs, Milliseconds } from "../domain/units.ts";
import type { Window } from "../store/port.ts";

export const BUCKET_UNITS = ["hour", "day", "week", "month"] as const;
export type BucketUnit = (typeof BUCKET_UNITS)[number];

const HOUR_MS: Milliseconds = 3_600_000;
const LEAST_MS = { hour: HOUR_MS, day: 24 * HOUR_MS, week: 24 * HOUR_MS, month: 24 * HOUR_MS } as const;
/** Buckets of one answer; of longer ones, days that are gone through for them. */
const MAX_BUCKETS = 5_000;

/**
 * The window cut at local hours, days, weeks (from Monday) or months of `tz`; the first and last as the window cuts them.
 * A local day has 23, 24 or 25 h, in some zones half an hour less or more. Throws a RangeError for too many buckets.
 */
export function localBuckets(tz: string, window: Window, unit: BucketUnit): Window[] {
  if ((window.end - window.start) / LEAST_MS[unit] > MAX_BUCKETS)
    throw new RangeError(`too many ${unit === "hour" ? "hours" : "days"} in the window`);
  const buckets: Window[] = [];
  let start = window.start;
  while (start < window.end) {
    const end = Math.min(nextBorder(tz, start, unit), window.end);
    buckets.push({ start, end });
    start = end;
  }
  return buckets;
}

/** The first border after the instant. */
function nextBorder(tz: string, at: EpochMs, unit: BucketUnit): EpochMs {
  const day = dayOf(tz, at);
  switch (unit) {
    case "hour": {
      // Hours are counted from the local midnight, so that a jump of the clock makes no hour longer.
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

function nextMonth(day: number): number {
  let next = day + 1;
  while (!isFirstOfMonth(next)) next += 1;
  return next;
}

/** The civil date of a day number, by trying the months of its year. */
function isFirstOfMonth(day: number): boolean {
  const year = 1970 + Math.floor(day / 365.2425);
  for (const guess of [year - 1, year, year + 1]) {
    for (let month = 1; month <= 12; month += 1) if (daysFromCivil(guess, month, 1) === day) return true;
  }
  return false;
}
