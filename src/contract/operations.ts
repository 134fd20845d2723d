/** One operation of the service's interface, as far as a box must know it. */
export interface Operation {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** With {name} for path parameters. */
  readonly path: string;
  /** What a box answers with itself; null: only the service serves it. */
  readonly local: LocalOperation | null;
}

export interface LocalOperation {
  readonly summary: string;
  /** Names of query parameters. */
  readonly query: readonly string[];
  readonly status: number;
  /** Answered where all was so before. */
  readonly already?: 200;
  readonly type: "json" | "csv";
  /** Tells single readings, not figures: on the box a session is needed, even on the machine itself. */
  readonly readings?: true;
  /** As the interface document marks it. */
  readonly deprecated?: true;
}

const WINDOW = "start end";
const PAGED = "limit page";
const LIST = `filter sort ${PAGED}`;
const REPORT = `${WINDOW} ${PAGED} coverage`;

const json = (summary: string, query = "", status = 200): LocalOperation => ({
  summary,
  query: query.split(" ").filter((name) => name !== ""),
  status,
  type: "json",
});

const readings = (summary: string, query: string): LocalOperation => ({ ...json(summary, query), readings: true });

/** In the service's own shapes, for the booths of one box. */
const LOCAL: Readonly<Record<string, LocalOperation>> = {
  "GET /api/booths": json("Booths of this box", `${LIST} ${WINDOW} includes search`),
  "GET /api/booths/{id}": json("A booth"),
  "GET /api/booths/latest_updates": json("When each booth was last read and acked", LIST),
  "GET /api/booths/booth_status_summary": json("Counts by connectivity and mode"),
  "GET /api/booths/booth_filter_options": json("Values that lists can be narrowed by"),
  "GET /api/booths/{id}/duration_by_mode": json("Minutes by mode", `${WINDOW} coverage`),
  "GET /api/booths/{id}/frequency_by_mode": json("Starts by mode", `${WINDOW} coverage`),
  "GET /api/booths/{id}/export_csv": { ...readings("Readings as CSV", `${WINDOW} tags`), type: "csv" },
  "GET /api/booths/{id}/history": readings("Readings of tags", `tags ${REPORT}`),
  "GET /api/booths/{id}/latest_values_for": readings("Last known values of tags", "tags before"),
  "GET /api/booths/{id}/latest_values_at": readings("Values of tags at an instant", "tags before"),
  "GET /api/booths/{id}/recent_stages": { ...json("Stages", REPORT), deprecated: true },
  "GET /api/booths/{id}/revision_history": json("Firmware and program versions", "coverage"),
  "GET /api/booths/{id}/runtime": json("Runtime of two periods", `${WINDOW} unit length coverage`),
  "GET /api/booths/{id}/runtime_series": json("Runtime by hour, day, week or month", `${REPORT} unit length states`),
  "GET /api/booths/{id}/utilization_stats": json("Utilization, cycles and energy", `${WINDOW} coverage`),
  "GET /api/booths/{id}/utilization_summary": json("Minutes in use, idle, in bake and by mode", `${WINDOW} coverage`),
  "GET /api/booths/{id}/utilization_timeline": json("Minutes by mode and interval", `${REPORT} interval`),
  "GET /api/booths/{id}/filter_maintenances": json("Filters and their lives", REPORT),
  "GET /api/booths/{id}/filter_maintenance_history": json("Filter changes", REPORT),
  "POST /api/booths_provisioning": {
    ...json("Enters a serial number; queued where the service is away", "", 202),
    already: 200,
  },
  "GET /api/booths_provisioning/{serial_number}": json("What the box knows of a booth's binding"),
  "PUT /api/booths_provisioning/{serial_number}": {
    ...json("Gives the booth up, once all is delivered", "", 202),
    already: 200,
  },
  "GET /api/validation_incidents": json("What was found wrong with readings", `${LIST} ${WINDOW} booth_id search`),
  "POST /api/help": json("Stores a report of the box's state for whoever helps", "", 201),
  "POST /api/authenticate": json("Opens a session with the PIN as api_key"),
};

/** Every operation of the interface document, in its order. */
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

export const OPERATIONS: readonly Operation[] = LINES.trim()
  .split("\n")
  .flatMap((line) => {
    const [methods = "", path = ""] = line.split(" ");
    return methods.split(",").map((name) => {
      const method = name as Operation["method"];
      return { method, path, local: LOCAL[`${method} ${path}`] ?? null };
    });
  });

const ROUTES = OPERATIONS.map((operation) => ({ operation, parts: operation.path.split("/") }));

/** The operation that a request names; fixed paths win over {id}. null: the interface has none such. */
export function operationOf(method: string, path: string): Operation | null {
  const asked = path.split("/");
  const fits = ROUTES.filter(
    ({ operation, parts }) =>
      operation.method === method &&
      parts.length === asked.length &&
      parts.every((part, index) => part === asked[index] || (part.startsWith("{") && asked[index] !== "")),
  );
  return (fits.find(({ operation }) => operation.path === path) ?? fits[0])?.operation ?? null;
}

/** Whether the interface has the path at all, under whatever method. */
export function methodsOf(path: string): string[] {
  return ["GET", "POST", "PUT", "PATCH", "DELETE"].filter((method) => operationOf(method, path) !== null);
}
