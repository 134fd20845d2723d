import { dayBuckets } from "../figures/buckets.ts";
import { allOveruse, overuseIn } from "../figures/filters.ts";
import type { Span } from "../base/span.ts";
import { cycleCount } from "../figures/summary.ts";
import { timeIn } from "../figures/mode-sets.ts";
import { msWithin } from "../figures/window.ts";
import { type Answer, type Call, ok, type Operation } from "../http/operation.ts";
import { envelope, pagingParams } from "../http/query.ts";
import { minutes } from "../base/time.ts";
import { localPeriod } from "../base/zone.ts";
import { type FleetBooth, perBooth } from "./fleet.ts";

/** Filters by local day over all booths of the account: changes against use by region, and overuse. */
export const filterTrends: readonly Operation[] = [
  { method: "GET", path: "/api/filters/maintenance_timeline", handle: timeline },
  { method: "GET", path: "/api/filters/overuse_trend", handle: trend },
];

type Numbers = Readonly<Record<string, number>>;

/** The sums of what each booth adds to a day, in order of their keys. */
async function sumsByDay(
  call: Call,
  keysOf: (booth: FleetBooth, period: string) => Readonly<Record<string, string>>,
  figuresOf: (booth: FleetBooth) => (day: Span) => Numbers,
): Promise<Record<string, unknown>[]> {
  const sums = new Map<string, { keys: Readonly<Record<string, string>>; figures: Record<string, number> }>();
  await perBooth(call, (booth) => {
    const figuresIn = figuresOf(booth);
    for (const day of dayBuckets(booth.window, booth.calendar.tz)) {
      const keys = keysOf(booth, localPeriod(booth.calendar.tz, day.start, "day"));
      const id = JSON.stringify(Object.values(keys));
      const sum = sums.get(id) ?? { keys, figures: {} };
      for (const [name, value] of Object.entries(figuresIn(day))) sum.figures[name] = (sum.figures[name] ?? 0) + value;
      sums.set(id, sum);
    }
  });
  const ordered = [...sums].sort(([a], [b]) => (a < b ? -1 : 1));
  return ordered.map(([, { keys, figures }]) => ({ ...keys, ...rounded(figures) }));
}

/** Sums of figures that have 4 decimals each. */
function rounded(figures: Numbers): Numbers {
  return Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, Math.round(value * 1e4) / 1e4]));
}

async function timeline(call: Call): Promise<Answer> {
  const items = await sumsByDay(
    call,
    ({ region_id }, period) => ({ period, region_id }),
    ({ figures }) => {
      const inUse = timeIn(figures, "in_use");
      const overused = allOveruse(figures.filter_input, figures.installations);
      return (day) => {
        const over = overuseIn(overused, day);
        const changes = figures.maintenance.filter((one) => one.removed_at >= day.start && one.removed_at < day.end);
        const late = changes.filter((one) => one.service === "late").length;
        return {
          in_use: minutes(msWithin(inUse, day)),
          cycle_count: cycleCount(figures, day),
          overuse_cycles: over.cycles,
          overuse_minutes: minutes(over.ms),
          on_time: changes.length - late,
          late,
          events_during_period: changes.length,
        };
      };
    },
  );
  return ok(envelope(items, pagingParams(call.query, { allowAll: false })));
}

/** `overuse_count`: episodes that overlap the day, so that one may count on several days. */
async function trend(call: Call): Promise<Answer> {
  const items = await sumsByDay(
    call,
    (_, period) => ({ period }),
    ({ figures }) => {
      const overused = allOveruse(figures.filter_input, figures.installations);
      return (day) => {
        const { ms, cycles } = overuseIn(overused, day);
        const overlapping = overused.episodes.filter((span) => span.start < day.end && span.end > day.start);
        return { overuse_count: overlapping.length, overuse_cycles: cycles, overuse_time: minutes(ms) };
      };
    },
  );
  return ok(envelope(items, pagingParams(call.query, { allowAll: false })));
}
