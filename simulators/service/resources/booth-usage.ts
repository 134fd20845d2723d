import { MODES_BY_PRIORITY } from "../../../src/core/types/booth.ts";
import type { Mode } from "../../../src/core/types/booth.ts";
import type { BoothFigures } from "../figures/booth.ts";
import { dayBuckets, evenBuckets, hourBuckets } from "../figures/buckets.ts";
import { timeIn } from "../figures/mode-sets.ts";
import { runtimeMs } from "../figures/summary.ts";
import type { Span } from "../figures/span.ts";
import { msByMode, msWithin } from "../figures/window.ts";
import { badRequest } from "../http/errors.ts";
import { ok } from "../http/operation.ts";
import type { Answer, Call, Operation } from "../http/operation.ts";
import { envelope, pagingParams, windowParams } from "../http/query.ts";
import { formatTime, minutes } from "../time.ts";
import { boothOf, calendarOf, figuresOf } from "./common.ts";
import { MODE_NAMES } from "./mode-names.ts";
import { periodOf } from "./runtime.ts";

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

/** By hour or local day, of `start` and `end` or of the last `length` units; `states` names modes to count instead of the runtime set. */
function runtimeSeries(call: Call): Answer {
  const { figures, tz, ...asOf } = asked(call);
  const unit = call.query["unit"] ?? "day";
  if (unit !== "day" && unit !== "hour") throw badRequest("unit is neither hour nor day");
  const window = call.query["length"] === undefined ? asOf.window : periodOf(call, tz);
  const states = statesParam(call);
  const buckets = unit === "day" ? dayBuckets(window, tz) : hourBuckets(window, tz);
  const items = buckets.map((span) => {
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
  const modes = new Set(names.map((name) => MODES_BY_PRIORITY.find((mode) => MODE_NAMES[mode] === name)));
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
    modes: modesOf(sums),
  };
}

function modesOf(sums: ReturnType<typeof msByMode>): unknown[] {
  return [...sums].map(([mode, ms]) => ({ mode: MODE_NAMES[mode], duration: minutes(ms) }));
}

function summary(call: Call): Answer {
  const { figures, window } = asked(call);
  return ok(usageOf(figures, window));
}

/** `interval` of a timeline in minutes, default 60. */
export function intervalMs(call: Call): number {
  const text = call.query["interval"] ?? "60";
  if (!/^\d{1,6}$/.test(text) || Number(text) < 1) throw badRequest("interval is not a number of minutes");
  return Number(text) * 60_000;
}

export function timelineItem(figures: Pick<BoothFigures, "stages">, span: Span): Record<string, unknown> {
  return {
    timestamp: formatTime(span.start),
    duration: minutes(span.end - span.start),
    modes: modesOf(msByMode(figures.stages, span)),
  };
}

function timeline(call: Call): Answer {
  const { figures, window } = asked(call);
  const items = evenBuckets(window, intervalMs(call)).map((span) => timelineItem(figures, span));
  return ok(envelope(items, pagingParams(call.query, { allowAll: false })));
}

/** Stages that overlap the window, as it cuts them, the newest first. */
function recentStages(call: Call): Answer {
  const { figures, window } = asked(call);
  const shown = figures.stages.filter((stage) => stage.end > window.start && stage.start < window.end);
  const items = shown.reverse().map(({ mode, start, end }) => ({
    mode: MODE_NAMES[mode],
    start_time: formatTime(Math.max(start, window.start)),
    end_time: formatTime(Math.min(end, window.end)),
  }));
  return ok(envelope(items, pagingParams(call.query, { allowAll: false })));
}
