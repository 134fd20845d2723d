import { row, type Db } from "../storage/db.ts";
import { runtimeMs } from "../figures/summary.ts";
import type { Call } from "../http/operation.ts";
import {
  type BoothRow,
  currentProvisioning,
  gatewayById,
  type GatewayRow,
  latestReported,
} from "../provisioning/rows.ts";
import { formatTime, isInstant, minutes, parseTime } from "../base/time.ts";
import { figuresOf } from "./common.ts";
import { connectivityOf } from "./connectivity.ts";

/** Fields by which lists of booths can be filtered and sorted. */
export const BOOTH_FIELDS = (
  "id external_id serial_number name status account_id account_name facility_id created_at bay_count brand_name burner_size " +
  "height length model_number motor_size width plc_program plc_program_revision firmware_version last_firmware_update " +
  "last_program_update connectivity_status last_active_mode last_updated_at total_runtime"
).split(" ");

/** The 19 fields of the interface document and those observed beside them; sizes are strings. */
export function boothFields(call: Call, booth: BoothRow): Record<string, unknown> {
  const { db } = call.service;
  const account = row<{ name: string }>(db, "SELECT name FROM accounts WHERE id = ?", booth.account_id);
  const received = row<{ at: number | null }>(
    db,
    "SELECT max(last_received_at) AS at FROM streams WHERE booth_id = ?",
    booth.id,
  );
  const current = currentProvisioning(db, booth.id);
  return fieldsOf(call.now, booth, {
    reported: latestReported(db, booth.id),
    account_name: account?.name ?? null,
    received_at: received?.at ?? 0,
    status: current?.status,
    gateway: gatewayById(db, current?.gateway_id ?? ""),
    runtime_ms: totalRuntimeMs(call, booth),
  });
}

/** Data of a booth from other tables than its own row. */
export interface BoothFacts {
  readonly reported: Readonly<Record<string, unknown>> | undefined;
  readonly account_name: string | null;
  readonly received_at: number;
  /** Status of the newest provisioning. */
  readonly status: string | undefined;
  readonly gateway: GatewayRow | undefined;
  readonly runtime_ms: number;
}

export function fieldsOf(now: number, booth: BoothRow, facts: BoothFacts): Record<string, unknown> {
  const { reported = {}, account_name, received_at, gateway, runtime_ms } = facts;
  const {
    account_id,
    facility_id,
    bay_count,
    brand_name,
    burner_size,
    height,
    length,
    model_number,
    motor_size,
    width,
  } = booth;
  return {
    id: booth.id,
    external_id: booth.external_id,
    serial_number: booth.serial_number,
    name: booth.name,
    status: statusOf(facts.status),
    account_id,
    account_name,
    facility_id,
    created_at: formatTime(booth.created_at),
    bay_count,
    brand_name,
    burner_size,
    height,
    length,
    model_number,
    motor_size,
    width,
    plc_program: textOf(reported["plc_program"]),
    plc_program_revision: textOf(reported["plc_program_revision"]),
    firmware_version: textOf(reported["firmware_version"]),
    last_firmware_update: timeOf(reported["last_firmware_update"]),
    last_program_update: timeOf(reported["last_program_update"]),
    connectivity_status: connectivityOf(booth, { gateway, reported }, now),
    last_active_mode: textOf(reported["last_active_mode"]),
    last_updated_at: formatTime(Math.max(received_at, booth.updated_at)),
    total_runtime: minutes(runtime_ms),
  };
}

const runtimes = new WeakMap<Db, Map<string, { readonly at: number; readonly ms: number }>>();

/** The one field for which the whole log must be gone through. */
function totalRuntimeMs(call: Call, booth: BoothRow): number {
  const { db, runtime_max_age_ms = 0 } = call.service;
  const known = runtimes.get(db) ?? new Map<string, { readonly at: number; readonly ms: number }>();
  const last = known.get(booth.id);
  if (last !== undefined && call.now - last.at < runtime_max_age_ms) return last.ms;
  const ms = runtimeMs(figuresOf(call, booth), { start: 0, end: call.now });
  runtimes.set(db, known.set(booth.id, { at: call.now, ms }));
  return ms;
}

function statusOf(status: string | undefined): "active" | "decommissioned" | "not_activated" {
  if (status === "provisioned") return "active";
  return status === "decommissioned" ? "decommissioned" : "not_activated";
}

function textOf(value: unknown): string | null {
  return typeof value === "string" || typeof value === "number" ? String(value) : null;
}

function timeOf(value: unknown): string | null {
  const time = typeof value === "number" ? value : typeof value === "string" ? parseTime(value) : undefined;
  return time === undefined || !isInstant(time) ? null : formatTime(time);
}
