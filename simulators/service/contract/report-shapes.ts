import { z } from "zod";
import { count, day, id, minutes, modeDurations, number, page, pageOf, text, time } from "./fields.ts";

/** Shapes of reports. Durations are in minutes, filter lifetimes in days, energy in therm and kWh. */

const window = { booth_id: id, start: time, end: time };

export const durationByMode = z.strictObject({ ...window, modes: modeDurations });

export const frequencyByMode = z.strictObject({
  ...window,
  modes: z.array(z.strictObject({ mode: z.string(), count })),
});

const reading = z.strictObject({ value: z.union([z.string(), number, z.boolean()]), system_time: time });

export const history = pageOf(z.record(z.string(), z.array(reading)));

export const latestValues = z.strictObject({
  data: z.record(z.string(), z.strictObject({ name: z.string(), system_time: time, value: z.string() })),
});

export const latestUpdates = page(
  z.strictObject({
    booth_id: id,
    serial_number: z.string(),
    last_reading_at: time.nullable(),
    last_received_at: time.nullable(),
    acked: z.strictObject({ stream_id: id, seq: count }).nullable(),

    connectivity_status: z.enum(["Active", "Idle", "Offline"]),
    firmware_version: text,
    plc_program_revision: text,
  }),
);

const counts = z.record(z.string(), count);
export const statusSummary = z.strictObject({ total: count, by_status: counts, by_mode: counts });

const options = z.array(z.strictObject({ id, name: z.string() }));
export const filterOptions = z.strictObject({
  facility: options,
  serial_number: options,
  brand_name: options,
  model_number: options,
  plc_program: options,
  firmware_version: options,
  status: options,
});

export const recentStages = page(z.strictObject({ mode: z.string(), start_time: time, end_time: time }));

export const revisionHistory = z.strictObject({
  firmware_versions: z.array(z.strictObject({ version: z.string(), installed_at: time.nullable() })),
  program_versions: z.array(
    z.strictObject({ version: z.string(), plc_program: z.string().optional(), installed_at: time.nullable() }),
  ),
});

const interval = z.strictObject({ months: z.int(), days: z.int(), secs: z.int(), microsecs: z.int() });
export const runtime = z.strictObject({ current_period: interval, previous_period: interval, delta: interval });
export const runtimeSeries = page(z.strictObject({ time, value: minutes }));

export const utilizationStats = z.strictObject({
  utilization_minutes: minutes,
  working_minutes: minutes,
  utilization_pct: number.nullable(),
  overtime_minutes: minutes,
  cycle_count: number,
  gas_usage: number,
  kwh_usage: number,
});

export const utilizationSummary = z.strictObject({
  all_active_modes: minutes,
  in_use: minutes,
  idle: minutes,
  bake: minutes,
  modes: modeDurations,
});

export const timeline = page(z.strictObject({ timestamp: time, duration: minutes, modes: modeDurations }));

const days = z.number().min(0);
const installations = z.strictObject({
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

/** Returns a field per filter type; a type that isn't fitted is absent. */
function byFilter(entry: z.ZodType): z.core.$ZodLooseShape {
  return { exhaust_filter: entry.optional(), intake_filter: entry.optional(), pre_filter: entry.optional() };
}

export const filterMaintenances = page(z.strictObject(byFilter(installations)));

const maintenance = z.strictObject({
  filter_type: z.string(),
  maintenance_date: time,
  duration: days,
  overuse: days,
  active_spray_time: minutes,
  booth_in_use_time: minutes,
  booth_overuse_cycles: count,
  booth_overuse_time: minutes,
});
export const boothMaintenanceHistory = page(maintenance);
export const maintenanceHistory = page(maintenance.extend({ booth_id: id }));

export const maintenanceTimeline = page(
  z.strictObject({
    period: day,
    region_id: id,
    in_use: minutes,
    cycle_count: number,
    overuse_cycles: count,
    overuse_minutes: minutes,
    on_time: count,
    late: count,
    events_during_period: count,
  }),
);

export const overuseTrend = page(
  z.strictObject({ period: day, overuse_count: count, overuse_cycles: count, overuse_time: minutes }),
);

const service = z.strictObject({
  maintenance_event_count: count,
  on_time_service_count: count,
  late_service_count: count,
});
export const filterServices = page(z.strictObject({ booth_id: id, region_id: id, ...byFilter(service) }));

const energy = { gas_usage: number, kwh_usage: number };

export const bucketedUtilization = page(
  z.strictObject({ group: z.string(), ...energy, utilization_minutes: minutes, cycle_count: number }),
);
export const utilization = page(
  z.strictObject({
    booth_id: id,
    start: time,
    duration: minutes,
    cycle_count: number,
    ...energy,
    modes: modeDurations,
  }),
);
export const utilizationTrends = page(
  z.strictObject({ period: day, utilization_time: minutes, median_cycles: number.nullable() }),
);
export const utilizationFrequency = page(z.strictObject({ hour_of_week: z.int().min(0).max(167), count }));
export const cyclesUtilization = page(
  z.strictObject({
    booth_id: id,
    period: day,
    cycle_count: number,
    utilization_minutes: minutes,
    working_minutes: minutes,
  }),
);
