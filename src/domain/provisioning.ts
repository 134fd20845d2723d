import { type Text, message } from "./message.ts";
import type { ClaimIntent, Reported, ServiceRecord } from "./service.ts";
import type { EpochMs, Milliseconds, Seq, Serial } from "./units.ts";

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

/** A person's confirmation that this gateway is attached to the booth with that serial number. */
export interface Confirmation {
  readonly by: string;
  readonly note: string;
  /** Takes the booth over if another gateway holds it. Absent: no. */
  readonly replace?: boolean | undefined;
  /** The booth at the service that was chosen, by its id or its place in the list. Absent: none was named. */
  readonly service_booth?: string | undefined;
  /** The serial number that the PLC showed at that time, which may differ from the booth's. Absent or null: it showed none. */
  readonly plc_serial?: Serial | null | undefined;
}

/** The name of the log at the service, and the seq from which it applies. The log's own name never changes. */
export interface StreamLabel {
  readonly id: string;
  /** First seq under this name. Earlier records were sent, or belong, under another name. */
  readonly from_seq: Seq;
  readonly predecessor: { readonly stream_id: string; readonly last_seq: Seq } | null;
  /** First seq of this booth in the log, under any name; absent: the name's first seq, or unknown if the name has a predecessor. */
  readonly booth_from_seq?: Seq | undefined;
  /** When it got a new name last because the service held other records than ours; absent: never. */
  readonly forked_at?: EpochMs | undefined;
  /** Which those were; absent: from this name's first record on. */
  readonly forked_seqs?: HeldSeqs | undefined;
}

/** Seqs under which the service holds other records than this gateway, both ends included. */
export interface HeldSeqs {
  readonly from: Seq;
  /** As reported by the service; absent: not reported. */
  readonly to?: Seq;
}

/** A release under way: the records up to `last_seq` are delivered first. */
export interface Leaving {
  readonly to: "released" | "decommissioned";
  /** "wrong_serial": the service takes the stream off the booth, and nothing needs to be delivered first. */
  readonly reason: string;
  readonly last_seq: Seq;
  /** The next serial number, already confirmed; absent: none. */
  readonly then?: { readonly serial: Serial; readonly confirmed: Confirmation } | undefined;
  /** Root ordered it on the gateway, so that a decommissioned booth's keys and data may be wiped. Absent: not by root. */
  readonly by_root?: boolean | undefined;
}

/**
 * Time that the gateway must run between two readings of the service's record that both call the booth decommissioned. A wrong record
 * is corrected within this time.
 */
export const WIPE_AFTER_MS: Milliseconds = 86_400_000;

/** Why the keys and data of a decommissioned booth may be wiped. */
export interface WipeGrounds {
  /** root: ordered on the gateway. record: stated by the service's record, read over HTTPS. A remote command is never a ground. */
  readonly by: "root" | "record";
  /** Time for which the record has stated it while the gateway ran. */
  readonly for_ms: Milliseconds;
  /** The newest record at the release. While records up to it are unacknowledged, the data is kept. */
  readonly last_seq: Seq;
}

/**
 * The provisioning of a booth. The row is stored as a whole at each transition, so that a power cut leaves the old or the new state.
 */
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
     * For a take-over: the stream of the previous gateway, and how far the service has it. Stored before the claim, because
     * afterwards the newest stream is ours. null: the service named none. Absent: not asked yet.
     */
    readonly predecessor?: StreamLabel["predecessor"] | undefined;
  } | null;
  readonly generation: number | null;
  /** The service's record as last read. */
  readonly record: ServiceRecord | null;
  /** Why it isn't further, in words for the technician, and what to do. */
  readonly reason: Text;
  readonly advice: Text;
  /** Tries of the present step that failed. */
  readonly attempt: number;
  /** Time from which a take-over is possible if the previous gateway stays silent. Absent: no wait. */
  readonly possible_at?: EpochMs | undefined;
  /** Length of the present wait. Monotonic time does not survive a boot, so a stored wait starts again. */
  readonly wait_ms: number;
  /** null: under the log's own name, from its oldest record on. */
  readonly stream: StreamLabel | null;
  readonly leaving: Leaving | null;
  /** Suspended: nothing after it is offered to the service; null: no limit. */
  readonly last_seq: Seq | null;
  /** A configuration of the service on trial, with the record to restore if it does not prove itself. */
  readonly trial: { readonly revision: number; readonly before: ServiceRecord } | null;
  /** The service's configuration of that revision was tried, or looked at, and not taken; null: none. */
  readonly refused_revision: number | null;
  /**
   * The binding that the service's record ended last. If the record names it again, it continues. Absent: none, or another one
   * began.
   */
  readonly ended?: { readonly serial: Serial; readonly generation: number } | undefined;
  /** Absent: nothing may be wiped. */
  readonly wipe?: WipeGrounds | undefined;
}

/** A change of a binding that the gateway holds. Absent fields stay as they are. */
export interface BindingChange {
  readonly gateway_id: string;
  readonly generation: number;
  readonly complete: boolean;
  readonly reported?: Reported;
  /** The new credential. Only its SHA-256 is sent. */
  readonly credential?: string;
  /** Ends the binding. */
  readonly leaving?: Pick<Leaving, "to" | "reason">;
}

/**
 * The reason for releasing a booth whose serial number was mistyped. By the contract the service then removes the stream from the
 * booth.
 */
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

/** The scope of a wipe: keys and data, or keys only, because the service has not acknowledged all records. */
export type Wiped = "all" | "keys";

/** Whether the booth is out of service for good, on grounds that suffice to wipe keys and data. */
export function mayBeWiped({ state, wipe }: Pick<ProvisioningRow, "state" | "wipe">): boolean {
  return state === "decommissioned" && wipe !== undefined && (wipe.by === "root" || wipe.for_ms >= WIPE_AFTER_MS);
}

/** A stream may be sent once its booth is bound to this gateway. */
export function isBound(row: ProvisioningRow): boolean {
  return row.generation !== null && ["claimed", "configuring", "verifying", "active"].includes(row.state);
}

/** Bound at a service that knows nothing of gateways: it confirms no reading, and there is no one to tell about devices. */
export function isPlain(row: ProvisioningRow): boolean {
  return row.generation === PLAIN_GENERATION;
}

/** Whether the stream is offered to the service: of a booth taken over by another gateway, what was recorded before. */
export function speaksFor(row: ProvisioningRow, acked_seq: Seq): boolean {
  if (row.leaving?.reason === WRONG_SERIAL) return false;
  return isBound(row) || (row.state === "suspended" && acked_seq < (row.last_seq ?? 0));
}

/** Generation of a binding at a service without generations. Real generations count from 1. */
export const PLAIN_GENERATION = 0;
