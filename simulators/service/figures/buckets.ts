import { badRequest } from "../base/errors.ts";
import { localDay, localPeriod } from "../base/zone.ts";
import type { Span } from "../base/span.ts";
import { HOUR_MS, DAY_MS } from "../../../src/domain/time.ts";

/** Maximum number of buckets in a report. */
const MAX_BUCKETS = 5000;

/** Length of each unit for a period that ends now. */
export const PERIOD_MS = { hour: HOUR_MS, day: DAY_MS, week: 7 * DAY_MS, month: 30 * DAY_MS } as const;
export type PeriodUnit = keyof typeof PERIOD_MS;

/**
 * Splits the window at the hours, days, weeks (from Monday) or months of `tz`. The window limits the first and the last
 * part.
 */
export function localBuckets(window: Span, tz: string, unit: PeriodUnit): Span[] {
  if (unit === "hour") return hourBuckets(window, tz);
  const days = dayBuckets(window, tz);
  return unit === "day" ? days : unitedBy(days, (day) => localPeriod(tz, day.start, unit));
}

function unitedBy(days: readonly Span[], keyOf: (day: Span) => string): Span[] {
  const periods = new Map<string, Span>();
  for (const day of days) periods.set(keyOf(day), { start: periods.get(keyOf(day))?.start ?? day.start, end: day.end });
  return [...periods.values()];
}

/** Splits the window every `ms` from its start. Throws 400 for too many parts. */
export function evenBuckets(window: Span, ms: number): Span[] {
  if ((window.end - window.start) / ms > MAX_BUCKETS) throw badRequest("too many intervals in the window");
  const out: Span[] = [];
  for (let start = window.start; start < window.end; start += ms) {
    out.push({ start, end: Math.min(start + ms, window.end) });
  }
  return out;
}

/** Splits the window at the local midnights of `tz`: days of 23, 24 or 25 h. */
export function dayBuckets(window: Span, tz: string): Span[] {
  if ((window.end - window.start) / DAY_MS > MAX_BUCKETS) throw badRequest("too many days in the window");
  const out: Span[] = [];
  for (let start = window.start; start < window.end;) {
    const end = Math.min(localDay(tz, start).end, window.end);
    out.push({ start, end });
    start = end;
  }
  return out;
}

/**
 * Splits the window at the hours of each local day of `tz`, counted from its midnight. The window limits the first and
 * the last part.
 */
function hourBuckets(window: Span, tz: string): Span[] {
  if ((window.end - window.start) / HOUR_MS > MAX_BUCKETS) throw badRequest("too many hours in the window");
  return dayBuckets(window, tz).flatMap((part) => {
    const midnight = localDay(tz, part.start).start;
    const first = midnight + Math.floor((part.start - midnight) / HOUR_MS) * HOUR_MS;
    return evenBuckets({ start: first, end: part.end }, HOUR_MS).map(({ start, end }) => {
      return { start: Math.max(start, part.start), end };
    });
  });
}
