import { type Text, message } from "./message.ts";
import type { ClaimIntent, Reported, ServiceRecord } from "./service.ts";
import type { EpochMs, Milliseconds, Seq, Serial } from "./units.ts";

/** The provisioning states: the main path in order, then the side states. Polling and storing continue in every state. */
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

/** A person's confirmation that this gateway is attached to the booth with that serial number. */
export interface Confirmation {
  readonly by: string;
  readonly note: string;
  /** Whether to take the booth over if another gateway holds it; absent: no. */
  readonly replace?: boolean | undefined;
  /** The chosen booth at the service, by its id or its position in the list; absent: none was chosen. */
  readonly service_booth?: string | undefined;
  /** Serial number that the PLC showed at that time, which may differ from the booth's; absent or null: it showed none. */
  readonly plc_serial?: Serial | null | undefined;
}

/** A stream label: the name of the log at the service, and the seq from which that name applies. The log's own name never changes. */
export interface StreamLabel {
  readonly id: string;
  /** First seq with this name. Earlier records were sent, or belong, under another name. */
  readonly from_seq: Seq;
  readonly predecessor: { readonly stream_id: string; readonly last_seq: Seq } | null;
  /** First seq of this booth in the log, under any name. Absent: the first seq with this name, or unknown if the name has a predecessor. */
  readonly booth_from_seq?: Seq | undefined;
  /** Time of the last new name that was needed because the service holds other records under the same seqs; absent: never. */
  readonly forked_at?: EpochMs | undefined;
  /** Seqs of these other records; absent: from the first record with this name on. */
  readonly forked_seqs?: HeldSeqs | undefined;
}

/** Seqs under which the service holds other records than this gateway; both ends are included. */
export interface HeldSeqs {
  readonly from: Seq;
  /** Last seq; absent: the service didn't report it. */
  readonly to?: Seq;
}

/** A release in progress, which begins with delivering all records up to `last_seq`. */
export interface Leaving {
  readonly to: "released" | "decommissioned";
  /** Reason of the release. "wrong_serial": the service removes the stream from the booth, and nothing needs to be delivered first. */
  readonly reason: string;
  readonly last_seq: Seq;
  /** The next serial number, which a person has already confirmed; absent: none. */
  readonly then?: { readonly serial: Serial; readonly confirmed: Confirmation } | undefined;
  /** Whether root ordered the release on the gateway, so that a decommissioned booth's keys and data may be wiped; absent: no. */
  readonly by_root?: boolean | undefined;
}

/**
 * Shortest running time of the gateway between two readings of the service's record that both say "decommissioned". It gives people a day
 * to correct a wrong record.
 */
export const WIPE_AFTER_MS: Milliseconds = 86_400_000;

/** Grounds for wiping the keys and data of a decommissioned booth. */
export interface WipeGrounds {
  /** root: ordered on the gateway. record: stated in the service's record, read over HTTPS. A remote command never suffices. */
  readonly by: "root" | "record";
  /** Time for which the record has said "decommissioned" while the gateway was running. */
  readonly for_ms: Milliseconds;
  /** Newest seq at the release. The data is kept while records up to this seq are unacked. */
  readonly last_seq: Seq;
}

/** The provisioning of a booth. The row is stored as a whole at each transition, so a power cut leaves the old or the new state. */
export interface ProvisioningRow {
  readonly state: ProvisioningState;
  readonly since: EpochMs;
  /** Time of the last entry into each state, since the serial number was entered. */
  readonly entered_at: Readonly<Partial<Record<ProvisioningState, EpochMs>>>;
  readonly serial: Serial | null;
  readonly confirmed: Confirmation | null;
  /** The claim, stored before it is sent for the first time, so that the same request is repeated after a power cut. */
  readonly claim: {
    readonly id: string;
    readonly expected_generation: number;
    readonly intent: ClaimIntent;
    /**
     * In a take-over, the stream of the previous gateway, and how far the service has stored it. The loop reads it before the claim,
     * because afterwards the newest stream is this gateway's. null: the service named no stream. Absent: not requested yet.
     */
    readonly predecessor?: StreamLabel["predecessor"] | undefined;
  } | null;
  readonly generation: number | null;
  /** The service's record of the booth as it was read last. */
  readonly record: ServiceRecord | null;
  /** Why provisioning doesn't advance and what to do, for the technician. */
  readonly reason: Text;
  readonly advice: Text;
  /** Number of failed attempts at the present step. */
  readonly attempt: number;
  /** Time from which a take-over is possible if the previous gateway stays silent; absent: no wait. */
  readonly possible_at?: EpochMs | undefined;
  /** Length of the present wait. Monotonic time doesn't survive a reboot, so the wait then starts again. */
  readonly wait_ms: number;
  /** The log's name at the service; null: the log's own name, from its oldest record on. */
  readonly stream: StreamLabel | null;
  readonly leaving: Leaving | null;
  /** Set while suspended: no later record is sent to the service; null: no limit. */
  readonly last_seq: Seq | null;
  /** The trial of a configuration that the service sent, with the record to restore if the trial fails. */
  readonly trial: { readonly revision: number; readonly before: ServiceRecord } | null;
  /** Revision of the service's configuration that was tried or checked and then rejected; null: none. */
  readonly refused_revision: number | null;
  /**
   * The binding that the service's record ended last. If a later record names it again, the binding continues. Absent: no binding was
   * ended, or a new binding has started.
   */
  readonly ended?: { readonly serial: Serial; readonly generation: number } | undefined;
  /** Grounds for wiping keys and data; absent: nothing may be wiped. */
  readonly wipe?: WipeGrounds | undefined;
}

/** A change of a binding that the gateway has. Fields that are absent stay unchanged. */
export interface BindingChange {
  readonly gateway_id: string;
  readonly generation: number;
  readonly complete: boolean;
  readonly reported?: Reported;
  /** The new credential. Only its SHA-256 is sent. */
  readonly credential?: string;
  /** Set to end the binding. */
  readonly leaving?: Pick<Leaving, "to" | "reason">;
}

/** Reason for releasing a booth whose serial number was mistyped. By the contract, the service then removes the stream from the booth. */
export const WRONG_SERIAL = "wrong_serial";

export function emptyRow(now: EpochMs): ProvisioningRow {
  return {
    state: "unprovisioned",
    since: now,
    entered_at: {},
    serial: null,
    confirmed: null,
    claim: null,
    generation: null,
    record: null,
    reason: "",
    advice: message("bind.enter"),
    attempt: 0,
    wait_ms: 0,
    stream: null,
    leaving: null,
    last_seq: null,
    trial: null,
    refused_revision: null,
  };
}

/** The extent of a wipe: keys and data, or only keys, because the service hasn't acked all records. */
export type Wiped = "all" | "keys";

/** Returns whether the booth is decommissioned on grounds that suffice to wipe keys and data. */
export function mayBeWiped({ state, wipe }: Pick<ProvisioningRow, "state" | "wipe">): boolean {
  return state === "decommissioned" && wipe !== undefined && (wipe.by === "root" || wipe.for_ms >= WIPE_AFTER_MS);
}

/** Returns whether the booth is bound to this gateway, so that its stream may be sent. */
export function isBound(row: ProvisioningRow): boolean {
  return row.generation !== null && ["claimed", "configuring", "verifying", "active"].includes(row.state);
}

/**
 * Returns whether the booth is bound at a service that knows nothing of gateways. Such a service acks no readings and accepts no reports.
 */
export function isPlain(row: ProvisioningRow): boolean {
  return row.generation === PLAIN_GENERATION;
}

/**
 * Returns whether the stream is sent to the service. After another gateway took the booth over, only records up to the take-over are sent.
 */
export function speaksFor(row: ProvisioningRow, acked_seq: Seq): boolean {
  if (row.leaving?.reason === WRONG_SERIAL) return false;
  return isBound(row) || (row.state === "suspended" && acked_seq < (row.last_seq ?? 0));
}

/** Generation of a binding at a service that doesn't count bindings. Real generations start at 1. */
export const PLAIN_GENERATION = 0;
