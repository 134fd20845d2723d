import { openEndOf } from "../derivation/fold.ts";
import { tagsWithRole } from "../derivation/parameters.ts";
import { FILTER_TYPES, type FilterType } from "../domain/booth.ts";
import { overlapOf, type Interval } from "../domain/time-zone.ts";
import type { EpochMs, Milliseconds, TagName } from "../domain/units.ts";
import type { Window } from "../store/port.ts";
import { localBuckets } from "./buckets.ts";
import { filterMaintenanceHistory, usageOf } from "./filters.ts";
import { msIn, timeIn, zoneOf } from "./rules.ts";
import { type Source, stateOf, timeLineOf } from "./source.ts";
import { history } from "./values.ts";
import { MINUTE_MS, DAY_MS } from "../domain/time.ts";

const WEEK_MS: Milliseconds = 7 * DAY_MS;
/** The pace is that of the last so many whole weeks: work weeks differ, the days in them more. */
const PACE_WEEKS = 4;
/** Longer ago a filter chart shows nothing that its owner could still do something about. */
const MAX_DAYS = 190;
/** A forecast further off than this is none. */
const FARTHEST_MS: Milliseconds = 730 * DAY_MS;

/** Use of a filter at an instant, min in use since it went in; null: another one goes in here. */
export interface UsePoint {
  readonly at: EpochMs;
  readonly minutes: number | null;
}

/** When a filter reaches its limit. */
export interface FilterForecast {
  /** At the mean pace of the weeks before, or by age where that comes first. */
  readonly at: EpochMs;
  /** At the pace of the busiest of these weeks, and of the quietest; `latest` null: then not at all. */
  readonly earliest: EpochMs;
  readonly latest: EpochMs | null;
  readonly by: "use" | "age";
}

export interface FilterUse {
  readonly filter: FilterType;
  readonly installed_at: EpochMs;
  /** It was in at first contact: since when isn't known. */
  readonly assumed: boolean;
  /** null: not known. */
  readonly minutes: number | null;
  readonly limit_minutes: number | null;
  readonly limit_days: number | null;
  readonly percent: number | null;
  readonly overuse_since: EpochMs | null;
  /** In use a week, min, of the last weeks; null: under a week is known. */
  readonly week_minutes: number | null;
  /** null: it can't be told, or it is over the limit. */
  readonly forecast: FilterForecast | null;
  readonly points: readonly UsePoint[];
  /** Pressure drop by day and its limit, in the tag's unit; null: there is no such tag. */
  readonly pressure: {
    readonly tag: TagName;
    readonly unit: string;
    /** null: none, or the drop of a clean filter isn't known yet. */
    readonly limit: number | null;
    readonly days: readonly PressureDay[];
  } | null;
}

interface PressureDay extends Window {
  /** null: nothing was read, or the booth wasn't in use. */
  readonly max: number | null;
}

/** How each fitted filter was used over the window, and when it will be full at this pace. */
export function filterUse(source: Source, asked: Window): FilterUse[] {
  const window = { start: Math.max(asked.start, asked.end - MAX_DAYS * DAY_MS), end: asked.end };
  const state = stateOf(source);
  const pace = weeklyUse(source);
  return FILTER_TYPES.flatMap((filter) => {
    const current = state.filters[filter]?.current;
    if (current === undefined) return [];
    const { installed_at, limits } = current;
    const usage = usageOf(current);
    const { minutes, overuse_since } = usage;
    const use = { ...usage, limit_days: current.known ? (limits.days ?? null) : null, installed_at };
    return {
      filter,
      ...use,
      week_minutes: pace.length === 0 ? null : mean(pace),
      forecast: overuse_since === null ? forecastOf(use, pace, source.now_ms) : null,
      points: pointsOf(source, window, { filter, installed_at, minutes }),
      pressure: pressureOf(source, window, filter),
    };
  });
}

/** In-use minutes of each of the last whole weeks since the booth was first seen, newest first. */
export function weeklyUse(source: Source): number[] {
  const now = source.now_ms;
  const ever = { start: 0, end: now };
  const seen = [...source.reader.stages(source.stream, ever), ...openEndOf(stateOf(source), now).stages];
  const first = seen.find(({ mode }) => mode !== "no_data")?.start ?? now;
  const weeks = Math.min(PACE_WEEKS, Math.floor((now - first) / WEEK_MS));
  return Array.from({ length: weeks }, (_, nth) => {
    const end = now - nth * WEEK_MS;
    return msIn(timeLineOf(source, { start: end - WEEK_MS, end }), "in_use") / MINUTE_MS;
  });
}

interface Use {
  readonly minutes: number | null;
  readonly limit_minutes: number | null;
  readonly limit_days: number | null;
  readonly installed_at: EpochMs;
}

/** When the limit is reached at the pace of these weeks. Pure. */
export function forecastOf(use: Use, pace: readonly number[], now: EpochMs): FilterForecast | null {
  const aged = use.limit_days === null ? Infinity : use.installed_at + use.limit_days * DAY_MS;
  const left = use.minutes === null || use.limit_minutes === null ? null : use.limit_minutes - use.minutes;
  const fullAt = (week: number): EpochMs =>
    left === null || week <= 0 ? Infinity : now + (Math.max(0, left) / week) * WEEK_MS;
  const by_use = pace.length === 0 ? Infinity : fullAt(mean(pace));
  const at = Math.min(by_use, aged);
  if (!Number.isFinite(at) || at > now + FARTHEST_MS) return null;
  const earliest = pace.length === 0 ? aged : Math.min(aged, fullAt(Math.max(...pace)));
  const latest = pace.length === 0 ? aged : Math.min(aged, fullAt(Math.min(...pace)));
  return { at, earliest, latest: Number.isFinite(latest) ? latest : null, by: by_use <= aged ? "use" : "age" };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

interface Inside {
  readonly from: EpochMs;
  readonly to: EpochMs;
  /** Used at `to`. */
  readonly minutes: number;
}

/** Use at each local midnight and change in the window, reckoned back from what is known at the end of each filter's life. */
function pointsOf(
  source: Source,
  window: Window,
  { filter, installed_at, minutes }: { filter: FilterType; installed_at: EpochMs; minutes: number | null },
): UsePoint[] {
  const line = timeLineOf(source, window);
  const end = line.window.end;
  const in_use = timeIn(line, "in_use");
  const past = filterMaintenanceHistory(source, { start: window.start, end: source.now_ms })
    .filter(({ filter_type }) => filter_type === filter)
    .map((one): Inside => ({ from: one.installed_at, to: one.removed_at, minutes: one.booth_in_use_ms / MINUTE_MS }));
  const inside = minutes === null ? past : [...past, { from: installed_at, to: source.now_ms, minutes }];
  const midnights = localBuckets(zoneOf(stateOf(source)), line.window, "day").map(({ start }) => start);
  return inside.flatMap((life, nth) => {
    const from = Math.max(life.from, window.start);
    const to = Math.min(life.to, end);
    if (to < from) return [];
    const at = [from, ...midnights.filter((midnight) => midnight > from && midnight < to), to];
    const points = at.map((one): UsePoint => ({ at: one, minutes: usedAt(one, life, in_use) }));
    return nth === 0 ? points : [{ at: from, minutes: null }, ...points];
  });
}

function usedAt(at: EpochMs, { to, minutes }: Inside, in_use: readonly Interval[]): number {
  return Math.max(0, minutes - overlapOf(in_use, [{ start: at, end: Math.max(at, to) }]) / MINUTE_MS);
}

/** The highest drop of each local day on which the booth was in use: filters resist while the fans run. */
function pressureOf(source: Source, window: Window, filter: FilterType): FilterUse["pressure"] {
  const { parameters, filters } = stateOf(source);
  const [tag = ""] = tagsWithRole(parameters, "filter_pressure", filter);
  const sensor = parameters?.tags[tag];
  if (sensor === undefined) return null;
  const { unit, factor, conversion = { scale: factor, offset: 0 } } = sensor;
  const clipped = { start: window.start, end: Math.min(window.end, source.now_ms) };
  const days = localBuckets(zoneOf(stateOf(source)), clipped, "day").map((day) => ({
    ...day,
    max: null as number | null,
  }));
  let nth = 0;
  for (const { value, quality, at } of history(source, clipped, [tag])) {
    if (quality === "bad" || typeof value !== "number" || !Number.isFinite(value)) continue;
    // Where the clock was put back a reading may stand before the one ahead of it.
    while (nth > 0 && at < (days[nth]?.start ?? 0)) nth -= 1;
    while (at >= (days[nth]?.end ?? Infinity)) nth += 1;
    const day = days[nth];
    if (day !== undefined) day.max = Math.max(day.max ?? value, value);
  }
  const in_use = timeIn(timeLineOf(source, clipped), "in_use");
  for (const day of days) if (overlapOf(in_use, [day]) === 0) day.max = null;
  const { limits, pressure } = filters[filter]?.current ?? {};
  const baseline = pressure?.baseline ?? null;
  const over = limits?.pressure_pa;
  // The limit counts from the clean drop; the tag may have a unit of its own.
  const { scale, offset } = conversion;
  const limit = over === undefined || baseline === null || scale === 0 ? null : (baseline + over - offset) / scale;
  return { tag, unit, limit, days };
}
