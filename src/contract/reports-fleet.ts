import type { BoothStatus, ConnectivityStatus } from "../domain/status.ts";
import type { EpochMs, Milliseconds } from "../domain/units.ts";
import type { LogNames } from "../domain/stream-label.ts";
import { wireNameOf } from "../domain/booth.ts";
import { orderOfTexts } from "./reports-query.ts";
import { answerTime, minutesOf } from "./time.ts";

type HiddenFields = "since" | "entered_at" | "delivery" | "choices" | "refused_revision" | "reason" | "advice";

/** The fields of a booth's status from which the service's shapes are made. */
export interface BoothFields
  extends
    Pick<BoothStatus, "booth" | "stream" | "serial">,
    Pick<BoothStatus["log"], "acked_seq" | "last_commit_at">,
    Omit<BoothStatus["provisioning"], HiddenFields>,
    LogNames {
  /** The service's id of the booth if it is bound, else its name on this gateway. */
  readonly booth_id: string;
  readonly connectivity: ConnectivityStatus;
  readonly summary: BoothStatus["now"];
}

const optionalTime = (at: EpochMs | null | undefined): string | null =>
  at === null || at === undefined ? null : answerTime(at);

/** Returns a booth in the service's shape. Fields that only the service knows have the values last read from the service, or null. */
export function boothBody(booth: BoothFields, total_runtime_ms: Milliseconds) {
  const { summary, shown } = booth;
  const last_active = summary?.last_active_mode ?? null;
  return {
    id: booth.booth_id,
    external_id: shown?.external_id ?? null,
    serial_number: booth.serial,
    name: booth.booth,
    status: statusOf(booth.state),
    account_id: booth.account_id,
    account_name: booth.account,
    facility_id: booth.facility_id,
    created_at: booth.created_at,
    bay_count: shown?.bay_count ?? null,
    brand_name: booth.brand,
    burner_size: shown?.burner_size ?? null,
    height: shown?.height ?? null,
    length: shown?.length ?? null,
    model_number: booth.model,
    motor_size: shown?.motor_size ?? null,
    width: shown?.width ?? null,
    plc_program: summary?.plc_program ?? null,
    plc_program_revision: summary?.plc_program_revision ?? null,
    firmware_version: summary?.firmware_version ?? null,
    last_firmware_update: optionalTime(summary?.last_firmware_update),
    last_program_update: optionalTime(summary?.last_program_update),
    connectivity_status: booth.connectivity,
    last_active_mode: last_active && wireNameOf(last_active),
    last_updated_at: optionalTime(booth.last_commit_at),
    total_runtime: minutesOf(total_runtime_ms),
  };
}

function statusOf(state: string): "active" | "decommissioned" | "not_activated" {
  if (state === "active" || state === "verifying") return "active";
  return state === "decommissioned" ? "decommissioned" : "not_activated";
}

export function latestUpdateItem(booth: BoothFields, last_reading_at: EpochMs | null) {
  return {
    booth_id: booth.booth_id,
    serial_number: booth.serial,
    last_reading_at: optionalTime(last_reading_at),
    last_received_at: optionalTime(booth.last_commit_at),
    acked: { stream_id: booth.stream, seq: booth.acked_seq },
    connectivity_status: booth.connectivity,
    firmware_version: booth.summary?.firmware_version ?? null,
    plc_program_revision: booth.summary?.plc_program_revision ?? null,
  };
}

/** Counts the booths by connectivity and by present mode. */
export function statusSummaryBody(booths: readonly BoothFields[]) {
  return {
    total: booths.length,
    by_status: countBy(booths.map(({ connectivity }) => connectivity)),
    by_mode: countBy(booths.map(({ summary }) => wireNameOf(summary?.mode ?? "no_data"))),
  };
}

/** Returns the values by which a list of these booths can be filtered, each as `{id, name}`. */
export function filterOptionsBody(booths: readonly BoothFields[]) {
  const options = (values: readonly (string | null | undefined)[]): { id: string; name: string }[] =>
    [...new Set(values.filter((value) => value !== null && value !== undefined))]
      .sort()
      .map((name) => ({ id: name, name }));
  // Filters by the service's id of a facility, because two facilities may have the same name.
  const facilities = new Map(
    booths.map(({ facility_id, facility }) => [facility_id ?? "", facility ?? facility_id ?? ""]),
  );
  facilities.delete("");
  return {
    facility: Array.from(facilities, ([id, name]) => ({ id, name })).sort((a, b) => orderOfTexts(a.name, b.name)),
    serial_number: options(booths.map(({ serial }) => serial)),
    brand_name: options(booths.map(({ brand }) => brand)),
    model_number: options(booths.map(({ model }) => model)),
    plc_program: options(booths.map(({ summary }) => summary?.plc_program)),
    firmware_version: options(booths.map(({ summary }) => summary?.firmware_version)),
    status: options(booths.map(({ state }) => statusOf(state))),
  };
}

/** Returns the booth's binding. The PLC's passwords are always null, even if the service's record has passwords. */
export function provisioningBody(booth: BoothFields) {
  const isDone = booth.state === "active";
  return {
    serial_number: booth.serial ?? "",
    certificate_id: null,
    completion_status: isDone ? "COMPLETE" : "IN PROGRESS",
    hw_configuration: booth.hw_configuration,
    old_password: null,
    new_password: null,
    s3_certs_path: null,
    status: bindingOf(booth.state),
    ...(booth.generation === null ? {} : { generation: booth.generation }),
    booth_id: booth.booth_id,
    ...(booth.account_id === null ? {} : { account_id: booth.account_id }),
    account_name: booth.account,
    ...(booth.facility_id === null ? {} : { facility_id: booth.facility_id }),
    facility_name: booth.facility,
    brand_name: booth.brand,
    model_number: booth.model,
  };
}

function bindingOf(state: string): "unprovisioned" | "provisioned" | "released" | "decommissioned" {
  if (state === "released" || state === "decommissioned") return state;
  return ["claimed", "configuring", "verifying", "active"].includes(state) ? "provisioned" : "unprovisioned";
}

function countBy(values: readonly string[]): Record<string, number> {
  const groups = Map.groupBy(values, (value) => value);
  return Object.fromEntries([...groups].map(([value, { length }]) => [value, length]));
}
