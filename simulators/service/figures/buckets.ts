import { badRequest } from "../base/errors.ts";
import { localDay, localPeriod } from "../base/zone.ts";
import type { Span } from "../base/span.ts";
import { HOUR_MS, DAY_MS } from "../../../src/domain/time.ts";

/** More than this would be no report that anybody reads. */
const MAX_BUCKETS = 5000;

/** How long a period of each unit is where it is counted back from now. */
export const PERIOD_MS = { hour: HOUR_MS, day: DAY_MS, week: 7 * DAY_MS, month: 30 * DAY_MS } as const;
export type PeriodUnit = keyof typeof PERIOD_MS;

/** The window cut at the hours, days, weeks (from Monday) or months of `tz`, the first and last as the window cuts them. */
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

/** The window cut every `ms` from its start; 400 where that makes too many. */
export function evenBuckets(window: Span, ms: number): Span[] {
  if ((window.end - window.start) / ms > MAX_BUCKETS) throw badRequest("too many intervals in the window");
  const out: Span[] = [];
  for (let start = window.start; start < window.end; start += ms) {
    out.push({ start, end: Math.min(start + ms, window.end) });
  }
  return out;
}

/** The window cut at the local midnights of `tz`: days of 23, 24 or 25 h. */
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

/** The window cut at the hours of each local day of `tz`, counted from its midnight: the first and last as the window cuts them. */
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
