import type { Mode } from "../../../src/domain/booth.ts";
import type { BoothFigures } from "../figures/booth.ts";
import { evenBuckets, localBuckets } from "../figures/buckets.ts";
import { timeIn } from "../figures/mode-sets.ts";
import { runtimeMs } from "../figures/summary.ts";
import type { Span } from "../base/span.ts";
import { msByMode, msWithin } from "../figures/window.ts";
import { badRequest } from "../base/errors.ts";
import { type Answer, type Call, ok, type Operation } from "../http/operation.ts";
import { envelope, pagingParams, timeParam, windowParams } from "../http/query.ts";
import { formatTime, minutes } from "../base/time.ts";
import { boothOf, calendarOf, figuresOf } from "./common.ts";
import { listedMinutes, MODE_NAMES, modeNamed } from "./mode-names.ts";
import { lastPeriod, lengthParam, unitParam } from "./runtime.ts";

/** How a booth's time was spent: by interval, by day, in sum, and stage by stage. */
export const boothUsage: readonly Operation[] = [
  { method: "GET", path: "/api/booths/:id/runtime_series", handle: runtimeSeries },
  { method: "GET", path: "/api/booths/:id/utilization_summary", handle: summary },
  { method: "GET", path: "/api/booths/:id/utilization_timeline", handle: timeline },
  { method: "GET", path: "/api/booths/:id/recent_stages", handle: recentStages },
];

function asked(call: Call): { figures: BoothFigures; window: Span; tz: string } {
  const booth = boothOf(call);
  const { tz } = calendarOf(call, booth);
  return { figures: figuresOf(call, booth), window: windowParams(call.query, { tz, now: call.now }), tz };
}

/**
 * By local hour, day, week or month, of `start` and `end` or of the last `length` units; `states` names modes to count instead of
 * the runtime set.
 */
function runtimeSeries(call: Call): Answer {
  const { figures, tz, ...asOf } = asked(call);
  const unit = unitParam(call.query) ?? "day";
  const length = lengthParam(call.query);
  const states = statesParam(call);
  const isWindow = length === undefined || timeParam(call.query, "start") !== undefined;
  const window = isWindow ? asOf.window : lastPeriod(call.now, unit, length);
  const items = localBuckets(window, tz, unit).map((span) => {
    const ms = states === undefined ? runtimeMs(figures, span) : inModes(msByMode(figures.stages, span), states);
    return { time: formatTime(span.start), value: minutes(ms) };
  });
  return ok(envelope(items, pagingParams(call.query, { allowAll: false })));
}

function inModes(sums: ReturnType<typeof msByMode>, modes: readonly Mode[]): number {
  return modes.reduce((sum, mode) => sum + (sums.get(mode) ?? 0), 0);
}

/** Modes by their names as they are shown, comma-separated; undefined: not asked for. */
function statesParam(call: Call): Mode[] | undefined {
  const names = (call.query["states"] ?? "").split(",").filter((name) => name !== "");
  if (names.length === 0) return undefined;
  const modes = new Set(names.map(modeNamed));
  if (modes.has(undefined)) throw badRequest("states names no mode that is known");
  return [...modes].filter((mode) => mode !== undefined);
}

/** Minutes of a window: `idle` is the time without data, `all_active_modes` the rest. */
export function usageOf(figures: Pick<BoothFigures, "stages" | "log">, window: Span): Record<string, unknown> {
  const sums = msByMode(figures.stages, window);
  const idle = sums.get("no_data") ?? 0;
  return {
    all_active_modes: minutes(window.end - window.start - idle),
    in_use: minutes(msWithin(timeIn(figures, "in_use"), window)),
    idle: minutes(idle),
    bake: minutes(sums.get("bake") ?? 0),
    modes: listedMinutes(sums),
  };
}

function summary(call: Call): Answer {
  const { figures, window } = asked(call);
  return ok(usageOf(figures, window));
}

/** `interval` of a timeline in minutes, default 60. */
export function intervalMs(call: Call): number {
  const text = call.query["interval"] || "60";
  if (!/^\d{1,6}$/.test(text) || Number(text) < 1) throw badRequest("interval is not a number of minutes");
  return Number(text) * 60_000;
}

export function timelineItem(figures: Pick<BoothFigures, "stages">, span: Span): Record<string, unknown> {
  return {
    timestamp: formatTime(span.start),
    duration: minutes(span.end - span.start),
    modes: listedMinutes(msByMode(figures.stages, span)),
  };
}

function timeline(call: Call): Answer {
  const { figures, window } = asked(call);
  const items = evenBuckets(window, intervalMs(call)).map((span) => timelineItem(figures, span));
  return ok(envelope(items, pagingParams(call.query, { allowAll: false })));
}

/** Stages that overlap the window, as it cuts them, the newest first; before the first reading there is no data. */
function recentStages(call: Call): Answer {
  const { figures, window } = asked(call);
  const first = Math.min(figures.stages[0]?.start ?? window.end, window.end);
  const before = first > window.start ? [{ mode: "no_data" as const, start: window.start, end: first }] : [];
  const shown = [...before, ...figures.stages.filter((stage) => isIn(stage, window))];
  const items = shown.reverse().map(({ mode, start, end }) => ({
    mode: MODE_NAMES[mode],
    start_time: formatTime(Math.max(start, window.start)),
    end_time: formatTime(Math.min(end, window.end)),
  }));
  return ok(envelope(items, pagingParams(call.query, { allowAll: false })));
}

/** A stage of a single reading has a start and no length. */
function isIn({ start, end }: Span, window: Span): boolean {
  if (start === end) return start >= window.start && start < window.end;
  return Math.min(end, window.end) > Math.max(start, window.start);
}
