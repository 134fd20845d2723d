import { row } from "../db.ts";
import { evaluateAccount } from "../events/evaluate.ts";
import { overuse, utilization } from "../figures/summary.ts";
import type { Call } from "../http/operation.ts";
import { fleetOf } from "./fleet.ts";
import type { FleetBooth } from "./fleet.ts";

type Figures = Readonly<Record<string, number>>;

/** What `includes` of a facility list may name, parted by colons, and the fields that each adds over start and end. */
const PARTS: Readonly<Record<string, (of: { call: Call; id: string; fleet: readonly FleetBooth[] }) => Figures>> = {
  active_alerts: ({ call, id }) => ({ active_alerts: activeAlerts(call, id) }),
  cycle_count: ({ fleet }) => sums(fleet, ["cycle_count"]),
  // The facility has its hours once, however many booths stand in it.
  utilization_times: ({ fleet }) => ({
    ...sums(fleet, ["utilization_minutes"]),
    working_minutes: sums(fleet.slice(0, 1), ["working_minutes"])["working_minutes"] ?? 0,
  }),
  energy_usage: ({ fleet }) => sums(fleet, ["gas_usage", "kwh_usage"]),
  overuse_data: ({ fleet }) => overuseOf(fleet),
  service_events: ({ fleet }) => ({
    service_events: fleet.reduce((sum, { figures, window }) => {
      const changes = figures.maintenance.filter(
        (one) => one.removed_at >= window.start && one.removed_at < window.end,
      );
      return sum + changes.length;
    }, 0),
  }),
};

/** The asked parts of a facility's figures: sums over its booths. Names that aren't known are passed over. */
export function facilityFigures(call: Call, id: string): Figures {
  const names = (call.query["includes"] ?? "").split(":").filter((name) => Object.hasOwn(PARTS, name));
  if (names.length === 0) return {};
  const of = { call, id, fleet: fleetOf(call, id) };
  return Object.assign({}, ...names.map((name) => PARTS[name]?.(of))) as Figures;
}

/** Every field that `includes` can add. */
export const INCLUDED_FIELDS = (
  "active_alerts cycle_count utilization_minutes working_minutes gas_usage kwh_usage overuse_minutes overuse_cycles " +
  "events_missed service_events"
).split(" ");

function sums(fleet: readonly FleetBooth[], names: readonly string[]): Figures {
  const all = fleet.map(({ figures, calendar, window }) => utilization(figures, calendar, window));
  return Object.fromEntries(
    names.map((name) => [name, Math.round(all.reduce((sum, one) => sum + (one[name] ?? 0), 0) * 1e4) / 1e4]),
  );
}

/** `events_missed`: filters that are in overuse at the window's end. */
function overuseOf(fleet: readonly FleetBooth[]): Figures {
  const found = { overuse_minutes: 0, overuse_cycles: 0, events_missed: 0 };
  for (const { figures, window } of fleet) {
    const { overuse_minutes, overuse_cycles } = overuse(figures, window);
    found.overuse_minutes = Math.round((found.overuse_minutes + overuse_minutes) * 1e4) / 1e4;
    found.overuse_cycles += overuse_cycles;
    found.events_missed += figures.installations.filter((filter) =>
      filter.overuse.some((span) => span.start < window.end && span.end >= window.end),
    ).length;
  }
  return found;
}

function activeAlerts(call: Call, facilityId: string): number {
  const { db } = call.service;
  evaluateAccount(db, call.caller.account_id, call.now);
  const sql =
    "SELECT count(*) AS n FROM alerts a JOIN booths b ON b.id = a.booth_id WHERE b.facility_id = ? AND a.ended_at IS NULL";
  return row<{ n: number }>(db, sql, facilityId)?.n ?? 0;
}
