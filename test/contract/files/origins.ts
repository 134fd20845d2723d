/** Origins of fields and parameters, and summaries of operations: the part of the contract that the running tables lack. */

/** The source of a name: the interface document, a service seen in use, or this project. */
export type Origin = "document" | "observed" | "ours";

const BOOTH =
  "account_id account_name facility_id created_at bay_count brand_name burner_size height length model_number motor_size width " +
  "plc_program plc_program_revision firmware_version last_firmware_update last_program_update connectivity_status last_active_mode";
const BOOTH_SEEN = "id external_id serial_number name status last_updated_at total_runtime";
const SIZES = "bay_count brand_name burner_size height length model_number motor_size width";
const FACILITY_WRITTEN =
  "tz address_line_1 address_line_2 city state zipcode working_hours climate_control square_ft store_number type region_id latitude longitude";
const FACILITY = `${FACILITY_WRITTEN} region_name account_name distributor_name`;
const FACILITY_LISTED =
  "active_alerts cycle_count gas_usage kwh_usage utilization_minutes working_minutes events_missed overuse_cycles overuse_minutes service_events";
const NOTIFICATION =
  "id user_id definition_id definition_name definition_description booth_count event_count period_start period_end seen_in_app " +
  "email_sent_at created_at updated_at";
const EVENT_DEFINITION =
  "id account_id booth_ids category created_at created_by description enabled evaluation_period event_type last_edited_by min_duration " +
  "name rules send_email send_notification_at updated_at user_ids";
const ENVELOPE = "data page limit pages total";

/**
 * Names by place. A place is a component; or an operation with "answer", "body" or "query". A name inside another has its path, as in
 * data[].duration. All other names are "ours".
 */
export const NAMES: Readonly<Record<Exclude<Origin, "ours">, Readonly<Record<string, string>>>> = {
  document: {
    Account: "regions customer_type primary_industry",
    Booth: BOOTH,
    BoothMaintenanceHistory: "data[].booth_overuse_cycles data[].booth_overuse_time",
    BucketedUtilization: "data[].gas_usage data[].kwh_usage",
    Error: "error",
    EventDefinition: EVENT_DEFINITION,
    Facility: FACILITY,
    FilterMaintenances: "data[].exhaust_filter data[].intake_filter data[].pre_filter",
    FilterServices: "data[].region_id data[].exhaust_filter data[].intake_filter data[].pre_filter",
    ListedBooth: BOOTH,
    ListedFacility: `${FACILITY} ${FACILITY_LISTED}`,
    MaintenanceTimeline: "data[].region_id data[].events_during_period",
    Notification: NOTIFICATION,
    NotificationDetail: NOTIFICATION,
    OveruseTrend: "data[].overuse_count data[].overuse_cycles data[].overuse_time",
    Region: "is_default booth_count facility_count",
    Timeline: "data[].duration",
    Utilization: "data[].gas_usage data[].kwh_usage",
    UtilizationSummary: "bake",
    UtilizationTrends: "data[].utilization_time data[].median_cycles",
    "GET /api/notifications answer": ENVELOPE,
    "POST /api/login/verify answer": "user_id user_name",
    "POST /api/accounts body": "customer_type primary_industry",
    "PUT /api/accounts/{id} body": "customer_type primary_industry",
    "PUT /api/booths/{id} body": SIZES,
    "POST /api/facilities body": FACILITY_WRITTEN,
    "PUT /api/facilities/{id} body": FACILITY_WRITTEN,
    "GET /api/notifications query": "filter sort limit page",
    "GET /api/accounts query": "filter sort limit page",
    "GET /api/accounts/{account_id}/regions query": "search",
    "GET /api/booths/{booth_id}/alert_history query": "filter sort limit page",
    "GET /api/booths query": "start end includes search",
    "GET /api/booths/{id}/history query": "tags",
    "GET /api/booths/{id}/utilization_timeline query": "interval",
    "GET /api/bucketed_utilization query": "group_by",
    "GET /api/facilities query": "start end includes format search",
    "GET /api/facilities/{id}/utilization_timeline query": "interval",
    "GET /api/filters/maintenance_history query": "start end format",
    "GET /api/filters/overuse_trend query": "start end",
  },
  observed: {
    Booth: BOOTH_SEEN,
    ListedBooth: BOOTH_SEEN,
    Provisioning:
      "serial_number certificate_id completion_status hw_configuration old_password new_password s3_certs_path",
    "POST /api/booths_provisioning body": "serial_number",
    "PUT /api/booths_provisioning/{serial_number} body": "completion_status",
  },
};

/** Summaries by operation. An operation without a summary shows its path. */
export const SUMMARIES: ReadonlyMap<string, string> = new Map(
  `
GET /api/notifications | Lists the caller's notifications.
PATCH /api/notifications/{id} | Marks a notification as read or unread.
GET /api/notifications/{id}/detail | Returns a notification with its events.
POST /api/notifications/mark_all_as_read | Marks all notifications of the caller as read.
POST /api/users/{id}/resend_invitation | Sends a user a new invitation.
GET /api/accounts | Lists the accounts that the caller may see.
POST /api/accounts | Creates an account.
GET /api/accounts/{id} | Returns an account.
PUT /api/accounts/{id} | Changes an account.
GET /api/accounts/entities_summary | Counts the account's regions, facilities, booths and users.
GET /api/accounts/{account_id}/regions | Lists an account's regions.
POST /api/accounts/{account_id}/regions | Creates a region.
PUT /api/accounts/{account_id}/regions/{id} | Changes a region.
DELETE /api/accounts/{account_id}/regions/{id} | Deletes a region.
GET /api/alert_types | Lists the alert types.
PUT /api/alert_types | Changes or creates an alert type.
GET /api/alerts | Lists alerts.
GET /api/booths/{booth_id}/alert_history | Lists a booth's alerts.
GET /api/api_keys | Lists the account's API keys, without the keys themselves.
POST /api/api_keys | Creates an API key and shows it once.
DELETE /api/api_keys/{id} | Ends an API key.
GET /api/booths | Lists booths.
GET /api/booths/{id} | Returns a booth.
PUT /api/booths/{id} | Changes a booth's brand, model and sizes.
GET /api/booths/latest_updates | Returns what came last from each booth.
GET /api/booths/booth_status_summary | Counts booths by status and mode.
GET /api/booths/booth_filter_options | Returns the values by which booths can be filtered.
GET /api/booths/{id}/duration_by_mode | Returns the time in each mode.
GET /api/booths/{id}/frequency_by_mode | Returns the number of starts of each mode.
GET /api/booths/{id}/export_csv | Returns readings as CSV.
GET /api/booths/{id}/history | Returns readings by tag.
GET /api/booths/{id}/latest_values_for | Returns the newest value of each tag.
GET /api/booths/{id}/latest_values_at | Returns the value of each tag at an instant.
GET /api/booths/{id}/recent_stages | Lists stages.
GET /api/booths/{id}/revision_history | Lists the versions of firmware and program.
GET /api/booths/{id}/runtime | Compares the running time with the period before.
GET /api/booths/{id}/runtime_series | Returns the running time by interval.
GET /api/booths/{id}/utilization_stats | Returns utilization, cycles and energy.
GET /api/booths/{id}/utilization_summary | Returns the time in use, idle and in bake.
GET /api/booths/{id}/utilization_timeline | Returns the use by interval.
GET /api/booths/{id}/filter_maintenances | Lists the filters that were fitted.
GET /api/booths/{id}/filter_maintenance_history | Lists the filter changes of a booth.
POST /api/booths_provisioning | Binds a booth to a gateway.
GET /api/booths_provisioning/{serial_number} | Returns a booth's provisioning record.
PUT /api/booths_provisioning/{serial_number} | Completes, reports or ends a binding.
GET /api/bucketed_utilization | Returns use and energy by group.
GET /api/utilization | Returns use and energy by booth.
GET /api/utilization/trends | Returns utilization by day.
GET /api/event_definitions | Lists event definitions.
POST /api/event_definitions | Creates an event definition.
GET /api/event_definitions/{id} | Returns an event definition.
PUT /api/event_definitions/{id} | Changes an event definition.
DELETE /api/event_definitions/{id} | Deletes an event definition.
GET /api/facilities | Lists facilities.
POST /api/facilities | Creates a facility.
GET /api/facilities/{id} | Returns a facility.
PUT /api/facilities/{id} | Changes a facility.
GET /api/facilities/{id}/utilization | Returns use and energy of a facility's booths.
GET /api/facilities/{id}/utilization_frequency | Counts starts by hour of the week.
GET /api/facilities/{id}/utilization_summary | Returns the time in use, idle and in bake.
GET /api/facilities/{id}/utilization_timeline | Returns the use by interval.
GET /api/filters/maintenance_history | Lists the filter changes of all booths.
GET /api/filters/maintenance_timeline | Returns filter maintenance by period and region.
GET /api/filters/overuse_trend | Returns filter overuse by period.
GET /api/filters/services | Counts filter changes by booth.
GET /api/reports/cycles_utilization | Returns cycles and utilization by booth and day.
GET /api/validation_incidents | Lists validation incidents.
POST /api/help | Sends a message to support.
GET /api/users | Lists users.
POST /api/users | Invites a user.
PUT /api/users/{id} | Changes a user.
POST /api/users/change_password | Changes the caller's password.
PUT /api/users/{id}/update_invitation | Accepts an invitation, or changes it.
POST /api/login/verify | Returns who the caller is.
POST /api/authenticate | Exchanges a key, or e-mail and password, for a session token.
`
    .trim()
    .split("\n")
    .map((line) => {
      const [name = "", summary = ""] = line.split(" | ");
      return [name, summary] as const;
    }),
);
