import { rows } from "../db.ts";
import { bakeMinutes, cycleCount, overuse, utilization } from "../figures/summary.ts";
import { ok } from "../http/operation.ts";
import type { Answer, Call, Operation } from "../http/operation.ts";
import { envelope, pagingParams, windowParams } from "../http/query.ts";
import type { BoothRow } from "../provisioning/rows.ts";
import { boothFields } from "./booth-fields.ts";
import { boothOf, calendarOf, figuresOf } from "./common.ts";

/** GET /api/booths and /api/booths/{id}. `search`: part of serial number or name; unknown `includes` are ignored. */
export const booths: readonly Operation[] = [
  { method: "GET", path: "/api/booths", handle: list },
  { method: "GET", path: "/api/booths/:id", handle: (call) => ok(boothFields(call, boothOf(call))) },
];

function list(call: Call): Answer {
  const search = (call.query["search"] ?? "").trim().toUpperCase();
  const sql = "SELECT * FROM booths WHERE account_id = ? ORDER BY serial_number";
  const found = rows<BoothRow>(call.service.db, sql, call.caller.account_id).filter(
    (booth) => booth.serial_number.includes(search) || booth.name.toUpperCase().includes(search),
  );
  const page = envelope(found, pagingParams(call.query, { allowAll: true }));
  const includes = (call.query["includes"] ?? "").split(":");
  return ok({
    ...page,
    data: page.data.map((booth) => ({ ...boothFields(call, booth), ...included(call, booth, includes) })),
  });
}

function included(call: Call, booth: BoothRow, includes: readonly string[]): Record<string, unknown> {
  const calendar = calendarOf(call, booth);
  const window = windowParams(call.query, { tz: calendar.tz, now: call.now });
  const figures = figuresOf(call, booth);
  const parts: Readonly<Record<string, () => Record<string, unknown>>> = {
    cycle_count: () => ({ cycles_count: cycleCount(figures, window) }),
    utilization_times: () => {
      const { utilization_minutes, working_minutes } = utilization(figures, calendar, window);
      return { utilization_minutes, working_minutes };
    },
    energy_usage: () => {
      const { gas_usage, kwh_usage } = utilization(figures, calendar, window);
      return { gas_usage, kwh_usage };
    },
    bake_time: () => ({ bake_time: bakeMinutes(figures, window) }),
    overuse_data: () => overuse(figures, window),
  };
  return Object.assign({}, ...includes.map((name) => (Object.hasOwn(parts, name) ? parts[name]?.() : {}))) as Record<
    string,
    unknown
  >;
}
