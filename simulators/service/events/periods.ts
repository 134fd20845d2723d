import type { Span } from "../base/span.ts";
import { localDay, localWeek } from "../base/zone.ts";

/** Time after a period's end at which it is evaluated and reported, so that its last records have arrived. */
export const FINAL_MS = 10 * 60_000;

export type EvaluationPeriod = "daily" | "weekly";

/** Returns the local day, or the week from Monday, that contains the instant. */
export function periodOf(tz: string, kind: EvaluationPeriod, time: number): Span {
  return kind === "daily" ? localDay(tz, time) : localWeek(tz, time);
}

/** Returns every whole period from the one that contains `from` up to the last that has ended at `until`. */
export function endedPeriods(
  tz: string,
  kind: EvaluationPeriod,
  { from, until }: { from: number; until: number },
): Span[] {
  const out: Span[] = [];
  for (let period = periodOf(tz, kind, from); period.end <= until; period = periodOf(tz, kind, period.end))
    out.push(period);
  return out;
}

const TIME_OF_DAY = /^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?$/;

export function isTimeOfDay(text: string): boolean {
  return TIME_OF_DAY.test(text);
}

/** Returns the first instant from `end` on with that time of day in UTC; null: at once. */
export function dueAfter(end: number, timeOfDay: string | null): number {
  if (timeOfDay === null) return end;
  const [hours = 0, minutes = 0, seconds = 0] = timeOfDay.split(":").map(Number);
  const midnight = Math.floor(end / 86_400_000) * 86_400_000;
  const due = midnight + ((hours * 60 + minutes) * 60 + seconds) * 1000;
  return due >= end ? due : due + 86_400_000;
}
