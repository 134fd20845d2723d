import type { Scope } from "../accounts/keys.ts";
import { type Exchange, EXCHANGES } from "../contract/answers.ts";
import type { Operation } from "./operation.ts";

/**
 * An operation of the interface: the scopes that may call it, its parameters and answer, and whether it is
 * deprecated.
 */
export interface ContractRow extends Exchange {
  readonly method: Operation["method"];
  /** Path with {name} for path parameters. */
  readonly path: string;
  readonly scopes: readonly Scope[];
  readonly is_deprecated: boolean;
}

const ALL: readonly Scope[] = ["admin", "user", "provision", "gateway"];
const BINDERS: readonly Scope[] = ["admin", "provision", "gateway"];
const PEOPLE: readonly Scope[] = ["admin", "user"];
const READERS: readonly Scope[] = ["admin", "user", "gateway"];
const ADMIN: readonly Scope[] = ["admin"];

type Line = readonly [methods: string, path: string, scopes: readonly Scope[]];

const LINES: readonly Line[] = [
  ["GET", "/api/notifications", PEOPLE],
  ["PATCH", "/api/notifications/{id}", PEOPLE],
  ["GET", "/api/notifications/{id}/detail", PEOPLE],
  ["POST", "/api/notifications/mark_all_as_read", PEOPLE],
  ["POST", "/api/users/{id}/resend_invitation", ADMIN],
  ["GET", "/api/accounts", PEOPLE],
  ["POST", "/api/accounts", ADMIN],
  ["GET", "/api/accounts/{id}", PEOPLE],
  ["PUT", "/api/accounts/{id}", ADMIN],
  ["GET", "/api/accounts/entities_summary", PEOPLE],
  ["GET", "/api/accounts/{account_id}/regions", PEOPLE],
  ["POST", "/api/accounts/{account_id}/regions", ADMIN],
  ["PUT DELETE", "/api/accounts/{account_id}/regions/{id}", ADMIN],
  ["GET", "/api/alert_types", READERS],
  ["PUT", "/api/alert_types", ADMIN],
  ["GET", "/api/alerts", READERS],
  ["GET", "/api/booths/{booth_id}/alert_history", READERS],
  ["GET POST", "/api/api_keys", ADMIN],
  ["DELETE", "/api/api_keys/{id}", ADMIN],
  ["GET", "/api/booths", ALL],
  ["GET", "/api/booths/{id}", ALL],
  ["PUT", "/api/booths/{id}", READERS],
  ["GET", "/api/booths/latest_updates", ALL],
  ["GET", "/api/booths/booth_status_summary", ALL],
  ["GET", "/api/booths/booth_filter_options", ALL],
  ["GET", "/api/booths/{id}/duration_by_mode", ALL],
  ["GET", "/api/booths/{id}/frequency_by_mode", ALL],
  ["GET", "/api/booths/{id}/export_csv", ALL],
  ["GET", "/api/booths/{id}/history", ALL],
  ["GET", "/api/booths/{id}/latest_values_for", ALL],
  ["GET", "/api/booths/{id}/latest_values_at", ALL],
  ["GET", "/api/booths/{id}/recent_stages", ALL],
  ["GET", "/api/booths/{id}/revision_history", ALL],
  ["GET", "/api/booths/{id}/runtime", ALL],
  ["GET", "/api/booths/{id}/runtime_series", ALL],
  ["GET", "/api/booths/{id}/utilization_stats", ALL],
  ["GET", "/api/booths/{id}/utilization_summary", ALL],
  ["GET", "/api/booths/{id}/utilization_timeline", ALL],
  ["GET", "/api/booths/{id}/filter_maintenances", ALL],
  ["GET", "/api/booths/{id}/filter_maintenance_history", ALL],
  ["POST", "/api/booths_provisioning", BINDERS],
  ["GET", "/api/booths_provisioning/{serial_number}", ALL],
  ["PUT", "/api/booths_provisioning/{serial_number}", BINDERS],
  ["GET", "/api/bucketed_utilization", READERS],
  ["GET", "/api/utilization", READERS],
  ["GET", "/api/utilization/trends", READERS],
  ["GET POST", "/api/event_definitions", PEOPLE],
  ["GET PUT DELETE", "/api/event_definitions/{id}", PEOPLE],
  ["GET", "/api/facilities", ALL],
  ["POST", "/api/facilities", ADMIN],
  ["GET", "/api/facilities/{id}", ALL],
  ["PUT", "/api/facilities/{id}", ADMIN],
  ["GET", "/api/facilities/{id}/utilization", READERS],
  ["GET", "/api/facilities/{id}/utilization_frequency", READERS],
  ["GET", "/api/facilities/{id}/utilization_summary", READERS],
  ["GET", "/api/facilities/{id}/utilization_timeline", READERS],
  ["GET", "/api/filters/maintenance_history", READERS],
  ["GET", "/api/filters/maintenance_timeline", READERS],
  ["GET", "/api/filters/overuse_trend", READERS],
  ["GET", "/api/filters/services", READERS],
  ["GET", "/api/reports/cycles_utilization", READERS],
  ["GET", "/api/validation_incidents", READERS],
  ["POST", "/api/help", READERS],
  ["GET", "/api/users", PEOPLE],
  ["POST", "/api/users", ADMIN],
  ["PUT", "/api/users/{id}", ADMIN],
  ["POST", "/api/users/change_password", PEOPLE],
  ["PUT", "/api/users/{id}/update_invitation", ADMIN],
  ["POST", "/api/login/verify", ALL],
  ["POST", "/api/authenticate", ALL],
];

const DEPRECATED = new Set(["GET /api/booths/{id}/recent_stages"]);

/** Every operation of the interface document, implemented or not. */
export const CONTRACT: readonly ContractRow[] = LINES.flatMap(([methods, path, scopes]) =>
  methods.split(" ").map((name) => {
    const method = name as Operation["method"];
    const exchange = EXCHANGES[`${name} ${path}`];
    if (exchange === undefined) throw new Error(`no shape of ${name} ${path}`);
    return { method, path, scopes, is_deprecated: DEPRECATED.has(`${name} ${path}`), ...exchange };
  }),
);

/** Returns the routing form of a path: {id} becomes :id. */
function routeOf(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ":$1");
}

/** Adds the roles of its row to each handler. Throws if the interface has no such operation. */
export function underContract(operations: readonly Operation[]): Operation[] {
  return operations.map((operation) => {
    const found = CONTRACT.find((row) => row.method === operation.method && routeOf(row.path) === operation.path);
    if (found === undefined) throw new Error(`not in the interface: ${operation.method} ${operation.path}`);
    const headers = found.is_deprecated ? { deprecation: "true" } : undefined;
    return { ...operation, scopes: found.scopes, ...(headers === undefined ? {} : { headers }) };
  });
}
