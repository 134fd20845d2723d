import { openEndOf } from "../derivation/fold.ts";
import { tagsWithRole } from "../derivation/parameters.ts";
import { FILTER_TYPES, type FilterType } from "../domain/booth.ts";
import { DAY_MS, MINUTE_MS } from "../domain/time.ts";
import { overlapOf } from "../domain/time-zone.ts";
import type { EpochMs, Milliseconds, TagName } from "../domain/units.ts";
import type { Window } from "../store/port.ts";
import { localBuckets } from "./buckets.ts";
import { filterMaintenanceHistory, usageOf } from "./filters.ts";
import { msIn, timeIn, zoneOf } from "./rules.ts";
import { type Source, stateOf, timeLineOf } from "./source.ts";
import { history } from "./values.ts";

const WEEK_MS: Milliseconds = 7 * DAY_MS;
/** Number of whole weeks over which the pace is averaged, because single weeks and days differ too much. */
const PACE_WEEKS = 4;
/** Maximum window of a chart in days. Older use doesn't matter any more. */
const MAX_DAYS = 190;
/** Latest time of a forecast, counted from now. */
const FARTHEST_MS: Milliseconds = 730 * DAY_MS;

/** A point of the use curve, in minutes of use since installation; null: the next point belongs to another filter. */
export interface UsePoint {
  readonly at: EpochMs;
  readonly minutes: number | null;
}

/** The forecast of the time at which a filter reaches its limit. */
export interface FilterForecast {
  /** Time at the average pace of the last weeks, or by age if that is earlier. */
  readonly at: EpochMs;
  /** Earliest time at which the filter can be full: at the pace of the busiest of these weeks. */
  readonly earliest: EpochMs;
  /** When the filter reaches its limit if each week is like the quietest week; null: never. */
  readonly latest: EpochMs | null;
  readonly by: "use" | "age";
}

export interface FilterUse {
  readonly filter: FilterType;
  readonly installed_at: EpochMs;
  /** Whether the filter was already in at first contact, so that its installation time is unknown. */
  readonly assumed: boolean;
  /** Minutes in use since installation; null: unknown. */
  readonly minutes: number | null;
  readonly limit_minutes: number | null;
  readonly limit_days: number | null;
  readonly percent: number | null;
  readonly overuse_since: EpochMs | null;
  /** Average minutes of use per week over the last weeks; null: less than a week is known. */
  readonly week_minutes: number | null;
  /** Forecast of reaching the limit; null: unknown, or the filter is over its limit. */
  readonly forecast: FilterForecast | null;
  readonly points: readonly UsePoint[];
  /** Pressure drop by day and its limit, in the tag's unit; null: there is no such tag. */
  readonly pressure: {
    readonly tag: TagName;
    readonly unit: string;
    /** Limit of the pressure drop; null: there is no limit, or the drop of the clean filter isn't known yet. */
    readonly limit: number | null;
    readonly days: readonly PressureDay[];
  } | null;
}

interface PressureDay extends Window {
  /** Highest pressure drop of the day; null: nothing was read, or the booth was not in use. */
  readonly max: number | null;
}

/** Returns the use of each fitted filter over the window, and the time at which it reaches its limit at the present pace. */
export function filterUse(source: Source, asked: Window): FilterUse[] {
  const window = { start: Math.max(asked.start, asked.end - MAX_DAYS * DAY_MS), end: asked.end };
  const state = stateOf(source);
  const pace = weeklyUse(source);
  return FILTER_TYPES.flatMap((filter) => {
    const current = state.filters[filter]?.current;
    if (current === undefined) return [];
    const { installed_at, limits } = current;
    const usage = usageOf(current);
    const use = { ...usage, limit_days: current.known ? (limits.days ?? null) : null, installed_at };
    return {
      filter,
      ...use,
      week_minutes: pace.length === 0 ? null : mean(pace),
      forecast: use.overuse_since === null ? forecastOf(use, pace, source.now_ms) : null,
      points: pointsOf(source, window, { filter, installed_at, minutes: usage.minutes }),
      pressure: pressureOf(source, window, filter),
    };
  });
}

/** Returns the minutes of use in each of the last whole weeks with data about the booth, newest first. */
export function weeklyUse(source: Source): number[] {
  const now = source.now_ms;
  const written = source.reader.stages(source.stream, { start: 0, end: now });
  const stages = [...written, ...openEndOf(stateOf(source), now).stages];
  const first = stages.find(({ mode }) => mode !== "no_data")?.start ?? now;
  const weeks = Math.min(PACE_WEEKS, Math.floor((now - first) / WEEK_MS));
  return Array.from({ length: weeks }, (_, nth) => {
    const end = now - nth * WEEK_MS;
    return msIn(timeLineOf(source, { start: end - WEEK_MS, end }), "in_use") / MINUTE_MS;
  });
}

/** Returns the time at which the limit is reached at the pace of these weeks; null: it is unknown or too far off. */
export function forecastOf(
  use: Pick<FilterUse, "minutes" | "limit_minutes" | "limit_days" | "installed_at">,
  pace: readonly number[],
  now: EpochMs,
): FilterForecast | null {
  const { minutes, limit_minutes, limit_days, installed_at } = use;
  const by_age = limit_days === null ? Infinity : installed_at + limit_days * DAY_MS;
  const left = minutes === null || limit_minutes === null ? Infinity : Math.max(0, limit_minutes - minutes);
  const fullAt = (week: number): EpochMs => (week > 0 ? now + (left / week) * WEEK_MS : Infinity);
  const by_use = pace.length === 0 ? Infinity : fullAt(mean(pace));
  const at = Math.min(by_use, by_age);
  if (!Number.isFinite(at) || at > now + FARTHEST_MS) return null;
  const earliest = Math.min(by_age, fullAt(Math.max(...pace)));
  const latest = Math.min(by_age, fullAt(pace.length === 0 ? 0 : Math.min(...pace)));
  return { at, earliest, latest: Number.isFinite(latest) ? latest : null, by: by_use <= by_age ? "use" : "age" };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/**
 * Returns a filter's use at each local midnight and at each filter change in the window. Computes the use backwards from the known total at
 * each filter's removal, or at the present for the filter in place.
 */
function pointsOf(
  source: Source,
  window: Window,
  { filter, installed_at, minutes }: Pick<FilterUse, "filter" | "installed_at" | "minutes">,
): UsePoint[] {
  const line = timeLineOf(source, window);
  const in_use = timeIn(line, "in_use");
  const lives = filterMaintenanceHistory(source, { start: window.start, end: source.now_ms })
    .filter(({ filter_type }) => filter_type === filter)
    .map((one) => ({ start: one.installed_at, end: one.removed_at, used: one.booth_in_use_ms / MINUTE_MS }));
  if (minutes !== null) lives.push({ start: installed_at, end: source.now_ms, used: minutes });
  const midnights = localBuckets(zoneOf(stateOf(source)), line.window, "day").map(({ start }) => start);
  return lives.flatMap(({ start, end, used }, nth) => {
    const from = Math.max(start, window.start);
    const to = Math.min(end, line.window.end);
    if (to < from) return [];
    const instants = [from, ...midnights.filter((midnight) => midnight > from && midnight < to), to];
    const points = instants.map((at): UsePoint => {
      const later_ms = overlapOf(in_use, [{ start: at, end: Math.max(at, end) }]);
      return { at, minutes: Math.max(0, used - later_ms / MINUTE_MS) };
    });
    return nth === 0 ? points : [{ at: from, minutes: null }, ...points];
  });
}

/** Returns the highest drop of each local day on which the booth was in use. Without running fans there is no drop. */
function pressureOf(source: Source, window: Window, filter: FilterType): FilterUse["pressure"] {
  const { parameters, filters } = stateOf(source);
  const [tag = ""] = tagsWithRole(parameters, "filter_pressure", filter);
  const sensor = parameters?.tags[tag];
  if (sensor === undefined) return null;
  const clipped = { start: window.start, end: Math.min(window.end, source.now_ms) };
  const buckets = localBuckets(zoneOf(stateOf(source)), clipped, "day");
  const days = buckets.map((day) => ({ ...day, max: null as number | null }));
  for (const { value, quality, at } of history(source, clipped, [tag])) {
    if (quality === "bad" || typeof value !== "number" || !Number.isFinite(value)) continue;
    const day = days.find(({ start, end }) => at >= start && at < end);
    if (day !== undefined) day.max = Math.max(day.max ?? value, value);
  }
  const in_use = timeIn(timeLineOf(source, clipped), "in_use");
  for (const day of days) if (overlapOf(in_use, [day]) === 0) day.max = null;
  const { limits, pressure } = filters[filter]?.current ?? {};
  const baseline = pressure?.baseline ?? null;
  const over = limits?.pressure_pa;
  // Converts the limit, which is in Pa above the drop of the clean filter, to the tag's unit.
  const { unit, factor, conversion: { scale, offset } = { scale: factor, offset: 0 } } = sensor;
  const limit = over === undefined || baseline === null || scale === 0 ? null : (baseline + over - offset) / scale;
  return { tag, unit, limit, days };
}
