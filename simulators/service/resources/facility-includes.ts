import { row } from "../storage/db.ts";
import { evaluateAccount } from "../events/evaluate.ts";
import { overuse, utilization } from "../figures/summary.ts";
import type { Call } from "../http/operation.ts";
import { windowParams } from "../http/query.ts";
import { type FleetBooth, perBooth } from "./fleet.ts";

type Figures = Readonly<Record<string, number>>;

/**
 * The parts that `includes` of a facility list may name, separated by colons, and each booth's contribution over
 * start and end.
 */
const PARTS: Readonly<Record<string, (fleet: FleetBooth) => Figures>> = {
  cycle_count: (fleet) => picked(fleet, ["cycle_count"]),
  utilization_times: (fleet) => picked(fleet, ["utilization_minutes", "working_minutes"]),
  energy_usage: (fleet) => picked(fleet, ["gas_usage", "kwh_usage"]),
  overuse_data: overuseOf,
  service_events: ({ figures, window }) => ({
    service_events: figures.maintenance.filter((one) => one.removed_at >= window.start && one.removed_at < window.end)
      .length,
  }),
};

/** The values of each part for a facility without booths. */
const NOTHING: Readonly<Record<string, Figures>> = {
  cycle_count: { cycle_count: 0 },
  utilization_times: { utilization_minutes: 0, working_minutes: 0 },
  energy_usage: { gas_usage: 0, kwh_usage: 0 },
  overuse_data: { overuse_minutes: 0, overuse_cycles: 0, events_missed: 0 },
  service_events: { service_events: 0 },
};

/**
 * The asked parts of a facility's figures: sums over its booths. Names that aren't known are passed over; a window that can't
 * be is refused whatever is asked.
 */
export async function facilityFigures(call: Call, { id, tz }: { id: string; tz: string }): Promise<Figures> {
  windowParams(call.query, { tz, now: call.now });
  const asked = (call.query["includes"] ?? "").split(":");
  const names = asked.filter((name) => Object.hasOwn(PARTS, name));
  const sums: Record<string, number> = Object.assign({}, ...names.map((name) => NOTHING[name])) as Record<
    string,
    number
  >;
  if (names.length > 0) {
    const found = await perBooth(
      call,
      (fleet) => names.flatMap((name) => Object.entries(PARTS[name]?.(fleet) ?? {})),
      id,
    );
    for (const [name, value] of found.flat()) sums[name] = Math.round(((sums[name] ?? 0) + value) * 1e4) / 1e4;
    // The facility has its hours once, however many booths stand in it: those of the booth that was read first.
    const working = found.flat().flatMap(([name, value]) => (name === "working_minutes" ? [value] : []));
    if (working.length > 0) sums["working_minutes"] = Math.max(...working);
  }
  return asked.includes("active_alerts") ? { ...sums, active_alerts: await activeAlerts(call, id) } : sums;
}

/** Every field that `includes` can add. */
export const INCLUDED_FIELDS = (
  "active_alerts cycle_count utilization_minutes working_minutes gas_usage kwh_usage overuse_minutes overuse_cycles " +
  "events_missed service_events"
).split(" ");

function picked({ figures, calendar, window }: FleetBooth, names: readonly string[]): Figures {
  const all = utilization(figures, calendar, window);
  return Object.fromEntries(names.map((name) => [name, all[name] ?? 0]));
}

/** `events_missed`: filters that are in overuse at the window's end. */
function overuseOf({ figures, window }: FleetBooth): Figures {
  const missed = figures.installations.filter((filter) =>
    filter.overuse.some((span) => span.start < window.end && span.end >= window.end),
  );
  return { ...overuse(figures, window), events_missed: missed.length };
}

async function activeAlerts(call: Call, facilityId: string): Promise<number> {
  const { db } = call.service;
  await evaluateAccount(db, call.caller.account_id, call.now);
  const sql =
    "SELECT count(*) AS n FROM alerts a JOIN booths b ON b.id = a.booth_id WHERE b.facility_id = ? AND a.ended_at IS NULL";
  return row<{ n: number }>(db, sql, facilityId)?.n ?? 0;
}
