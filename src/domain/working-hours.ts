import { dayOf, instantOf, weekdayOf } from "./time-zone.ts";
import { WEEKDAYS, type WorkingHours } from "./booth.ts";
import type { EpochMs, Milliseconds } from "./units.ts";

/** Half-open. */
export interface Interval {
  readonly start: EpochMs;
  readonly end: EpochMs;
}

/**
 * The facility's working time inside the window, as disjoint intervals in order. Each shift is converted with the
 * rules of its own day; stop <= start runs past midnight, start = stop is 24 h; overlapping shifts are united.
 * @param tz IANA name; an unknown one counts as UTC.
 */
export function workingIntervals(hours: readonly WorkingHours[], tz: string, window: Interval): Interval[] {
  const shifts: Interval[] = [];
  // A night shift of the day before may reach into the window.
  for (let day = dayOf(tz, window.start) - 1; day <= dayOf(tz, window.end); day += 1) {
    for (const shift of hours) {
      if (!shift.enabled || WEEKDAYS[weekdayOf(day)] !== shift.day) continue;
      const [from, to] = [timeOf(shift.start), timeOf(shift.stop)];
      const start = Math.max(window.start, instantOf(tz, day, from));
      const end = Math.min(window.end, to > from ? instantOf(tz, day, to) : instantOf(tz, day + 1, to));
      if (end > start) shifts.push({ start, end });
    }
  }
  return united(shifts);
}

/** Overlapping and touching intervals become one. */
export function united(intervals: readonly Interval[]): Interval[] {
  const result: Interval[] = [];
  for (const { start, end } of [...intervals].sort((a, b) => a.start - b.start)) {
    const last = result.at(-1);
    if (last !== undefined && start <= last.end)
      result[result.length - 1] = { start: last.start, end: Math.max(last.end, end) };
    else result.push({ start, end });
  }
  return result;
}

export function lengthOf(intervals: readonly Interval[]): Milliseconds {
  return intervals.reduce((sum, { start, end }) => sum + (end - start), 0);
}

/** Length of what two interval lists, each disjoint and in order, have in common. */
export function overlapOf(a: readonly Interval[], b: readonly Interval[]): Milliseconds {
  let [sum, i, j] = [0, 0, 0];
  for (let [x, y] = [a[i], b[j]]; x !== undefined && y !== undefined; [x, y] = [a[i], b[j]]) {
    sum += Math.max(0, Math.min(x.end, y.end) - Math.max(x.start, y.start));
    if (x.end <= y.end) i += 1;
    else j += 1;
  }
  return sum;
}

/** "HH:MM:SS" after midnight, ms. */
function timeOf(text: string): Milliseconds {
  const [hours = 0, minutes = 0, seconds = 0] = text.split(":").map(Number);
  return ((hours * 60 + minutes) * 60 + seconds) * 1000;
}
