import { setImmediate as turn } from "node:timers/promises";
import { calendarOfFacility } from "../figures/calendar.ts";
import { type Db, inTransaction, rows } from "../storage/db.ts";
import { boothFigures, logVersion } from "../figures/booth.ts";
import { localDay } from "../base/zone.ts";
import { alertsOf, type AlertType } from "./alert-types.ts";
import { eventsOf } from "./definitions.ts";
import { FINAL_MS } from "./periods.ts";
import { alertTypesOf, definitionsOf, type StoredDefinition } from "./stored.ts";
import { writeAlerts, writeEvents } from "./write.ts";

/** The version of the data at the last evaluation, by booth. */
const evaluated = new WeakMap<Db, Map<string, string>>();

interface WatchedBooth {
  readonly id: string;
  readonly account_id: string;
  readonly facility_id: string;
}

/**
 * Returns the booths that an enabled definition or alert type of their account covers, or only those of one account.
 */
export function watchedBooths(db: Db, accountId?: string): WatchedBooth[] {
  const sql = `SELECT id, account_id, facility_id FROM booths WHERE account_id = coalesce(?, account_id) AND (
      account_id IN (SELECT account_id FROM event_definitions WHERE enabled = 1)
      OR account_id IN (SELECT account_id FROM alert_types WHERE enabled = 1)) ORDER BY id`;
  return rows<WatchedBooth>(db, sql, accountId ?? null);
}

/** Evaluates all booths of an account, one per turn of the event loop. */
export async function evaluateAccount(db: Db, accountId: string, now: number): Promise<void> {
  for (const booth of watchedBooths(db, accountId)) if (evaluateBooth(db, booth, now)) await turn();
}

/** Updates a booth's events and alerts from its log. Returns false if log, rules and local day are unchanged. */
export function evaluateBooth(db: Db, booth: WatchedBooth, now: number): boolean {
  const calendar = calendarOfFacility(db, booth.facility_id);
  if (calendar === undefined) return false;
  const definitions = definitionsOf(db, booth);
  const types = alertTypesOf(db, booth.account_id);
  const day = localDay(calendar.tz, now - FINAL_MS).start;
  const stamp = `${logVersion(db, booth.id)} ${day} ${JSON.stringify([definitions, types])}`;
  let done = evaluated.get(db);
  if (done === undefined) evaluated.set(db, (done = new Map<string, string>()));
  if (done.get(booth.id) === stamp) return false;
  const figures = boothFigures(db, booth.id, now);
  const events = definitions.map((definition): [StoredDefinition, ReturnType<typeof eventsOf>] => [
    definition,
    eventsOf(definition, { figures, calendar }),
  ]);
  const alerts = types.map((type): [typeof type & AlertType, ReturnType<typeof alertsOf>] => [
    type,
    alertsOf(type, figures),
  ]);
  inTransaction(db, () => {
    for (const [definition, found] of events) writeEvents(db, { ...definition, booth_id: booth.id, now }, found);
    for (const [type, found] of alerts) writeAlerts(db, { ...type, booth_id: booth.id }, found);
  });
  done.set(booth.id, stamp);
  return true;
}
