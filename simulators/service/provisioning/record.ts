import type { WorkingHours } from "../../../src/domain/booth.ts";
import { row } from "../storage/db.ts";
import type { Service } from "../http/operation.ts";
import { type Caller, hashOf, isAllowed } from "../accounts/keys.ts";
import { formatOptional, formatTime } from "../base/time.ts";
import { type BoothRow, currentProvisioning, gatewayById, isHolder, type ProvisioningRow } from "./rows.ts";

interface Place {
  readonly account_name: string;
  readonly facility_name: string;
  readonly tz: string;
  readonly working_hours: string;
  readonly updated_at: number;
}

/**
 * Returns the provisioning record of a booth that the caller may see. At plain level it has only the observed fields.
 */
export function provisioningRecord(service: Service, booth: BoothRow, caller: Caller): Record<string, unknown> {
  const current = currentProvisioning(service.db, booth.id);
  const seesPasswords =
    caller.scope === "gateway" ? isHolder(service.db, caller, booth.id) : isAllowed(caller, ["admin", "provision"]);
  const observed = {
    serial_number: booth.serial_number,
    certificate_id: booth.certificate_id,
    completion_status: current?.completion_status ?? "IN PROGRESS",
    hw_configuration: booth.hw_configuration,
    old_password: seesPasswords ? booth.old_password : null,
    new_password: seesPasswords ? booth.new_password : null,
    s3_certs_path: booth.s3_certs_path,
  };
  return service.plain ? observed : { ...observed, ...bindingFields(service, booth, current) };
}

function bindingFields(
  service: Service,
  booth: BoothRow,
  current: ProvisioningRow | undefined,
): Record<string, unknown> {
  const place = row<Place>(
    service.db,
    `SELECT a.name AS account_name, f.name AS facility_name, f.tz, f.working_hours, f.updated_at
     FROM facilities f JOIN accounts a ON a.id = f.account_id WHERE f.id = ?`,
    booth.facility_id,
  );
  const provisioned = current?.status === "provisioned";
  return {
    status: current?.status === "superseded" ? "provisioned" : (current?.status ?? "unprovisioned"),
    generation: current?.generation ?? 0,
    booth_id: booth.id,
    account_id: booth.account_id,
    account_name: place?.account_name ?? null,
    facility_id: booth.facility_id,
    facility_name: place?.facility_name ?? null,
    tz: place?.tz ?? null,
    working_hours: place === undefined ? [] : (JSON.parse(place.working_hours) as readonly WorkingHours[]),
    brand_name: booth.brand_name,
    model_number: booth.model_number,
    bay_count: booth.bay_count === null ? null : Number(booth.bay_count),
    gateway: provisioned ? gatewayFields(service, current.gateway_id) : null,
    mqtt: provisioned ? mqttFields(service, current.gateway_id) : null,
    config: JSON.parse(booth.config) as unknown,
    reported: JSON.parse(current?.reported ?? "null") as unknown,
    provisioned_at: formatOptional(current?.provisioned_at),
    created_at: formatTime(current?.created_at ?? booth.created_at),
    updated_at: formatTime(Math.max(current?.updated_at ?? 0, booth.updated_at, place?.updated_at ?? 0)),
  };
}

function gatewayFields(service: Service, gatewayId: string | null): unknown {
  const gateway = gatewayId === null ? undefined : gatewayById(service.db, gatewayId);
  if (gateway === undefined) return null;
  const { id, hardware_id, agent_version, last_seen_at } = gateway;
  return { id, hardware_id, agent_version, last_seen_at: formatOptional(last_seen_at) };
}

function mqttFields(service: Service, gatewayId: string | null): unknown {
  if (gatewayId === null) return null;
  const names = { client_id: gatewayId, username: gatewayId, topic_prefix: `bg/v1/${gatewayId}` };
  return { url: brokerOf(service.mqttUrl(), gatewayId), ws_url: service.mqttWsUrl?.() ?? null, ...names };
}

/**
 * Returns a gateway's broker of several: the one with the highest hash of its name and the gateway's (rendezvous
 * hashing). Adding or removing a broker moves only that broker's gateways.
 */
function brokerOf(urls: string, gatewayId: string): string {
  const [url = ""] = urls
    .split(" ")
    .map((one) => [one, hashOf(`${one} ${gatewayId}`)] as const)
    .sort(([, a], [, b]) => (a < b ? 1 : -1))
    .map(([one]) => one);
  return url;
}

/** Returns the validator for conditional writes, which changes only with the binding. */
export function provisioningTag(current: ProvisioningRow | undefined): string {
  return `"${current?.generation ?? 0}.${current?.revision ?? 0}"`;
}
