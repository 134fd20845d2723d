import { WEEKDAYS, type WorkingHours } from "./booth.ts";
import type { EpochMs, Milliseconds } from "./units.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "./time.ts";

/** Cached formatters by zone. Formatters are expensive to create, and booths use only one or two zones. */
const formatters = new Map<string, Intl.DateTimeFormat>();

/** A local calendar day, as days since 1970-01-01. 0 was a Thursday. */
export type DayNumber = number;

/** UTC needs no zone rules, which take 7 MB of memory. An unbound gateway uses only UTC. */
const UTC = "UTC";

/** Returns whether the rules of the zone are known. An unknown zone counts as UTC. */
export function isKnownZone(tz: string): boolean {
  if (tz === UTC) return true;
  try {
    new Intl.DateTimeFormat("en-US", { timeZone: tz });
    return true;
  } catch {
    return false;
  }
}
const MINUTES_SINCE: EpochMs = 94_694_400_000;
/**
 * Cached offsets by zone and minute. Loops request the borders of the same few days again and again, and the formatter takes about 20 us.
 */
const offsets = new Map<string, Map<number, Milliseconds>>();
const MOST_OFFSETS = 1_000;

/** Returns local time minus UTC at that instant, ms. */
export function zoneOffsetMs(tz: string, at: EpochMs): Milliseconds {
  if (tz === UTC) return 0;
  if (at < MINUTES_SINCE) return formattedOffset(tz, at);
  const known = offsets.get(tz) ?? new Map<number, Milliseconds>();
  const minute = Math.floor(at / MINUTE_MS);
  const found = known.get(minute);
  if (found !== undefined) return found;
  if (known.size >= MOST_OFFSETS) known.clear();
  const offset = formattedOffset(tz, at);
  offsets.set(tz, known.set(minute, offset));
  return offset;
}

function formattedOffset(tz: string, at: EpochMs): Milliseconds {
  const parts: Record<string, number> = {};
  for (const { type, value } of formatterOf(tz).formatToParts(at)) parts[type] = Number(value);
  const { year = 1970, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
  const local = daysFromCivil(year, month, day) * DAY_MS + hour * HOUR_MS + minute * 60_000 + second * 1000;
  return local - Math.floor(at / 1000) * 1000;
}

/**
 * Returns the instant at which a wall clock in `tz` shows `time_ms` after midnight of the day. For a time that a clock change skips,
 * returns the first instant after the change. For a time that occurs twice, returns the earlier instant.
 */
export function instantOf(tz: string, day: DayNumber, time_ms: Milliseconds): EpochMs {
  const local = day * DAY_MS + time_ms;
  const early = zoneOffsetMs(tz, local - DAY_MS);
  const late = zoneOffsetMs(tz, local + DAY_MS);
  const candidates = [local - Math.max(early, late), local - Math.min(early, late)];
  const exact = candidates.find((at) => at + zoneOffsetMs(tz, at) === local);
  if (exact !== undefined) return exact;
  return firstAfterJump(tz, candidates[0] ?? local, candidates[1] ?? local);
}

/** Returns the local day of an instant. */
export function dayOf(tz: string, at: EpochMs): DayNumber {
  return Math.floor((at + zoneOffsetMs(tz, at)) / DAY_MS);
}

/** Returns the weekday, from Monday (0) to Sunday (6). */
export function weekdayOf(day: DayNumber): number {
  return (((day + 3) % 7) + 7) % 7;
}

/** Returns the first instant of the local day that contains `at`. */
export function dayStart(tz: string, at: EpochMs): EpochMs {
  return instantOf(tz, dayOf(tz, at), 0);
}

/** Returns the instant between `from` and `to` at which the zone's offset changes. */
function firstAfterJump(tz: string, from: EpochMs, to: EpochMs): EpochMs {
  const before = zoneOffsetMs(tz, from);
  let low = from;
  let high = to;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (zoneOffsetMs(tz, middle) === before) low = middle;
    else high = middle;
  }
  return high;
}

function formatterOf(tz: string): Intl.DateTimeFormat {
  const known = formatters.get(tz);
  if (known !== undefined) return known;
  const timeZone = isKnownZone(tz) ? tz : UTC;
  const numeric = { year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric" } as const;
  const options = { timeZone, calendar: "gregory", hourCycle: "h23", second: "numeric", ...numeric } as const;
  const formatter = new Intl.DateTimeFormat("en-US", options);
  formatters.set(tz, formatter);
  return formatter;
}

/** Returns an instant as text, such as "2026-03-02 15:05:12", truncated to the second. The caller's sentence must name UTC as the zone. */
export function utcText(at: EpochMs): string {
  const days = Math.floor(at / DAY_MS);
  const { year, month, day } = civilFromDays(days);
  const seconds = Math.floor((at - days * DAY_MS) / 1_000);
  const two = (value: number): string => Math.floor(value).toString().padStart(2, "0");
  const clock = [seconds / 3_600, (seconds / 60) % 60, seconds % 60].map(two).join(":");
  return `${year.toString().padStart(4, "0")}-${two(month)}-${two(day)} ${clock} UTC`;
}

/** Returns the date of a day; the inverse of `daysFromCivil`. From Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms". */
function civilFromDays(days: DayNumber): { readonly year: number; readonly month: number; readonly day: number } {
  const shifted = days + 719_468;
  const era = Math.floor(shifted / 146_097);
  const doe = shifted - era * 146_097;
  const yoe = Math.floor((doe - Math.floor(doe / 1460) + Math.floor(doe / 36_524) - Math.floor(doe / 146_096)) / 365);
  const doy = doe - (365 * yoe + Math.floor(yoe / 4) - Math.floor(yoe / 100));
  const mp = Math.floor((5 * doy + 2) / 153);
  const month = mp < 10 ? mp + 3 : mp - 9;
  const year = yoe + era * 400 + (month <= 2 ? 1 : 0);
  return { year, month, day: doy - Math.floor((153 * mp + 2) / 5) + 1 };
}

/** Returns the days since 1970-01-01 in the proleptic Gregorian calendar (Hinnant, "chrono-Compatible Low-Level Date Algorithms"). */
export function daysFromCivil(year: number, month: number, day: number): DayNumber {
  const shifted = month <= 2 ? year - 1 : year;
  const era = Math.floor(shifted / 400);
  const year_of_era = shifted - era * 400;
  const day_of_year = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  const day_of_era = year_of_era * 365 + Math.floor(year_of_era / 4) - Math.floor(year_of_era / 100) + day_of_year;
  return era * 146_097 + day_of_era - 719_468;
}

/** A half-open interval of time: [start, end). */
export interface Interval {
  readonly start: EpochMs;
  readonly end: EpochMs;
}

/**
 * Returns the facility's working time inside the window, as disjoint intervals in order. Each shift is converted with the zone rules of its
 * own day. If stop <= start, a shift runs past midnight; if start = stop, it lasts 24 h. Overlapping shifts are merged.
 *
 * @param tz IANA name of the zone; an unknown name counts as UTC
 */
export function workingIntervals(hours: readonly WorkingHours[], tz: string, window: Interval): Interval[] {
  const shifts: Interval[] = [];
  // Starts a day earlier, because a night shift of that day may reach into the window.
  for (let day = dayOf(tz, window.start) - 1; day <= dayOf(tz, window.end); day += 1) {
    for (const shift of hours) {
      if (!shift.enabled || WEEKDAYS[weekdayOf(day)] !== shift.day) continue;
      const from = timeOf(shift.start);
      const to = timeOf(shift.stop);
      const start = Math.max(window.start, instantOf(tz, day, from));
      const end = Math.min(window.end, to > from ? instantOf(tz, day, to) : instantOf(tz, day + 1, to));
      if (end > start) shifts.push({ start, end });
    }
  }
  return united(shifts);
}

/** Merges overlapping and touching intervals. */
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

/** Returns the total time that two lists of intervals have in common. Each list must be disjoint and in order. */
export function overlapOf(a: readonly Interval[], b: readonly Interval[]): Milliseconds {
  let sum = 0;
  let i = 0;
  let j = 0;
  for (;;) {
    const x = a[i];
    const y = b[j];
    if (x === undefined || y === undefined) return sum;
    sum += Math.max(0, Math.min(x.end, y.end) - Math.max(x.start, y.start));
    if (x.end <= y.end) i += 1;
    else j += 1;
  }
}

/** Converts "HH:MM:SS" to ms after midnight. */
function timeOf(text: string): Milliseconds {
  const [hours = 0, minutes = 0, seconds = 0] = text.split(":").map(Number);
  return ((hours * 60 + minutes) * 60 + seconds) * 1000;
}
