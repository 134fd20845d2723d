import { dayBuckets } from "../figures/buckets.ts";
import type { BoothFigures } from "../figures/booth.ts";
import { type Calendar, cycleCount, utilization } from "../figures/summary.ts";
import type { Span } from "../base/span.ts";
import { msByMode } from "../figures/window.ts";
import { row } from "../storage/db.ts";
import { notFound } from "../base/errors.ts";
import type { Call } from "../http/operation.ts";
import { windowParams } from "../http/query.ts";
import type { BoothRow } from "../provisioning/rows.ts";
import { formatTime } from "../base/time.ts";
import { workingTime } from "../figures/working-hours.ts";
import { boothsOf, calendarOf, figuresOf, inTurns } from "./common.ts";
import { listedMinutes } from "./mode-names.ts";

/** A booth with what reports over several booths are made of. */
export interface FleetBooth {
  readonly booth: BoothRow;
  readonly figures: BoothFigures;
  readonly calendar: Calendar;
  /** The asked window; default: its own facility's local day so far. */
  readonly window: Span;
  readonly region_id: string;
}

/** Maps each of the account's booths, or those of one facility, with a turn for other requests after each booth. */
export function perBooth<T>(call: Call, make: (fleet: FleetBooth) => T, facilityId?: string): Promise<T[]> {
  const asked = boothsOf(call).filter((booth) => facilityId === undefined || booth.facility_id === facilityId);
  return inTurns(asked, (booth) => make(fleetBooth(call, booth)));
}

function fleetBooth(call: Call, booth: BoothRow): FleetBooth {
  const calendar = calendarOf(call, booth);
  const window = windowParams(call.query, { tz: calendar.tz, now: call.now });
  const sql = "SELECT region_id FROM facilities WHERE id = ?";
  const region_id = row<{ region_id: string }>(call.service.db, sql, booth.facility_id)?.region_id ?? "";
  return { booth, figures: figuresOf(call, booth), calendar, window, region_id };
}

/** Maps each booth of the path's facility. Throws 404 if the caller's account doesn't have it. */
export function perBoothOfFacility<T>(call: Call, make: (fleet: FleetBooth) => T): Promise<T[]> {
  const id = call.params["id"] ?? "";
  const sql = "SELECT 1 FROM facilities WHERE id = ? AND account_id = ?";
  if (row(call.service.db, sql, id, call.caller.account_id) === undefined) throw notFound("facility");
  return perBooth(call, make, id);
}

/** Returns a booth's use in the window. */
export function usageItem({ booth, figures, calendar, window }: FleetBooth): Record<string, unknown> {
  const { utilization_minutes, cycle_count, gas_usage, kwh_usage } = utilization(figures, calendar, window);
  const modes = listedMinutes(msByMode(figures.stages, window));
  const start = formatTime(window.start);
  return { booth_id: booth.id, start, duration: utilization_minutes, cycle_count, gas_usage, kwh_usage, modes };
}

/** Local days of a booth's window, with the day's cycles and whether it has working hours. */
export function daysOf(fleet: FleetBooth): { span: Span; cycles: number; is_working: boolean }[] {
  const { figures, calendar, window } = fleet;
  return dayBuckets(window, calendar.tz).map((span) => ({
    span,
    cycles: cycleCount(figures, span),
    is_working: workingTime(calendar, span).length > 0,
  }));
}
