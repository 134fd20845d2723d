import type { ClaimIntent, Reported, ServiceRecord } from "./service.ts";
import type { EpochMs, Seq, Serial } from "./units.ts";

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
  /** Also where another gateway holds the booth: this one takes its place. Absent: no. */
  readonly replace?: boolean | undefined;
  /** What the PLC called itself then: a number of its own, which needn't be the booth's. Absent or null: it had said nothing. */
  readonly plc_serial?: Serial | null | undefined;
}

/** Under which name the log goes to the service, from which seq on. The log itself has one name for ever. */
export interface StreamLabel {
  readonly id: string;
  /** Records before it went, or belong, elsewhere. */
  readonly from_seq: Seq;
  readonly predecessor: { readonly stream_id: string; readonly last_seq: Seq } | null;
  /** Where the log's records of this booth begin, under whatever name; absent: with this name, or, where it has a predecessor, unknown. */
  readonly booth_from_seq?: Seq | undefined;
}

/** The booth is being given up: what was recorded up to `last_seq` is delivered first. */
export interface Leaving {
  readonly to: "released" | "decommissioned";
  /** "wrong_serial": the service takes the stream off the booth, and nothing needs to be delivered first. */
  readonly reason: string;
  readonly last_seq: Seq;
  /** The serial number that is entered next, vouched for; absent: none. */
  readonly then?: { readonly serial: Serial; readonly confirmed: Confirmation } | undefined;
}

/** A configuration of the service in force on trial: what it replaced stands by until it has proved itself. */
export interface ConfigTrial {
  readonly revision: number;
  readonly before: ServiceRecord;
}

/** One booth's provisioning, persisted whole at each transition. */
export interface ProvisioningRow {
  readonly state: ProvisioningState;
  readonly since: EpochMs;
  /** When each state was entered last, since the serial number was. */
  readonly entered_at: Readonly<Partial<Record<ProvisioningState, EpochMs>>>;
  readonly serial: Serial | null;
  readonly confirmed: Confirmation | null;
  /** Stored before the first claim is sent, so that a power cut repeats the same request. */
  readonly claim: {
    readonly id: string;
    readonly expected_generation: number;
    readonly intent: ClaimIntent;
    /**
     * Of a take-over: the booth's stream of the gateway before, and how far the service had it. Stored before the claim, since
     * afterwards the newest stream is ours. null: the service named none. Absent: not asked yet.
     */
    readonly predecessor?: StreamLabel["predecessor"] | undefined;
  } | null;
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
  /** null: under the log's own name, from its oldest record on. */
  readonly stream: StreamLabel | null;
  readonly leaving: Leaving | null;
  /** Suspended: nothing after it is offered to the service; null: no limit. */
  readonly last_seq: Seq | null;
  readonly trial: ConfigTrial | null;
  /** The service's configuration of that revision was tried, or looked at, and not taken; null: none. */
  readonly refused_revision: number | null;
}

/** What a gateway tells the service of a binding that it holds; what is absent stays as it is. */
export interface BindingChange {
  readonly gateway_id: string;
  readonly generation: number;
  readonly complete: boolean;
  readonly reported?: Reported;
  /** Takes the present credential's place: its SHA-256 alone is told. */
  readonly credential?: string;
  /** Ends the binding. */
  readonly leaving?: Pick<Leaving, "to" | "reason">;
}
