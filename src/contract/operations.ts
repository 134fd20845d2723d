import type { AnswerName } from "./answers.ts";
import type { BodyName } from "./local.ts";

/** An operation that the box serves: one of the service's operations, or one of the box's own. */
export interface ServedOperation {
  readonly method: "GET" | "POST" | "PUT";
  /** The path, with {name} for path parameters. */
  readonly path: string;
  readonly summary: string;
  /** The names of the query parameters. */
  readonly query: readonly string[];
  readonly body?: BodyName;
  /** The size limit of the request body; absent: the default limit. */
  readonly most_bytes?: number;
  /** The answer's shape. "csv": text/csv; absent: a shape of the box's own, without a documented schema. */
  readonly answer?: AnswerName | "csv";
  /** The HTTP status after success. */
  readonly status: number;
  /** The HTTP status if nothing had to change. */
  readonly already?: 200;
  /** True if the interface document marks the operation as deprecated. */
  readonly deprecated?: true;
  /**
   * The lowest right that the operation needs. From low to high: any client of the port, a client on this machine, a session, access to the
   * agent's socket. Each right includes the lower rights. Operations only for root check this themselves when they read the body.
   */
  readonly access: "anyone" | "loopback" | "session" | "socket";
}

/** All operations of the interface document, in its order. */
const LINES = `
GET /api/notifications
PATCH /api/notifications/{id}
GET /api/notifications/{id}/detail
POST /api/notifications/mark_all_as_read
POST /api/users/{id}/resend_invitation
GET,POST /api/accounts
GET,PUT /api/accounts/{id}
GET /api/accounts/entities_summary
GET,POST /api/accounts/{account_id}/regions
PUT,DELETE /api/accounts/{account_id}/regions/{id}
GET,PUT /api/alert_types
GET /api/alerts
GET /api/booths/{booth_id}/alert_history
GET,POST /api/api_keys
DELETE /api/api_keys/{id}
GET /api/booths
GET,PUT /api/booths/{id}
GET /api/booths/latest_updates
GET /api/booths/booth_status_summary
GET /api/booths/booth_filter_options
GET /api/booths/{id}/duration_by_mode
GET /api/booths/{id}/frequency_by_mode
GET /api/booths/{id}/export_csv
GET /api/booths/{id}/history
GET /api/booths/{id}/latest_values_for
GET /api/booths/{id}/latest_values_at
GET /api/booths/{id}/recent_stages
GET /api/booths/{id}/revision_history
GET /api/booths/{id}/runtime
GET /api/booths/{id}/runtime_series
GET /api/booths/{id}/utilization_stats
GET /api/booths/{id}/utilization_summary
GET /api/booths/{id}/utilization_timeline
GET /api/booths/{id}/filter_maintenances
GET /api/booths/{id}/filter_maintenance_history
POST /api/booths_provisioning
GET,PUT /api/booths_provisioning/{serial_number}
GET /api/bucketed_utilization
GET /api/utilization
GET /api/utilization/trends
GET,POST /api/event_definitions
GET,PUT,DELETE /api/event_definitions/{id}
GET,POST /api/facilities
GET,PUT /api/facilities/{id}
GET /api/facilities/{id}/utilization
GET /api/facilities/{id}/utilization_frequency
GET /api/facilities/{id}/utilization_summary
GET /api/facilities/{id}/utilization_timeline
GET /api/filters/maintenance_history
GET /api/filters/maintenance_timeline
GET /api/filters/overuse_trend
GET /api/filters/services
GET /api/reports/cycles_utilization
GET /api/validation_incidents
POST /api/help
GET,POST /api/users
PUT /api/users/{id}
POST /api/users/change_password
PUT /api/users/{id}/update_invitation
POST /api/login/verify
POST /api/authenticate
`;

export const SERVICE_OPERATIONS = LINES.trim()
  .split("\n")
  .flatMap((line) => {
    const [methods = "", path = ""] = line.split(" ");
    return methods.split(",").map((method) => ({ method, path }));
  });
