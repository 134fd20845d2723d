import { DAY_MS } from "../../../src/domain/time.ts";

const formats = new Map<string, Intl.DateTimeFormat>();

function format(tz: string): Intl.DateTimeFormat {
  let known = formats.get(tz);
  if (known === undefined) {
    const options: Intl.DateTimeFormatOptions = { hourCycle: "h23", year: "numeric", month: "numeric", day: "numeric" };
    const zone = zoneExists(tz) ? tz : "UTC";
    known = new Intl.DateTimeFormat("en-US", {
      ...options,
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
      timeZone: zone,
    });
    formats.set(tz, known);
  }
  return known;
}

/** Whether `tz` is an IANA name. Any other name counts as UTC. */
export function zoneExists(tz: string): boolean {
  try {
    new Intl.DateTimeFormat("en-US", { timeZone: tz });
    return true;
  } catch {
    return false;
  }
}

/** Since this instant, offsets of all zones change only at a quarter of an hour. */
const ALIGNED_SINCE = Date.UTC(1973, 0, 1);
const QUARTER_MS = 15 * 60_000;
/** Maximum number of cached offsets of a zone: the days of a century. */
const MAX_OFFSETS = 36_525;
const MAX_ZONES = 1000;
const offsets = new Map<string, Map<number, number>>();

/**
 * Returns the wall clock of `tz` at `time`, as if it were UTC. Reports iterate over years of days, and the formatter
 * takes microseconds, so it is called once for a day whose start and end have the same offset.
 */
export function toWall(tz: string, time: number): number {
  if (!(time >= ALIGNED_SINCE)) return wallByFormat(tz, time);
  const day = Math.floor(time / DAY_MS) * DAY_MS;
  const offset = offsetAt(tz, day);
  if (offset === offsetAt(tz, day + DAY_MS)) return time + offset;
  return time + offsetAt(tz, Math.floor(time / QUARTER_MS) * QUARTER_MS);
}

/** Returns the zone's offset at an instant on a quarter of an hour. */
function offsetAt(tz: string, time: number): number {
  const mine = offsets.get(tz) ?? new Map<number, number>();
  if (mine.size === 0 && offsets.size >= MAX_ZONES) offsets.clear();
  offsets.set(tz, mine);
  let offset = mine.get(time);
  if (offset === undefined) {
    if (mine.size >= MAX_OFFSETS) mine.clear();
    mine.set(time, (offset = wallByFormat(tz, time) - time));
  }
  return offset;
}

function wallByFormat(tz: string, time: number): number {
  const part: Record<string, number> = {};
  for (const { type, value } of format(tz).formatToParts(time)) part[type] = Number(value);
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = part;
  return Date.UTC(year, month - 1, day, hour, minute, second) + (((time % 1000) + 1000) % 1000);
}

/**
 * Returns the instant at which the wall clock of `tz` shows `wall` (as if UTC). For a time that exists twice, returns
 * the earlier one; for a time that doesn't exist, the first instant after the jump.
 */
export function fromWall(tz: string, wall: number): number {
  const before = toWall(tz, wall - DAY_MS) - (wall - DAY_MS);
  const after = toWall(tz, wall + DAY_MS) - (wall + DAY_MS);
  const candidates = [wall - before, wall - after].sort((a, b) => a - b);
  const found = candidates.find((time) => toWall(tz, time) === wall);
  return found ?? firstInstantAfterJump(tz, wall, candidates);
}

function firstInstantAfterJump(tz: string, wall: number, candidates: readonly number[]): number {
  let [low = wall, high = wall] = candidates;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (toWall(tz, middle) < wall) low = middle;
    else high = middle;
  }
  return high;
}

/** Returns the start of the local day that contains `time`, and of the next one. */
export function localDay(tz: string, time: number): { start: number; end: number } {
  const midnight = Math.floor(toWall(tz, time) / DAY_MS) * DAY_MS;
  return { start: fromWall(tz, midnight), end: fromWall(tz, midnight + DAY_MS) };
}

/** Returns the local day of `time` as YYYY-MM-DD: for a week its Monday, for a month its first day. */
export function localPeriod(tz: string, time: number, unit: string): string {
  const midnight = Math.floor(toWall(tz, time) / DAY_MS) * DAY_MS;
  const day = new Date(midnight);
  if (unit === "month") return `${day.toISOString().slice(0, 7)}-01`;
  return new Date(unit === "week" ? mondayOf(midnight) : midnight).toISOString().slice(0, 10);
}

/** Returns the start of the local week (from Monday 00:00) that contains `time`, and of the next one. */
export function localWeek(tz: string, time: number): { start: number; end: number } {
  const monday = mondayOf(Math.floor(toWall(tz, time) / DAY_MS) * DAY_MS);
  return { start: fromWall(tz, monday), end: fromWall(tz, monday + 7 * DAY_MS) };
}

function mondayOf(midnight: number): number {
  return midnight - ((new Date(midnight).getUTCDay() + 6) % 7) * DAY_MS;
}
