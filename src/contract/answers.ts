import { z } from "zod";

/** What the box answers where all went well, by operation of `operations.ts`: the service's shapes, null where only it knows more. */

/** "2025-02-17 10:00:00Z" */
const time = z.string().regex(/^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}Z$/);
const since = time.nullable();
const text = z.string().nullable();
const count = z.int().min(0);
const minutes = z.number().min(0);
const days = z.number().min(0);
const name = z.string().min(1);
const coverage = z.strictObject({ observed: minutes, inferred: minutes, missing: minutes });
/** Where the query has `coverage=true`. */
const covered = { coverage: coverage.optional() };
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
const interval = z.strictObject({ months: z.int(), days: z.int(), secs: z.int(), microsecs: z.int() });
const options = z.array(z.strictObject({ id: name, name }));

const booth = {
  id: name,
  external_id: text,
  serial_number: text,
  name,
  status: z.enum(["active", "decommissioned", "not_activated"]),
  account_id: text,
  account_name: text,
  facility_id: text,
  created_at: text,
  bay_count: text,
  brand_name: text,
  burner_size: text,
  height: text,
  length: text,
  model_number: text,
  motor_size: text,
  width: text,
  plc_program: text,
  plc_program_revision: text,
  firmware_version: text,
  last_firmware_update: since,
  last_program_update: since,
  connectivity_status,
  last_active_mode: text,
  last_updated_at: since,
  total_runtime: minutes,
};

/** What `includes` adds. */
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
  })
  .partial();

const latestUpdate = z.strictObject({
  booth_id: name,
  serial_number: text,
  last_reading_at: since,
  last_received_at: since,
  acked: z.strictObject({ stream_id: name, seq: count }),
  connectivity_status,
  firmware_version: text,
  plc_program_revision: text,
});

const value = z.union([z.string(), z.number(), z.boolean()]);
/** `quality` where the query has `coverage=true`: the service's users don't ask for it. */
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
  duration: days,
  overuse: days,
  active_spray_time: minutes,
  booth_in_use_time: minutes,
  booth_overuse_cycles: count,
  booth_overuse_time: minutes,
});

const incident = z.strictObject({
  id: name,
  booth_id: name,
  tag_name: z.string(),
  logic: z.looseObject({}),
  reason: z.string(),
  first_seen_at: time,
  last_seen_at: time,
  resolved_at: since,
  severity: name,
});

const provisioning = z.strictObject({
  serial_number: z.string(),
  certificate_id: text,
  completion_status: z.enum(["IN PROGRESS", "COMPLETE"]),
  hw_configuration: text,
  old_password: z.null(),
  new_password: z.null(),
  s3_certs_path: text,
  status: z.enum(["unprovisioned", "provisioned", "released", "decommissioned"]),
  generation: count.optional(),
  booth_id: name,
  account_id: name.optional(),
  account_name: text,
  facility_id: name.optional(),
  facility_name: text,
  brand_name: text,
  model_number: text,
});

/** By method and path; an operation that isn't here answers text/csv. */
export const ANSWERS: Readonly<Record<string, z.ZodType>> = {
  "GET /api/booths": page(z.strictObject(booth).extend(included.shape)),
  "GET /api/booths/{id}": z.strictObject(booth),
  "GET /api/booths/latest_updates": page(latestUpdate),
  "GET /api/booths/booth_status_summary": z.strictObject({
    total: count,
    by_status: z.record(z.string(), count),
    by_mode: z.record(z.string(), count),
  }),
  "GET /api/booths/booth_filter_options": z.strictObject({
    facility: options,
    serial_number: options,
    brand_name: options,
    model_number: options,
    plc_program: options,
    firmware_version: options,
    status: options,
  }),
  "GET /api/booths/{id}/duration_by_mode": z.strictObject({ ...window, modes, ...covered }),
  "GET /api/booths/{id}/frequency_by_mode": z.strictObject({
    ...window,
    modes: z.array(z.strictObject({ mode: name, count })),
    ...covered,
  }),
  "GET /api/booths/{id}/history": pageOf(z.record(z.string(), z.array(reading))),
  "GET /api/booths/{id}/latest_values_for": latestValues,
  "GET /api/booths/{id}/latest_values_at": latestValues,
  "GET /api/booths/{id}/recent_stages": page(z.strictObject({ mode: name, start_time: time, end_time: time })),
  "GET /api/booths/{id}/revision_history": z.strictObject({
    firmware_versions: z.array(z.strictObject({ version: text, installed_at: time })),
    program_versions: z.array(z.strictObject({ version: text, plc_program: text, installed_at: time })),
    ...covered,
  }),
  "GET /api/booths/{id}/runtime": z.strictObject({
    current_period: interval,
    previous_period: interval,
    delta: interval,
    ...covered,
  }),
  "GET /api/booths/{id}/runtime_series": page(z.strictObject({ time, value: minutes })),
  "GET /api/booths/{id}/utilization_stats": z.strictObject({
    utilization_minutes: minutes,
    working_minutes: minutes,
    utilization_pct: z.number().nullable(),
    overtime_minutes: minutes,
    cycle_count: z.number(),
    gas_usage: z.number(),
    kwh_usage: z.number(),
    ...covered,
  }),
  "GET /api/booths/{id}/utilization_summary": z.strictObject({
    all_active_modes: minutes,
    in_use: minutes,
    idle: minutes,
    bake: minutes,
    modes,
    ...covered,
  }),
  "GET /api/booths/{id}/utilization_timeline": page(z.strictObject({ timestamp: time, duration: minutes, modes })),
  "GET /api/booths/{id}/filter_maintenances": page(
    z.strictObject({ exhaust_filter: lives, intake_filter: lives, pre_filter: lives }).partial(),
  ),
  "GET /api/booths/{id}/filter_maintenance_history": page(change),
  "POST /api/booths_provisioning": provisioning,
  "GET /api/booths_provisioning/{serial_number}": provisioning,
  "PUT /api/booths_provisioning/{serial_number}": provisioning,
  "GET /api/validation_incidents": page(incident),
  "POST /api/help": z.strictObject({ id: name }),
  "POST /api/authenticate": z.strictObject({ session_token: z.string().min(32), expires_at: time }),
};
