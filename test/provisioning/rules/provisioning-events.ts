import { emptyRow, type ProvisioningRow } from "../../../src/domain/provisioning.ts";
import { transition, type ProvisioningEvent } from "../../../src/provisioning/rules/provisioning.ts";
import type { ServiceAnswer, ServiceRecord } from "../../../src/domain/service.ts";
import { serviceRecord } from "../../support/service-record.ts";

export const around = { now: 1_000, gateway_id: "gw-1", random: () => 0.5 };
export const record = serviceRecord({ status: "unprovisioned" });
export const ok = (value: ServiceRecord = record): ServiceAnswer<ServiceRecord> => ({ kind: "ok", value });
export const away = {
  kind: "keep",
  reason: "no route",
  after_ms: null,
} as const satisfies ServiceAnswer<ServiceRecord>;
export const by = { by: "tech", note: "" };

export function after(events: readonly ProvisioningEvent[], row: ProvisioningRow = emptyRow(0)): ProvisioningRow {
  return events.reduce((now, event) => transition(now, event, around), row);
}

export const entered = {
  kind: "serial_entered",
  serial: "ABCD-123-123",
  confirmed: by,
} as const satisfies ProvisioningEvent;
export const looking: ProvisioningEvent = { kind: "looking_up" };
export const lookedUp = (answer: ServiceAnswer<ServiceRecord>, claim_id = "claim-1"): ProvisioningEvent => ({
  kind: "looked_up",
  answer,
  claim_id,
});
