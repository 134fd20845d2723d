import { calendarOfFacility } from "../calendar.ts";
import { row, rows } from "../db.ts";
import type { BoothFigures } from "../figures/booth.ts";
import { boothFigures } from "../figures/booth.ts";
import type { Calendar } from "../figures/summary.ts";
import { notFound } from "../http/errors.ts";
import type { Call } from "../http/operation.ts";
import type { BoothRow } from "../provisioning/rows.ts";

/** The booth of the path's id, if the caller's account has it. */
export function boothOf(call: Call): BoothRow {
  const sql = "SELECT * FROM booths WHERE id = ? AND account_id = ?";
  const found = row<BoothRow>(
    call.service.db,
    sql,
    call.params["id"] ?? call.params["booth_id"] ?? "",
    call.caller.account_id,
  );
  if (found === undefined) throw notFound("booth");
  return found;
}

/** Time zone and working hours of a booth's facility. */
export function calendarOf(call: Call, booth: BoothRow): Calendar {
  const found = calendarOfFacility(call.service.db, booth.facility_id);
  if (found === undefined) throw notFound("facility");
  return found;
}

export function figuresOf(call: Call, booth: BoothRow): BoothFigures {
  return boothFigures(call.service.db, booth.id, call.now);
}

/** Every booth of the caller's account, by serial number. */
export function boothsOf(call: Call): BoothRow[] {
  const sql = "SELECT * FROM booths WHERE account_id = ? ORDER BY serial_number";
  return rows<BoothRow>(call.service.db, sql, call.caller.account_id);
}
