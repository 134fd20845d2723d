import type { Mode } from "../../../src/domain/booth.ts";
import { evenBuckets } from "../figures/buckets.ts";
import { timeIn } from "../figures/mode-sets.ts";
import { msByMode, msWithin } from "../figures/window.ts";
import { type Answer, type Call, ok, type Operation } from "../http/operation.ts";
import { envelope, pagingParams } from "../http/query.ts";
import { formatTime, minutes } from "../base/time.ts";
import { toWall } from "../base/zone.ts";
import { intervalMs } from "./booth-usage.ts";
import { perBoothOfFacility } from "./fleet.ts";
import { listedMinutes } from "./mode-names.ts";
import { HOUR_MS } from "../../../src/domain/time.ts";

/** The epoch was a Thursday; hours of the week count from Monday 00:00. */
const EPOCH_HOUR_OF_WEEK = 3 * 24;

/** A facility's time: the sum over its booths. */
export const facilityUsage: readonly Operation[] = [
  { method: "GET", path: "/api/facilities/:id/utilization_frequency", handle: frequency },
  { method: "GET", path: "/api/facilities/:id/utilization_summary", handle: summary },
  { method: "GET", path: "/api/facilities/:id/utilization_timeline", handle: timeline },
];

/** Counted cycles by the local hour of the week in which they ended. */
async function frequency(call: Call): Promise<Answer> {
  const counts = new Map<number, number>();
  await perBoothOfFacility(call, ({ figures, window, calendar }) => {
    for (const { counted, end } of figures.cycles) {
      if (!counted || end < window.start || end >= window.end) continue;
      const hour = (Math.floor(toWall(calendar.tz, end) / HOUR_MS) + EPOCH_HOUR_OF_WEEK) % 168;
      counts.set(hour, (counts.get(hour) ?? 0) + 1);
    }
  });
  const items = [...counts].sort(([a], [b]) => a - b).map(([hour_of_week, count]) => ({ hour_of_week, count }));
  return ok(envelope(items, pagingParams(call.query, { allowAll: false })));
}

/** Milliseconds by mode, all booths together. */
function sumsOf(parts: readonly ReadonlyMap<Mode, number>[]): Map<Mode, number> {
  const sums = new Map<Mode, number>();
  for (const part of parts) {
    for (const [mode, ms] of part) sums.set(mode, (sums.get(mode) ?? 0) + ms);
  }
  return sums;
}

async function summary(call: Call): Promise<Answer> {
  const parts = await perBoothOfFacility(call, ({ figures, window }) => {
    return { used: msWithin(timeIn(figures, "in_use"), window), modes: msByMode(figures.stages, window) };
  });
  const sums = sumsOf(parts.map(({ modes }) => modes));
  const used = parts.reduce((sum, part) => sum + part.used, 0);
  const idle = sums.get("no_data") ?? 0;
  const all = [...sums.values()].reduce((sum, ms) => sum + ms, 0);
  return ok({
    all_active_modes: minutes(all - idle),
    in_use: minutes(used),
    idle: minutes(idle),
    bake: minutes(sums.get("bake") ?? 0),
    modes: listedMinutes(sums),
  });
}

/** `duration` is the interval's own length; `modes` are the booths' minutes together. */
async function timeline(call: Call): Promise<Answer> {
  const ms = intervalMs(call);
  const parts = await perBoothOfFacility(call, ({ figures, window }) =>
    evenBuckets(window, ms).map((span) => ({ span, modes: msByMode(figures.stages, span) })),
  );
  // All stand in one facility, and so in one zone: their windows are the same.
  const items = (parts[0] ?? []).map(({ span }, i) => {
    const sums = sumsOf(parts.map((booth) => booth[i]?.modes ?? new Map<Mode, number>()));
    return { timestamp: formatTime(span.start), duration: minutes(span.end - span.start), modes: listedMinutes(sums) };
  });
  return ok(envelope(items, pagingParams(call.query, { allowAll: false })));
}
