import { FILTER_TYPES } from "../../../src/domain/booth.ts";
import { CSV_HEADERS, csvOf } from "../http/csv.ts";
import { badRequest } from "../base/errors.ts";
import { type Answer, type Call, ok, type Operation } from "../http/operation.ts";
import { envelope, pagingParams } from "../http/query.ts";
import { maintenanceItem } from "./filter-maintenance-history.ts";
import { type FleetBooth, perBooth } from "./fleet.ts";

/** Filter changes over all booths of the account. */
export const filterServices: readonly Operation[] = [
  { method: "GET", path: "/api/filters/maintenance_history", handle: history },
  { method: "GET", path: "/api/filters/services", handle: services },
];

function changesIn({ figures, window }: FleetBooth): BoothMaintenance[] {
  return figures.maintenance.filter((one) => one.removed_at >= window.start && one.removed_at < window.end);
}

type BoothMaintenance = FleetBooth["figures"]["maintenance"][number];

async function history(call: Call): Promise<Answer> {
  const found = await perBooth(call, (fleet) =>
    changesIn(fleet).map((one) => ({ booth_id: fleet.booth.id, ...maintenanceItem(one) })),
  );
  const items = found.flat();
  const format = call.query["format"] ?? "json";
  if (format === "json") return ok(envelope(items, pagingParams(call.query, { allowAll: false })));
  if (format !== "csv") throw badRequest("format is neither json nor csv");
  const lines = items.map((item) => Object.values(item));
  return { status: 200, headers: CSV_HEADERS, body: csvOf(HEAD, lines) };
}

const HEAD = (
  "booth_id filter_type maintenance_date duration overuse active_spray_time booth_in_use_time " +
  "booth_overuse_cycles booth_overuse_time"
).split(" ");

/** Per booth and fitted filter type: changes in the window, on time and late. */
async function services(call: Call): Promise<Answer> {
  const items = await perBooth(call, (fleet) => {
    const changes = changesIn(fleet);
    const fitted = FILTER_TYPES.filter((type) => fleet.figures.installations.some((one) => one.type === type));
    const counts = fitted.map((type) => {
      const mine = changes.filter((one) => one.filter_type === type);
      const late_service_count = mine.filter((one) => one.service === "late").length;
      const on_time_service_count = mine.length - late_service_count;
      return [type, { maintenance_event_count: mine.length, on_time_service_count, late_service_count }] as const;
    });
    return { booth_id: fleet.booth.id, region_id: fleet.region_id, ...Object.fromEntries(counts) };
  });
  return ok(envelope(items, pagingParams(call.query, { allowAll: false })));
}
