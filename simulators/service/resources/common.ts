import { setImmediate as turn } from "node:timers/promises";
import { calendarOfFacility } from "../figures/calendar.ts";
import { row, rows } from "../storage/db.ts";
import { type BoothFigures, boothFigures } from "../figures/booth.ts";
import type { Calendar } from "../figures/summary.ts";
import { notFound } from "../base/errors.ts";
import type { Mailing } from "../accounts/users.ts";
import type { Call } from "../http/operation.ts";
import type { BoothRow } from "../provisioning/rows.ts";

export interface AccountRow {
  readonly id: string;
  readonly name: string;
  readonly customer_type: string | null;
  readonly primary_industry: string | null;
}

/** The account of that id, where it is the caller's own or was made under it; else 404. */
export function accountOf({ service, caller }: Call, id: string): AccountRow {
  const sql = "SELECT * FROM accounts WHERE id = ? AND ? IN (id, parent_id)";
  const found = row<AccountRow>(service.db, sql, id, caller.account_id);
  if (found === undefined) throw notFound("account");
  return found;
}

/** Returns what sending a mail needs. */
export function mailingOf({ service }: Call): Mailing {
  const { db, publicUrl = () => "", queuesMails = false } = service;
  return { db, publicUrl: publicUrl(), queuesMails };
}

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

/** Maps each item, with a turn of the event loop for other requests after each. */
export async function inTurns<T, U>(all: readonly T[], make: (one: T) => U): Promise<U[]> {
  const made: U[] = [];
  for (const one of all) {
    made.push(make(one));
    await turn();
  }
  return made;
}

/** Every booth of the caller's account, by serial number. */
export function boothsOf(call: Call): BoothRow[] {
  const sql = "SELECT * FROM booths WHERE account_id = ? ORDER BY serial_number";
  return rows<BoothRow>(call.service.db, sql, call.caller.account_id);
}
