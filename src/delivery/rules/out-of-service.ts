import type { ProvisioningRow } from "../../domain/provisioning.ts";

/**
 * Every booth of the box was taken out of service for good by somebody's word, and what it had recorded until then is
 * delivered. Where the service alone has ended a binding, its row tells that as its reason, and the box isn't asked to go.
 */
export function isOutOfService(rows: readonly Pick<ProvisioningRow, "state" | "reason">[]): boolean {
  return rows.length > 0 && rows.every(({ state, reason }) => state === "decommissioned" && reason === "");
}
