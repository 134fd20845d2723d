import { evenBuckets } from "../figures/buckets.ts";
import type { Span } from "../figures/span.ts";
import { timeIn } from "../figures/mode-sets.ts";
import { msByMode, msWithin } from "../figures/window.ts";
import { ok } from "../http/operation.ts";
import type { Answer, Call, Operation } from "../http/operation.ts";
import { envelope, pagingParams } from "../http/query.ts";
import { formatTime, minutes } from "../time.ts";
import { toWall } from "../zone.ts";
import { intervalMs } from "./booth-usage.ts";
import { facilityFleet } from "./fleet.ts";
import type { FleetBooth } from "./fleet.ts";
import { MODE_NAMES } from "./mode-names.ts";

const HOUR_MS = 3_600_000;
/** The epoch was a Thursday; hours of the week count from Monday 00:00. */
const EPOCH_HOUR_OF_WEEK = 3 * 24;

/** A facility's time: the sum over its booths. */
export const facilityUsage: readonly Operation[] = [
  { method: "GET", path: "/api/facilities/:id/utilization_frequency", handle: frequency },
  { method: "GET", path: "/api/facilities/:id/utilization_summary", handle: summary },
  { method: "GET", path: "/api/facilities/:id/utilization_timeline", handle: timeline },
];

/** Counted cycles by the local hour of the week in which they ended. */
function frequency(call: Call): Answer {
  const counts = new Map<number, number>();
  for (const { figures, window, calendar } of facilityFleet(call)) {
    for (const { counted, end } of figures.cycles) {
      if (!counted || end < window.start || end >= window.end) continue;
      const hour = (Math.floor(toWall(calendar.tz, end) / HOUR_MS) + EPOCH_HOUR_OF_WEEK) % 168;
      counts.set(hour, (counts.get(hour) ?? 0) + 1);
    }
  }
  const items = [...counts].sort(([a], [b]) => a - b).map(([hour_of_week, count]) => ({ hour_of_week, count }));
  return ok(envelope(items, pagingParams(call.query, { allowAll: false })));
}

function sumsOf(fleet: readonly FleetBooth[], span?: Span): { sums: Map<string, number>; used: number } {
  const sums = new Map<string, number>();
  let used = 0;
  for (const { figures, window } of fleet) {
    used += msWithin(timeIn(figures, "in_use"), span ?? window);
    for (const [mode, ms] of msByMode(figures.stages, span ?? window)) {
      sums.set(MODE_NAMES[mode], (sums.get(MODE_NAMES[mode]) ?? 0) + ms);
    }
  }
  return { sums, used };
}

function modesOf(sums: ReadonlyMap<string, number>): unknown[] {
  return [...sums].map(([mode, ms]) => ({ mode, duration: minutes(ms) }));
}

function summary(call: Call): Answer {
  const { sums, used } = sumsOf(facilityFleet(call));
  const idle = sums.get(MODE_NAMES.no_data) ?? 0;
  const all = [...sums.values()].reduce((sum, ms) => sum + ms, 0);
  return ok({
    all_active_modes: minutes(all - idle),
    in_use: minutes(used),
    idle: minutes(idle),
    bake: minutes(sums.get(MODE_NAMES.bake) ?? 0),
    modes: modesOf(sums),
  });
}

/** `duration` is the interval's own length; `modes` are the booths' minutes together. */
function timeline(call: Call): Answer {
  const fleet = facilityFleet(call);
  const window = fleet[0]?.window;
  const spans = window === undefined ? [] : evenBuckets(window, intervalMs(call));
  const items = spans.map((span) => {
    const duration = minutes(span.end - span.start);
    return { timestamp: formatTime(span.start), duration, modes: modesOf(sumsOf(fleet, span).sums) };
  });
  return ok(envelope(items, pagingParams(call.query, { allowAll: false })));
}
