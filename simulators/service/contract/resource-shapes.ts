import { z } from "zod";
import { bareTime, count, flag, id, minutes, number, text, time, workingHours } from "./fields.ts";

/** Shapes of resources with all their fields. Sizes of a booth are strings. */

export const notification = z.strictObject({
  id,
  user_id: id,
  definition_id: id,
  definition_name: z.string(),
  definition_description: text,
  booth_count: count,
  event_count: count,
  period_start: bareTime,
  period_end: bareTime,
  seen_in_app: flag,
  email_sent_at: time.nullable(),
  created_at: time,
  updated_at: time,
});

export const notificationDetail = notification.extend({
  events: z.array(z.strictObject({ booth_id: id, booth_name: z.string(), start: time, end: time, duration: minutes })),
});

export const region = z.strictObject({
  id,
  name: z.string(),
  is_default: flag,
  booth_count: count,
  facility_count: count,
});

export const account = z.strictObject({
  id,
  name: z.string(),
  regions: z.array(region),
  customer_type: text,
  primary_industry: text,
});

export const alertType = z.strictObject({
  id,
  name: z.string(),
  type: z.enum(["time", "tag", "tag_threshold", "value_threshold"]),
  base_tag: z.string(),
  extra_tag: text,
  threshold: number.nullable(),
  condition_over: number.nullable(),
  category: text,
  severity: text,
  enabled: flag,
});

export const alert = z.strictObject({
  id,
  booth_id: id,
  alert_type_id: id,
  name: z.string(),
  started_at: time,
  ended_at: time.nullable(),
  value: number.nullable(),
});

export const apiKey = z.strictObject({
  id,
  account_id: id,
  name: z.string(),
  prefix: z.string(),
  scope: z.enum(["admin", "user", "provision", "gateway"]),
  created_at: time,
  /** Name of the user who made the key, or of the key that made it. */
  created_by: text,
  last_used_at: time.nullable(),
  expires_at: time.nullable(),
});

export const booth = z.strictObject({
  id,
  external_id: text,
  serial_number: z.string(),
  name: z.string(),
  status: z.enum(["active", "decommissioned", "not_activated"]),
  account_id: id,
  account_name: text,
  facility_id: id,
  created_at: time,
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
  last_firmware_update: time.nullable(),
  last_program_update: time.nullable(),
  connectivity_status: z.enum(["Active", "Idle", "Offline"]),
  last_active_mode: text,
  last_updated_at: time,
  total_runtime: minutes,
});

/** A booth in a list, with the fields that `includes` adds. */
export const listedBooth = booth.extend(
  z
    .strictObject({
      cycles_count: number,
      utilization_minutes: minutes,
      working_minutes: minutes,
      kwh_usage: number,
      gas_usage: number,
      bake_time: minutes,
      overuse_minutes: minutes,
      overuse_cycles: count,
    })
    .partial().shape,
);

export const facility = z.strictObject({
  id,
  name: z.string(),
  tz: z.string(),
  address_line_1: text,
  address_line_2: text,
  city: text,
  state: text,
  zipcode: text,
  climate_control: text,
  square_ft: text,
  store_number: text,
  type: text,
  region_id: id,
  latitude: number.nullable(),
  longitude: number.nullable(),
  working_hours: workingHours,
  distributor_name: text,
  region_name: z.string(),
  account_name: z.string(),
  created_at: time,
  updated_at: time,
});

/** A facility in a list, with the fields that `includes` adds. */
export const listedFacility = facility.extend(
  z
    .strictObject({
      active_alerts: count,
      cycle_count: number,
      gas_usage: number,
      kwh_usage: number,
      utilization_minutes: minutes,
      working_minutes: minutes,
      events_missed: count,
      overuse_cycles: count,
      overuse_minutes: minutes,
      service_events: count,
    })
    .partial().shape,
);

const ruleValue = z.union([z.string(), number, flag]);

export const eventDefinition = z.strictObject({
  id,
  account_id: id,
  booth_ids: z.array(id),
  category: z.string(),
  created_at: time,
  created_by: text,
  description: text,
  enabled: flag,
  evaluation_period: z.enum(["daily", "weekly"]),
  event_type: z.enum(["tag", "aggregate"]),
  last_edited_by: text,
  min_duration: minutes,
  name: z.string(),
  rules: z.array(z.strictObject({ tag: z.string(), op: z.string(), value: z.union([ruleValue, z.array(ruleValue)]) })),
  send_email: flag,
  send_notification_at: text,
  updated_at: time,
  user_ids: z.array(id),
});

export const user = z.strictObject({
  id,
  user_name: z.string(),
  email: z.email(),
  role: z.enum(["admin", "user"]),
  account_id: id,
  invitation_sent_at: time.nullable(),
});

export const incident = z.strictObject({
  id,
  booth_id: id,
  tag_name: z.string(),
  logic: z.looseObject({}),
  reason: z.string(),
  first_seen_at: time,
  last_seen_at: time,
  resolved_at: time.nullable(),
  severity: z.string(),
});

/** The first seven fields were observed. At plain level there are no others. */
export const provisioning = z.strictObject({
  serial_number: z.string(),
  certificate_id: text,
  completion_status: z.enum(["IN PROGRESS", "COMPLETE"]),
  hw_configuration: text,
  old_password: text,
  new_password: text,
  s3_certs_path: text,
  ...z
    .strictObject({
      status: z.enum(["unprovisioned", "provisioned", "released", "decommissioned"]),
      generation: count,
      booth_id: id,
      account_id: id,
      account_name: text,
      facility_id: id,
      facility_name: text,
      tz: text,
      working_hours: workingHours,
      brand_name: text,
      model_number: text,
      bay_count: number.nullable(),
      gateway: z.strictObject({ id, hardware_id: text, agent_version: text, last_seen_at: time.nullable() }).nullable(),
      mqtt: z
        .strictObject({ url: z.string(), ws_url: text, client_id: id, username: id, topic_prefix: z.string() })
        .nullable(),
      config: z.looseObject({}),
      reported: z.looseObject({}).nullable(),
      provisioned_at: time.nullable(),
      created_at: time,
      updated_at: time,
    })
    .partial().shape,
});
