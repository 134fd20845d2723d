import { utilization } from "../figures/summary.ts";
import { ok, type Operation } from "../http/operation.ts";
import { windowParams } from "../http/query.ts";
import { boothOf, calendarOf, figuresOf } from "./common.ts";

/** GET /api/booths/{id}/utilization_stats over the window (default: the local day so far). */
export const utilizationStats: readonly Operation[] = [
  {
    method: "GET",
    path: "/api/booths/:id/utilization_stats",
    handle: (call) => {
      const booth = boothOf(call);
      const calendar = calendarOf(call, booth);
      const window = windowParams(call.query, { tz: calendar.tz, now: call.now });
      return ok(utilization(figuresOf(call, booth), calendar, window));
    },
  },
];
