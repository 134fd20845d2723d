import { dayOf, instantOf, weekdayOf, daysFromCivil } from "../core/time-zone.ts";
import type { EpochMs, Milliseconds } from "../core/types/units.ts";
import type { Window } from "../ports.ts";

export const BUCKET_UNITS = ["hour", "day", "week", "month"] as const;
export type BucketUnit = (typeof BUCKET_UNITS)[number];

const HOUR_MS: Milliseconds = 3_600_000;
/** Buckets of one answer: ten years of days. */
const MAX_BUCKETS = 4_000;

/**
 * The window cut at local hours, days, weeks (from Monday) or months of `tz`; the first and last as the window cuts them.
 * A local day has 23, 24 or 25 h, in some zones half an hour less or more. Throws a RangeError for too many buckets.
 */
export function localBuckets(tz: string, window: Window, unit: BucketUnit): Window[] {
  const buckets: Window[] = [];
  let start = window.start;
  while (start < window.end) {
    if (buckets.length >= MAX_BUCKETS) throw new RangeError("the window has too many buckets of that length");
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
