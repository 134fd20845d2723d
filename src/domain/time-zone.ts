import { WEEKDAYS, type WorkingHours } from "./booth.ts";
import type { EpochMs, Milliseconds } from "./units.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "./time.ts";

/** Formatters are dear to make and booths use one or two zones. */
const formatters = new Map<string, Intl.DateTimeFormat>();

/** A local calendar day, as days since 1970-01-01. 0 was a Thursday. */
export type DayNumber = number;

/** UTC needs no zone rules, which take 7 MB of memory. An unbound gateway has no other zone. */
const UTC = "UTC";

/** Whether the zone's rules are known. An unknown one counts as UTC. */
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
/** By zone and minute: loops ask for the borders of the same few days in every round, and the formatter takes some 20 us. */
const offsets = new Map<string, Map<number, Milliseconds>>();
const MOST_OFFSETS = 1_000;

/** Local time minus UTC at that instant, ms. */
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
 * The instant at which a wall clock in `tz` shows `time_ms` after midnight of the day. A time that doesn't exist is
 * the first instant after the jump; of one that exists twice the earlier.
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

/** The local day of an instant. */
export function dayOf(tz: string, at: EpochMs): DayNumber {
  return Math.floor((at + zoneOffsetMs(tz, at)) / DAY_MS);
}

/** Monday 0 ... Sunday 6. */
export function weekdayOf(day: DayNumber): number {
  return (((day + 3) % 7) + 7) % 7;
}

/** First instant of the local day that holds `at`. */
export function dayStart(tz: string, at: EpochMs): EpochMs {
  return instantOf(tz, dayOf(tz, at), 0);
}

/** The instant between the two at which the offset changes. */
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

/** 2026-03-02 15:05:12 UTC, cut to the second: for sentences, which say of which zone a time is. */
export function utcText(at: EpochMs): string {
  const days = Math.floor(at / DAY_MS);
  const { year, month, day } = civilFromDays(days);
  const seconds = Math.floor((at - days * DAY_MS) / 1_000);
  const two = (value: number): string => Math.floor(value).toString().padStart(2, "0");
  const clock = [seconds / 3_600, (seconds / 60) % 60, seconds % 60].map(two).join(":");
  return `${year.toString().padStart(4, "0")}-${two(month)}-${two(day)} ${clock} UTC`;
}

/** Its inverse is `daysFromCivil`. From Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms". */
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

/** Days since 1970-01-01 in the proleptic Gregorian calendar (Hinnant, "chrono-compatible low-level date algorithms"). */
export function daysFromCivil(year: number, month: number, day: number): DayNumber {
  const shifted = month <= 2 ? year - 1 : year;
  const era = Math.floor(shifted / 400);
  const year_of_era = shifted - era * 400;
  const day_of_year = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  const day_of_era = year_of_era * 365 + Math.floor(year_of_era / 4) - Math.floor(year_of_era / 100) + day_of_year;
  return era * 146_097 + day_of_era - 719_468;
}

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
      const from = timeOf(shift.start);
      const to = timeOf(shift.stop);
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

/** "HH:MM:SS" after midnight, ms. */
function timeOf(text: string): Milliseconds {
  const [hours = 0, minutes = 0, seconds = 0] = text.split(":").map(Number);
  return ((hours * 60 + minutes) * 60 + seconds) * 1000;
}
