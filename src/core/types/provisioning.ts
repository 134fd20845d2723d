import type { ServiceRecord } from "./service.ts";
import type { EpochMs, Serial } from "./units.ts";

/** Main path in order, then the side states. Polling and buffering run in every one of them. */
export type ProvisioningState =
  | "unprovisioned"
  | "serial_entered"
  | "queued"
  | "looking_up"
  | "awaiting_confirm"
  | "claiming"
  | "claimed"
  | "configuring"
  | "verifying"
  | "active"
  | "conflict"
  | "not_found"
  | "denied"
  | "suspended"
  | "released"
  | "decommissioned";

/** Who confirmed that this box stands beside the booth with that serial. */
export interface Confirmation {
  readonly by: string;
  readonly note: string;
}

/** One booth's provisioning, persisted whole at each transition. */
export interface ProvisioningRow {
  readonly state: ProvisioningState;
  readonly since: EpochMs;
  readonly serial: Serial | null;
  readonly confirmed: Confirmation | null;
  /** Stored before the first claim is sent, so that a power cut repeats the same request. */
  readonly claim: { readonly id: string; readonly expected_generation: number } | null;
  readonly generation: number | null;
  /** The service's record as last read. */
  readonly record: ServiceRecord | null;
  /** Why it isn't further, in words for the technician, and what to do. */
  readonly reason: string;
  readonly advice: string;
  /** Tries of the present step that failed. */
  readonly attempt: number;
  /** Monotonic time can't be kept over a boot: a stored wait is measured anew after a start. */
  readonly wait_ms: number;
}
