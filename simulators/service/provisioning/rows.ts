import { type Db, row } from "../storage/db.ts";
import type { Caller } from "../accounts/keys.ts";

export interface BoothRow {
  readonly id: string;
  readonly account_id: string;
  readonly facility_id: string;
  readonly serial_number: string;
  readonly name: string;
  readonly external_id: string | null;
  readonly bay_count: string | null;
  readonly brand_name: string | null;
  readonly burner_size: string | null;
  readonly height: string | null;
  readonly length: string | null;
  readonly model_number: string | null;
  readonly motor_size: string | null;
  readonly width: string | null;
  readonly certificate_id: string | null;
  readonly hw_configuration: string | null;
  readonly old_password: string | null;
  readonly new_password: string | null;
  readonly s3_certs_path: string | null;
  readonly config: string;
  readonly created_at: number;
  readonly updated_at: number;
}

/** A binding of a booth; the highest generation is the current one. `revision` grows with every change of the row. */
export interface ProvisioningRow {
  readonly booth_id: string;
  readonly generation: number;
  readonly gateway_id: string | null;
  readonly status: "provisioned" | "superseded" | "released" | "decommissioned";
  readonly completion_status: string;
  readonly reported: string | null;
  readonly reported_seq: number | null;
  readonly revision: number;
  readonly provisioned_at: number;
  readonly created_at: number;
  readonly updated_at: number;
}

export interface GatewayRow {
  readonly id: string;
  readonly account_id: string;
  readonly hardware_id: string | null;
  readonly agent_version: string | null;
  readonly last_seen_at: number | null;
  readonly heartbeat_at: number | null;
  readonly online: number;
  readonly state: string | null;
}

const SERIAL = /^[A-Z0-9][A-Z0-9-]{2,63}$/;

/** Returns the trimmed serial number in upper case; undefined if it can't be a serial number. */
export function serialOf(text: string): string | undefined {
  const serial = text.trim().toUpperCase();
  return SERIAL.test(serial) ? serial : undefined;
}

/** Returns the account's booth with that serial. Booths of other accounts aren't found. */
export function boothBySerial(db: Db, serial: string, accountId: string): BoothRow | undefined {
  return row<BoothRow>(db, "SELECT * FROM booths WHERE serial_number = ? AND account_id = ?", serial, accountId);
}

export function currentProvisioning(db: Db, boothId: string): ProvisioningRow | undefined {
  return row<ProvisioningRow>(
    db,
    "SELECT * FROM provisionings WHERE booth_id = ? ORDER BY generation DESC LIMIT 1",
    boothId,
  );
}

export function gatewayById(db: Db, gatewayId: string): GatewayRow | undefined {
  return row<GatewayRow>(db, "SELECT * FROM gateways WHERE id = ?", gatewayId);
}

/** Whether the key is that of the gateway that holds the booth now. */
export function isHolder(db: Db, { gateway_id }: Caller, boothId: string): boolean {
  const current = currentProvisioning(db, boothId);
  return gateway_id !== null && current?.status === "provisioned" && current.gateway_id === gateway_id;
}

/** Returns the newest report of any gateway about the booth, which has its device fields. */
export function latestReported(db: Db, boothId: string): Readonly<Record<string, unknown>> | undefined {
  const sql =
    "SELECT reported FROM provisionings WHERE booth_id = ? AND reported IS NOT NULL ORDER BY generation DESC LIMIT 1";
  const found = row<{ reported: string }>(db, sql, boothId);
  return found === undefined ? undefined : (JSON.parse(found.reported) as Record<string, unknown>);
}
