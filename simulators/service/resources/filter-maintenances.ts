import { FILTER_TYPES } from "../../../src/domain/booth.ts";
import type { Installation } from "../figures/filters.ts";
import { timeIn } from "../figures/mode-sets.ts";
import { msWithin } from "../figures/window.ts";
import { clip, length, type Span } from "../base/span.ts";
import { type Answer, type Call, ok, type Operation } from "../http/operation.ts";
import { envelope, pagingParams, windowParams } from "../http/query.ts";
import { days, formatTime } from "../base/time.ts";
import { boothOf, calendarOf, figuresOf } from "./common.ts";

const WEEK_MS = 7 * 86_400_000;
const NOMINAL_SHARE = 0.8;

/** GET /api/booths/{id}/filter_maintenances: installations that overlap the window, by filter type, in days. */
export const filterMaintenances: readonly Operation[] = [
  { method: "GET", path: "/api/booths/:id/filter_maintenances", handle: answer },
];

function answer(call: Call): Answer {
  const booth = boothOf(call);
  const window = windowParams(call.query, { tz: calendarOf(call, booth).tz, now: call.now });
  const figures = figuresOf(call, booth);
  const { installations } = figures;
  const in_use = timeIn(figures, "in_use");
  const entries = FILTER_TYPES.flatMap((type) => {
    const mine = installations.filter((filter) => filter.type === type);
    return mine.length === 0 ? [] : [[type, entry(mine, window, { now: call.now, in_use })] as const];
  });
  return ok(envelope([Object.fromEntries(entries)], pagingParams(call.query, { allowAll: false })));
}

interface Known {
  readonly now: number;
  /** The booth's time in use. */
  readonly in_use: readonly Span[];
}

function entry(filters: readonly Installation[], window: Span, known: Known): unknown {
  const shown = filters.filter(
    (filter) => filter.installed_at <= window.end && (filter.removed_at ?? Infinity) > window.start,
  );
  return {
    last_active_filter: formatTime(filters.at(-1)?.installed_at ?? 0),
    filter_interval_log: shown.map((filter) => interval(filter, known)),
  };
}

function interval(filter: Installation, { now, in_use }: Known): unknown {
  const end = filter.removed_at ?? now;
  const estimated = estimatedMs(filter, { now: end, in_use });
  const overused = length(clip(filter.overuse, { start: filter.installed_at, end }));
  return {
    start: formatTime(filter.installed_at),
    duration: days(end - filter.installed_at),
    filter_estimated_duration: estimated === null ? null : days(estimated),
    filter_maintenance_duration: estimated === null ? null : days(estimated * (1 - NOMINAL_SHARE)),
    filter_nominal_duration: estimated === null ? null : days(estimated * NOMINAL_SHARE),
    filter_overuse_duration: days(overused),
  };
}

/** Age at the limit at the mean daily usage since installation; null under 7 days or where usage isn't known. */
function estimatedMs(filter: Installation, { now: end, in_use }: Known): number | null {
  const age = end - filter.installed_at;
  const counted = filter.usage.minutesAt(end);
  // For a filter that was in place at first contact the PLC's count covers more than its known age, so the time in
  // use since then counts.
  const since = { start: filter.installed_at, end };
  const used = counted !== null && filter.source === "assumed" ? msWithin(in_use, since) / 60_000 : counted;
  const { limits } = filter;
  if (age < WEEK_MS) return null;
  const byMinutes =
    limits.minutes !== undefined && used !== null && used > 0 ? (age * limits.minutes) / used : Infinity;
  const byDays = limits.days === undefined ? Infinity : limits.days * 86_400_000;
  const least = Math.min(byMinutes, byDays);
  return Number.isFinite(least) ? least : null;
}
