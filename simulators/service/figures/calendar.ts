import type { WorkingHours } from "../../../src/domain/booth.ts";
import { type Db, row, rows, run } from "../storage/db.ts";
import type { Calendar } from "./summary.ts";

interface Hours {
  readonly tz: string;
  readonly working_hours: string;
}

/** Returns zone and working hours of a facility, including former ones; undefined: the facility does not exist. */
export function calendarOfFacility(db: Db, facilityId: string): Calendar | undefined {
  const found = row<Hours>(db, "SELECT tz, working_hours FROM facilities WHERE id = ?", facilityId);
  if (found === undefined) return undefined;
  const sql = "SELECT until, tz, working_hours FROM facility_hours_before WHERE facility_id = ? ORDER BY until";
  const before = rows<Hours & { until: number }>(db, sql, facilityId);
  return { ...read(found), before: before.map((hours) => ({ until: hours.until, ...read(hours) })) };
}

function read({ tz, working_hours }: Hours): { tz: string; working_hours: WorkingHours[] } {
  return { tz, working_hours: JSON.parse(working_hours) as WorkingHours[] };
}

/** Stores the former zone and hours before a change. Two changes at one instant count as one. */
export function keepHours(db: Db, facilityId: string, to: { tz: string; working_hours: string; now: number }): void {
  const now = row<Hours>(db, "SELECT tz, working_hours FROM facilities WHERE id = ?", facilityId);
  if (now === undefined || (now.tz === to.tz && now.working_hours === to.working_hours)) return;
  const sql =
    "INSERT INTO facility_hours_before (facility_id, until, tz, working_hours) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING";
  run(db, sql, facilityId, to.now, now.tz, now.working_hours);
}
