import { dayBuckets } from "../figures/buckets.ts";
import type { Span } from "../base/span.ts";
import { utilization } from "../figures/summary.ts";
import { badRequest } from "../base/errors.ts";
import type { Item } from "../http/list.ts";
import { type Answer, type Call, ok, type Operation } from "../http/operation.ts";
import { envelope, pagingParams } from "../http/query.ts";
import { formatTime, minutes } from "../base/time.ts";
import { localPeriod } from "../base/zone.ts";
import { bucketedUse } from "../fleet/days.ts";
import { NO_USE, type Use } from "../fleet/facts.ts";
import { daysOf, perBooth, perBoothOfFacility, usageItem } from "./fleet.ts";
import { boothIds, isLarge, type PlacedBooth, placedBooths, usesOf, zonesOf } from "./large-fleet.ts";
import { listedMinutes } from "./mode-names.ts";

/** Use over several booths: of the account, and of one facility. */
export const utilizationReports: readonly Operation[] = [
  { method: "GET", path: "/api/bucketed_utilization", handle: bucketed },
  { method: "GET", path: "/api/utilization", handle: async (call) => used(call) },
  { method: "GET", path: "/api/utilization/trends", handle: trends },
  { method: "GET", path: "/api/facilities/:id/utilization", handle: ofFacility },
  { method: "GET", path: "/api/reports/cycles_utilization", handle: cyclesUtilization },
];

function page(call: Call, items: readonly Item[]): Answer {
  return ok(envelope(items, pagingParams(call.query, { allowAll: false })));
}

async function used(call: Call): Promise<Answer> {
  if (!isLarge(call)) return page(call, await perBooth(call, usageItem));
  const paging = pagingParams(call.query, { allowAll: false });
  const ids = boothIds(call);
  const { data: asked, ...shown } = envelope(ids, paging);
  const placed = placedBooths(call, asked);
  const uses = usesOf(call, placed);
  const data = placed.map(({ booth, window }) => usedItem(booth.id, window, uses.get(booth.id) ?? NO_USE(window)));
  return ok({ data, ...shown });
}

function usedItem(booth_id: string, window: Span, { in_use_ms, cycles, gas, kwh, modes }: Use): Item {
  const rounded = (value: number): number => Math.round(value * 10_000) / 10_000;
  const figures = {
    cycle_count: cycles,
    gas_usage: rounded(gas),
    kwh_usage: rounded(kwh),
    modes: listedMinutes(modes),
  };
  return { booth_id, start: formatTime(window.start), duration: minutes(in_use_ms), ...figures };
}

async function ofFacility(call: Call): Promise<Answer> {
  return page(call, await perBoothOfFacility(call, usageItem));
}

function groupsOf(fleet: PlacedBooth, by: string): [group: string, window: Span][] {
  const { booth, region_id, window, tz } = fleet;
  if (by === "booth") return [[booth.id, window]];
  if (by === "facility") return [[booth.facility_id, window]];
  if (by === "region") return [[region_id, window]];
  return periodsOf({ window, tz }, by);
}

function periodsOf({ window, tz }: Pick<PlacedBooth, "window" | "tz">, by: string): [group: string, window: Span][] {
  return dayBuckets(window, tz).map((span) => [localPeriod(tz, span.start, by), span]);
}

async function bucketed(call: Call): Promise<Answer> {
  const by = call.query["group_by"] ?? "day";
  if (!["day", "week", "month", "booth", "facility", "region"].includes(by)) throw badRequest("group_by is not known");
  if (isLarge(call)) return page(call, bucketedAtLarge(call, by));
  const sums = new Map<string, Record<string, number>>();
  const found = await perBooth(call, (fleet) =>
    groupsOf({ ...fleet, tz: fleet.calendar.tz }, by).map(([group, span]) => ({
      group,
      figures: utilization(fleet.figures, fleet.calendar, span),
    })),
  );
  for (const groups of found) {
    for (const { group, figures } of groups) {
      const sum = sums.get(group) ?? {};
      for (const name of ["gas_usage", "kwh_usage", "utilization_minutes", "cycle_count"]) {
        sum[name] = Math.round(((sum[name] ?? 0) + (figures[name] ?? 0)) * 10_000) / 10_000;
      }
      sums.set(group, sum);
    }
  }
  const items = [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([group, sum]) => ({ group, ...sum }));
  return page(call, items);
}

/** A group is there for every booth of it, with nothing or not. */
function bucketedAtLarge(call: Call, by: string): Item[] {
  const isPeriod = ["day", "week", "month"].includes(by);
  const parts = zonesOf(call).flatMap((zone) => {
    const spans: [group: string, window: Span][] = isPeriod ? periodsOf(zone, by) : [["", zone.window]];
    return spans.map(([group, window]) => ({ zone: zone.tz, group, window }));
  });
  const grouping = isPeriod ? "period" : (by as "booth" | "facility" | "region");
  const { account_id } = call.caller;
  const used = bucketedUse(call.service.db, { account_id, by: grouping, parts, now: call.now });
  const found = new Map(used.map((sum) => [sum.group, sum]));
  const groups = isPeriod
    ? parts.map(({ group }) => group)
    : placedBooths(call).flatMap((one) => groupsOf(one, by)[0]?.[0] ?? []);
  const rounded = (value = 0): number => Math.round(value * 10_000) / 10_000;
  return [...new Set(groups)].sort().map((group) => {
    const { gas, kwh, minutes: used_minutes, cycles = 0 } = found.get(group) ?? {};
    const energy = { gas_usage: rounded(gas), kwh_usage: rounded(kwh) };
    return { group, ...energy, utilization_minutes: rounded(used_minutes), cycle_count: cycles };
  });
}

/** By local day: minutes in use of all booths, and the median of the booths' cycles on days with working hours. */
async function trends(call: Call): Promise<Answer> {
  const periods = new Map<string, { used: number; cycles: number[] }>();
  await perBooth(call, (fleet) => {
    for (const { span, cycles, is_working } of daysOf(fleet)) {
      const period = localPeriod(fleet.calendar.tz, span.start, "day");
      const sum = periods.get(period) ?? { used: 0, cycles: [] };
      sum.used += Number(utilization(fleet.figures, fleet.calendar, span)["utilization_minutes"]) * 60_000;
      if (is_working) sum.cycles.push(cycles);
      periods.set(period, sum);
    }
  });
  const items = [...periods]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([period, { used, cycles }]) => {
      return { period, utilization_time: minutes(used), median_cycles: median(cycles) };
    });
  return page(call, items);
}

function median(values: number[]): number | null {
  const sorted = [...values].sort((a, b) => a - b);
  const low = sorted[(sorted.length - 1) >> 1];
  const high = sorted[sorted.length >> 1];
  return low === undefined || high === undefined ? null : (low + high) / 2;
}

async function cyclesUtilization(call: Call): Promise<Answer> {
  const items = await perBooth(call, (fleet) =>
    dayBuckets(fleet.window, fleet.calendar.tz).map((span) => {
      const { cycle_count, utilization_minutes, working_minutes } = utilization(fleet.figures, fleet.calendar, span);
      const period = localPeriod(fleet.calendar.tz, span.start, "day");
      return { booth_id: fleet.booth.id, period, cycle_count, utilization_minutes, working_minutes };
    }),
  );
  return page(call, items.flat());
}
