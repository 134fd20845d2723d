import type { FilterLimits, FilterType, WorkingHours } from "./booth.ts";
import type { Serial } from "./units.ts";

/** The service's provisioning record of a booth, as far as the gateway uses it. */
export interface ServiceRecord {
  readonly serial_number: Serial;
  readonly completion_status: string;
  readonly hw_configuration: string | null;
  readonly status?: "unprovisioned" | "provisioned" | "released" | "decommissioned" | undefined;
  /** Counts the bindings of the booth; null: the service knows no generations. */
  readonly generation: number | null;
  readonly booth_id: string | null;
  readonly account_name: string | null;
  readonly facility_id: string | null;
  readonly facility_name: string | null;
  readonly tz: string | null;
  readonly working_hours: readonly WorkingHours[];
  readonly brand_name: string | null;
  readonly model_number: string | null;
  readonly gateway: { readonly id: string | null; readonly last_seen_at: string | null } | null;
  readonly mqtt: {
    readonly url: string | null;
    readonly client_id: string | null;
    readonly username: string | null;
    readonly topic_prefix: string | null;
  } | null;
  readonly config: {
    readonly revision: number | null;
    readonly filters: Readonly<
      Partial<Record<FilterType, { readonly limits?: FilterLimits | undefined } | null | undefined>>
    >;
  } | null;
}

/** What came of one request to the service. `keep`: try again, not before `after_ms` where the service said so. */
export type ServiceAnswer<T> =
  | { readonly kind: "ok"; readonly value: T }
  | { readonly kind: "not_found" }
  | { readonly kind: "conflict"; readonly reason: string }
  | { readonly kind: "denied"; readonly reason: string }
  | { readonly kind: "reject"; readonly reason: string }
  | { readonly kind: "keep"; readonly reason: string; readonly after_ms: number | null };
