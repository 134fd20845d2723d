import { z } from "zod";
import { fieldsOf } from "./fields.ts";

/**
 * This module has the shapes of the box's successful answers. They are the service's shapes, with null for values that only the service
 * knows.
 */

/** A time such as "2025-02-17 10:00:00Z". */
const time = z.string().regex(/^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}Z$/);
const since = time.nullable();
const text = z.string().nullable();
const count = z.int().min(0);
const minutes = z.number().min(0);
const days = z.number().min(0);
const name = z.string().min(1);
/** The field that is added if the query has `coverage=true`. */
const covered = { coverage: z.strictObject(fieldsOf(minutes, "observed", "inferred", "missing")).optional() };
/** The field that is added if the query has `said=true`. */
const translated = { said: z.looseObject({}).optional() };
const connectivity_status = z.enum(["Active", "Idle", "Offline"]);

const pageOf = <T extends z.ZodType>(data: T) =>
  z.strictObject({
    data,
    page: z.int().min(1),
    limit: z.int().min(-1),
    pages: z.int().min(1),
    total: count,
    ...covered,
  });
const page = <T extends z.ZodType>(item: T) => pageOf(z.array(item));

const window = { booth_id: name, start: time, end: time };
const modes = z.array(z.strictObject({ mode: name, duration: minutes }));
const interval = z.strictObject(fieldsOf(z.int(), "months", "days", "secs", "microsecs"));
const options = z.array(z.strictObject({ id: name, name }));

const booth = {
  id: name,
  ...fieldsOf(text, "external_id", "serial_number"),
  name,
  status: z.enum(["active", "decommissioned", "not_activated"]),
  ...fieldsOf(text, "account_id", "account_name", "facility_id", "created_at", "bay_count", "brand_name"),
  ...fieldsOf(text, "burner_size", "height", "length", "model_number", "motor_size", "width"),
  ...fieldsOf(text, "plc_program", "plc_program_revision", "firmware_version"),
  ...fieldsOf(since, "last_firmware_update", "last_program_update"),
  connectivity_status,
  last_active_mode: text,
  last_updated_at: since,
  total_runtime: minutes,
};

/**
 * The mark of inexact figures: the window cuts an hour whose readings are no longer in the log, so the hour's cycles and energy are split
 * by time. Only the gateway sends this field.
 */
const approximate = z.literal(true);

/** The fields that the query parameter `includes` adds. */
const included = z
  .strictObject({
    cycles_count: z.number(),
    utilization_minutes: minutes,
    working_minutes: minutes,
    kwh_usage: z.number(),
    gas_usage: z.number(),
    bake_time: minutes,
    overuse_minutes: minutes,
    overuse_cycles: count,
    approximate,
  })
  .partial();

const latestUpdate = z.strictObject({
  booth_id: name,
  serial_number: text,
  ...fieldsOf(since, "last_reading_at", "last_received_at"),
  acked: z.strictObject({ stream_id: name, seq: count }),
  connectivity_status,
  ...fieldsOf(text, "firmware_version", "plc_program_revision"),
});

const value = z.union([z.string(), z.number(), z.boolean()]);
/** A reading. `quality` is added if the query has `coverage=true`. */
const reading = z.strictObject({ value, system_time: time, quality: z.enum(["good", "uncertain", "bad"]).optional() });
const latestValues = z.strictObject({
  data: z.record(z.string(), z.strictObject({ name, system_time: time, value: z.string() })),
  ...covered,
});

const lives = z.strictObject({
  last_active_filter: time,
  filter_interval_log: z.array(
    z.strictObject({
      start: time,
      duration: days,
      filter_estimated_duration: days.nullable(),
      filter_maintenance_duration: days.nullable(),
      filter_nominal_duration: days.nullable(),
      filter_overuse_duration: days,
    }),
  ),
});

const change = z.strictObject({
  filter_type: name,
  maintenance_date: time,
  ...fieldsOf(days, "duration", "overuse"),
  ...fieldsOf(minutes, "active_spray_time", "booth_in_use_time"),
  booth_overuse_cycles: count,
  booth_overuse_time: minutes,
  /**
   * True if the filter was fitted when the gateway first polled the PLC. `duration` counts from that time; a PLC's own use counter may have
   * started earlier. Only the gateway sends this field, if the query has `coverage=true`.
   */
  assumed: z.literal(true).optional(),
});

const incident = z.strictObject({
  id: name,
  booth_id: name,
  tag_name: z.string(),
  logic: z.looseObject({}),
  reason: z.string(),
  ...fieldsOf(time, "first_seen_at", "last_seen_at"),
  resolved_at: since,
  severity: name,
  ...translated,
});

const provisioning = z.strictObject({
  serial_number: z.string(),
  certificate_id: text,
  completion_status: z.enum(["IN PROGRESS", "COMPLETE"]),
  hw_configuration: text,
  ...fieldsOf(z.null(), "old_password", "new_password"),
  s3_certs_path: text,
  status: z.enum(["unprovisioned", "provisioned", "released", "decommissioned"]),
  generation: count.optional(),
  booth_id: name,
  account_id: name.optional(),
  account_name: text,
  facility_id: name.optional(),
  ...fieldsOf(text, "facility_name", "brand_name", "model_number"),
});

/** The shapes of answers, by their names in the table of operations. */
export const ANSWERS = {
  booths: page(z.strictObject(booth).extend(included.shape)),
  booth: z.strictObject(booth),
  latest_updates: page(latestUpdate),
  booth_status_summary: z.strictObject({
    total: count,
    ...fieldsOf(z.record(z.string(), count), "by_status", "by_mode"),
  }),
  booth_filter_options: z.strictObject({
    ...fieldsOf(options, "facility", "serial_number", "brand_name", "model_number"),
    ...fieldsOf(options, "plc_program", "firmware_version", "status"),
  }),
  duration_by_mode: z.strictObject({ ...window, modes, ...covered }),
  frequency_by_mode: z.strictObject({ ...window, modes: z.array(z.strictObject({ mode: name, count })), ...covered }),
  history: pageOf(z.record(z.string(), z.array(reading))),
  latest_values_for: latestValues,
  latest_values_at: latestValues,
  recent_stages: page(z.strictObject({ mode: name, start_time: time, end_time: time })),
  revision_history: z.strictObject({
    firmware_versions: z.array(z.strictObject({ version: text, installed_at: time })),
    program_versions: z.array(z.strictObject({ version: text, plc_program: text, installed_at: time })),
    ...covered,
  }),
  runtime: z.strictObject({ ...fieldsOf(interval, "current_period", "previous_period", "delta"), ...covered }),
  runtime_series: page(z.strictObject({ time, value: minutes })),
  utilization_stats: z.strictObject({
    ...fieldsOf(minutes, "utilization_minutes", "working_minutes"),
    utilization_pct: z.number().nullable(),
    overtime_minutes: minutes,
    ...fieldsOf(z.number(), "cycle_count", "gas_usage", "kwh_usage"),
    approximate: approximate.optional(),
    ...covered,
  }),
  utilization_summary: z.strictObject({
    ...fieldsOf(minutes, "all_active_modes", "in_use", "idle", "bake"),
    modes,
    ...covered,
  }),
  utilization_timeline: page(z.strictObject({ timestamp: time, duration: minutes, modes })),
  filter_maintenances: page(
    z.strictObject({ exhaust_filter: lives, intake_filter: lives, pre_filter: lives }).partial(),
  ),
  filter_maintenance_history: page(change),
  booths_provisioning: provisioning,
  validation_incidents: page(incident),
  help: z.strictObject({ id: name }),
  authenticate: z.strictObject({ session_token: z.string().min(32), expires_at: time }),
} satisfies Readonly<Record<string, z.ZodType>>;

export type AnswerName = keyof typeof ANSWERS;
export type AnswerOf<N extends AnswerName> = z.output<(typeof ANSWERS)[N]>;
