import type { Maintenance } from "../../../src/domain/record.ts";
import { ok, type Operation } from "../http/operation.ts";
import { envelope, openWindowParams, pagingParams } from "../http/query.ts";
import { days, formatTime, minutes } from "../base/time.ts";
import { boothOf, figuresOf } from "./common.ts";

/** GET /api/booths/{id}/filter_maintenance_history: filters removed in the window (default: ever), oldest first. */
export const filterMaintenanceHistory: readonly Operation[] = [
  {
    method: "GET",
    path: "/api/booths/:id/filter_maintenance_history",
    handle: (call) => {
      const booth = boothOf(call);
      const { start, end } = openWindowParams(call.query, call.now);
      const removed = figuresOf(call, booth).maintenance.filter(
        (item) => item.removed_at >= start && item.removed_at < end,
      );
      const items = removed.sort((a, b) => a.removed_at - b.removed_at).map(maintenanceItem);
      return ok(envelope(items, pagingParams(call.query, { allowAll: false })));
    },
  },
];

/** Times in minutes, lengths in days. */
export function maintenanceItem(item: Maintenance): Record<string, unknown> {
  return {
    filter_type: item.filter_type,
    maintenance_date: formatTime(item.removed_at),
    duration: days(item.duration_ms),
    overuse: days(item.overuse_ms),
    active_spray_time: minutes(item.active_spray_ms),
    booth_in_use_time: minutes(item.booth_in_use_ms),
    booth_overuse_cycles: item.booth_overuse_cycles,
    booth_overuse_time: minutes(item.booth_overuse_ms),
  };
}
