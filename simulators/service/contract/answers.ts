import { z } from "zod";
import { count, id, page, time } from "./fields.ts";
import * as reports from "./report-shapes.ts";
import * as resources from "./resource-shapes.ts";

/** An operation's query parameters and its successful answer. */
export interface Exchange {
  /** Names of the query parameters. Others are ignored. */
  readonly query: readonly string[];
  readonly status: number;
  /** Status of the answer to a repeated request. */
  readonly again?: number;
  /** Schema of the JSON body; undefined: no body, or text/csv. */
  readonly answer?: z.ZodType;
  /** The operation returns text/csv: "always", or "asked" for by format=csv. */
  readonly csv?: "always" | "asked";
}

const LIST = "filter sort limit page";
const PAGED = "limit page";
const WINDOW = "start end";
const REPORT = `${WINDOW} ${PAGED}`;

function get(answer: z.ZodType, query = ""): Exchange {
  return { query: query.split(" ").filter((name) => name !== ""), status: 200, answer };
}

function made(answer: z.ZodType): Exchange {
  return { ...get(answer), status: 201 };
}

const NOTHING: Exchange = { query: [], status: 204 };

const { account, alert, alertType, apiKey, booth, eventDefinition, facility, incident } = resources;
const { notification, provisioning, region, user } = resources;

/** Exchanges by method and path, in the order of the interface document. */
export const EXCHANGES: Readonly<Record<string, Exchange>> = {
  "GET /api/notifications": get(page(notification), `${LIST} search`),
  "PATCH /api/notifications/{id}": get(notification),
  "GET /api/notifications/{id}/detail": get(resources.notificationDetail),
  "POST /api/notifications/mark_all_as_read": get(z.strictObject({ updated: count })),
  "POST /api/users/{id}/resend_invitation": NOTHING,
  "GET /api/accounts": get(page(account), `${LIST} search`),
  "POST /api/accounts": made(account),
  "GET /api/accounts/{id}": get(account),
  "PUT /api/accounts/{id}": get(account),
  "GET /api/accounts/entities_summary": get(
    z.strictObject({ accounts: count, regions: count, facilities: count, booths: count, users: count }),
  ),
  "GET /api/accounts/{account_id}/regions": get(page(region), `${LIST} search`),
  "POST /api/accounts/{account_id}/regions": made(region),
  "PUT /api/accounts/{account_id}/regions/{id}": get(region),
  "DELETE /api/accounts/{account_id}/regions/{id}": NOTHING,
  "GET /api/alert_types": get(page(alertType), `${LIST} search`),
  "PUT /api/alert_types": get(alertType),
  "GET /api/alerts": get(page(alert), `${LIST} search`),
  "GET /api/booths/{booth_id}/alert_history": get(page(alert), `${LIST} search`),
  "GET /api/api_keys": get(page(apiKey), `${LIST} search`),
  "POST /api/api_keys": made(apiKey.extend({ key: z.string().min(32) })),
  "DELETE /api/api_keys/{id}": NOTHING,
  "GET /api/booths": get(page(resources.listedBooth), `${LIST} ${WINDOW} includes search`),
  "GET /api/booths/{id}": get(booth),
  "PUT /api/booths/{id}": get(booth),
  "GET /api/booths/latest_updates": get(reports.latestUpdates, LIST),
  "GET /api/booths/booth_status_summary": get(reports.statusSummary),
  "GET /api/booths/booth_filter_options": get(reports.filterOptions),
  "GET /api/booths/{id}/duration_by_mode": get(reports.durationByMode, WINDOW),
  "GET /api/booths/{id}/frequency_by_mode": get(reports.frequencyByMode, WINDOW),
  "GET /api/booths/{id}/export_csv": { query: ["start", "end", "tags"], status: 200, csv: "always" },
  "GET /api/booths/{id}/history": get(reports.history, `tags ${REPORT}`),
  "GET /api/booths/{id}/latest_values_for": get(reports.latestValues, "tags before"),
  "GET /api/booths/{id}/latest_values_at": get(reports.latestValues, "tags before"),
  "GET /api/booths/{id}/recent_stages": get(reports.recentStages, REPORT),
  "GET /api/booths/{id}/revision_history": get(reports.revisionHistory),
  "GET /api/booths/{id}/runtime": get(reports.runtime, `${WINDOW} unit length`),
  "GET /api/booths/{id}/runtime_series": get(reports.runtimeSeries, `${REPORT} unit length states`),
  "GET /api/booths/{id}/utilization_stats": get(reports.utilizationStats, WINDOW),
  "GET /api/booths/{id}/utilization_summary": get(reports.utilizationSummary, WINDOW),
  "GET /api/booths/{id}/utilization_timeline": get(reports.timeline, `${REPORT} interval`),
  "GET /api/booths/{id}/filter_maintenances": get(reports.filterMaintenances, REPORT),
  "GET /api/booths/{id}/filter_maintenance_history": get(reports.boothMaintenanceHistory, REPORT),
  "POST /api/booths_provisioning": { ...made(provisioning), again: 200 },
  "GET /api/booths_provisioning/{serial_number}": get(provisioning),
  "PUT /api/booths_provisioning/{serial_number}": get(provisioning),
  "GET /api/bucketed_utilization": get(reports.bucketedUtilization, `${REPORT} group_by`),
  "GET /api/utilization": get(reports.utilization, REPORT),
  "GET /api/utilization/trends": get(reports.utilizationTrends, REPORT),
  "GET /api/event_definitions": get(page(eventDefinition), `${LIST} search`),
  "POST /api/event_definitions": made(eventDefinition),
  "GET /api/event_definitions/{id}": get(eventDefinition),
  "PUT /api/event_definitions/{id}": get(eventDefinition),
  "DELETE /api/event_definitions/{id}": NOTHING,
  "GET /api/facilities": {
    ...get(page(resources.listedFacility), `${LIST} ${WINDOW} includes format search`),
    csv: "asked",
  },
  "POST /api/facilities": made(facility),
  "GET /api/facilities/{id}": get(facility),
  "PUT /api/facilities/{id}": get(facility),
  "GET /api/facilities/{id}/utilization": get(reports.utilization, REPORT),
  "GET /api/facilities/{id}/utilization_frequency": get(reports.utilizationFrequency, REPORT),
  "GET /api/facilities/{id}/utilization_summary": get(reports.utilizationSummary, WINDOW),
  "GET /api/facilities/{id}/utilization_timeline": get(reports.timeline, `${REPORT} interval`),
  "GET /api/filters/maintenance_history": { ...get(reports.maintenanceHistory, `${REPORT} format`), csv: "asked" },
  "GET /api/filters/maintenance_timeline": get(reports.maintenanceTimeline, REPORT),
  "GET /api/filters/overuse_trend": get(reports.overuseTrend, REPORT),
  "GET /api/filters/services": get(reports.filterServices, REPORT),
  "GET /api/reports/cycles_utilization": get(reports.cyclesUtilization, REPORT),
  "GET /api/validation_incidents": get(page(incident), `${LIST} ${WINDOW} search booth_id`),
  "POST /api/help": made(z.strictObject({ id })),
  "GET /api/users": get(page(user), `${LIST} search`),
  "POST /api/users": made(user),
  "PUT /api/users/{id}": get(user),
  "POST /api/users/change_password": NOTHING,
  "PUT /api/users/{id}/update_invitation": get(user),
  "POST /api/login/verify": get(z.strictObject({ user_id: id, user_name: z.string() })),
  "POST /api/authenticate": get(z.strictObject({ session_token: z.string().min(32), expires_at: time })),
};
