import type { ProvisioningState, StreamLabel } from "./provisioning.ts";
import type { Reconciliation } from "./reconciliation.ts";
import type { ShownBooth } from "./service.ts";
import type { BoothSummary } from "./summary.ts";
import type { BoothId, EpochMs, Milliseconds, Seq, Serial, StreamId } from "./units.ts";

/** What is wrong, and what to do about it, in words for the technician. */
export interface Trouble {
  readonly reason: string;
  readonly advice: string;
}

/** A connection as people are told of it. Degraded: it answers, but not all, or not as the booth's own. */
export type LinkStatus =
  | { readonly kind: "up"; readonly since: EpochMs }
  | ({ readonly kind: "degraded"; readonly since: EpochMs } & Trouble)
  | {
      readonly kind: "down";
      readonly since: EpochMs;
      readonly reason: string;
      readonly advice: string;
      /** Failed tries since it went down. */
      readonly attempt: number;
      readonly next_try_at: EpochMs | null;
    };

/** What the broker speaks. */
export interface MqttVersion {
  readonly version: "5" | "3.1.1";
  /** What makes us think that it doesn't know 5; "": it speaks 5, or said so itself. */
  readonly why: string;
}

/** A booth of the service that may be this one; what it says of it. */
export interface BoothChoice {
  readonly name: string;
  readonly account: string | null;
  readonly facility: string | null;
  readonly brand: string | null;
  readonly model: string | null;
}

/** How full the store is. */
export interface StorageStatus {
  readonly used_bytes: number;
  readonly max_bytes: number;
  /** Until records that the service doesn't have must be given up, if it takes none; null: no rate is known yet. */
  readonly hours_to_full: number | null;
  /** Records of this booth that were found damaged and taken out, or couldn't be salvaged. */
  readonly quarantined: number;
  /** Their seqs, first and last: the newest five ranges, ascending. Absent: none. */
  readonly missing?: readonly (readonly [Seq, Seq])[];
  readonly health: StorageHealth;
}

/** How the store's disk and file are. */
export interface StorageHealth {
  /** Others have filled the disk: the space kept back for that is used up, or there is none to keep back. */
  readonly low: boolean;
  /** Files set aside because they were damaged, oldest first; what could be read of them is in the store. */
  readonly damaged_files: readonly string[];
}

/** Records that the service will never take. They stay here with its reason, and hold nothing else up. */
export interface RefusedRecords {
  /** Of those kept: the newest ten thousand. */
  readonly count: number;
  /** null: none. */
  readonly newest: { readonly seq: Seq; readonly at: EpochMs; readonly reason: string } | null;
}

/** One field that the service shows otherwise than it was reported; times in epoch ms, whole seconds. */
export interface ReadBackDifference {
  readonly field: string;
  readonly reported: string | number | null;
  readonly shown: string | number | null;
}

/** What became of the reports on the booth's devices. */
export interface ReportsStatus {
  /** The newest report that the service will never take; null: it took the last one. */
  readonly refused: { readonly at: EpochMs; readonly reason: string } | null;
  /** The booth's record as the service showed it after the last report; null: it wasn't read back yet. */
  readonly read_back: { readonly at: EpochMs; readonly differences: readonly ReadBackDifference[] } | null;
}

export interface BoothStatus {
  readonly booth: BoothId;
  readonly serial: Serial | null;
  readonly stream: StreamId;
  readonly provisioning: {
    readonly state: ProvisioningState;
    readonly since: EpochMs;
    /** When each state was entered last, since the serial number was; those before an upgrade from an older agent are missing. */
    readonly entered_at: Readonly<Partial<Record<ProvisioningState, EpochMs>>>;
    readonly generation: number | null;
    /** Who confirms that readings have arrived; none: nobody takes any; unknown: the service hasn't told yet what it is like. */
    readonly delivery: "service" | "broker" | "none" | "unknown";
    /** Booths of the service among which a person has to choose, by the name that the choice is made by; absent: there is nothing to choose. */
    readonly choices?: readonly BoothChoice[];
    readonly booth_id: string | null;
    readonly account_id: string | null;
    readonly account: string | null;
    readonly facility_id: string | null;
    readonly facility: string | null;
    readonly hw_configuration: string | null;
    /** The service's configuration of that revision wasn't taken, and what was in force before still is; null: none. */
    readonly refused_revision: number | null;
    /** As the service spells it. */
    readonly created_at: string | null;
    /** Of the booth, as the service has it. */
    readonly brand: string | null;
    readonly model: string | null;
    /** What else of the booth the service showed last; null: nothing was read yet. */
    readonly shown: ShownBooth | null;
    readonly reason: string;
    readonly advice: string;
  };
  readonly plc: LinkStatus & {
    readonly address: string;
    /** The serial number that the PLC itself shows, whether it is the booth's or not; null: none was read. */
    readonly shows_serial: string | null;
  };
  readonly reports: ReportsStatus;
  /** The comparison with the service that was begun last; null: none was yet. */
  readonly reconciliation: Reconciliation | null;
  /** Corrected time of this status: what the booth's records go by, whatever the wall clock shows. */
  readonly time: EpochMs;
  /** Zone of the booth's local days, by its IANA name. */
  readonly tz: string;
  readonly now: BoothSummary | null;
  readonly log: {
    /** Its own name, by which the store has it; the service knows it by `stream` above. */
    readonly stream: StreamId;
    readonly label: StreamLabel | null;
    readonly taken: number;
    readonly newest_seq: Seq;
    readonly acked_seq: Seq;
    readonly refused: RefusedRecords;
    /** The log goes, or is to go, under another name at the service, since that holds other records than ours; null: not of late. */
    readonly forked: Trouble | null;
    /** Which records are missing in the store, for people; null: none. */
    readonly missing: string | null;
    /** Taken, and in no commit yet. */
    readonly pending: number;
    readonly last_commit_at: EpochMs | null;
    readonly commit_ms: Milliseconds | null;
    /** Why the last commit failed; "" when it didn't. */
    readonly trouble: string;
    /** null: before the first commit. */
    readonly storage: StorageStatus | null;
  };
}

/** How much of a booth's log the service hasn't confirmed. */
export interface BacklogStatus {
  readonly booth: BoothId;
  readonly newest_seq: Seq;
  /** Everything after it waits. */
  readonly acked_seq: Seq;
  /** Corrected time of the oldest record that waits and may be sent; null: there is none. */
  readonly oldest_at: EpochMs | null;
  /** As in StorageStatus. */
  readonly hours_to_full: number | null;
}

/** A booth that the agent runs without, because what is configured for it can't work. It is looked at again at the next start. */
export interface DisabledBooth {
  readonly booth: BoothId;
  readonly serial: Serial | null;
  readonly since: EpochMs;
  /** The file that is wrong, the configuration's or the profile's. */
  readonly file: string;
  /** Counts from 1; 0: the file as a whole. */
  readonly line: number;
  readonly reason: string;
  readonly advice: string;
}

/** A certificate that a link depends on. */
export interface CertificateStatus {
  readonly link: "opcua" | "service";
  /** null: the gateway's own; else the server's address. */
  readonly server: string | null;
  readonly expires: EpochMs;
  /** ends_soon: within 30 days. */
  readonly state: "valid" | "ends_soon" | "expired";
  /** "" while it is valid. */
  readonly advice: string;
}

/** `booth-gateway status --json`: everything, without a secret. */
export interface AgentStatus {
  readonly agent_version: string;
  readonly gateway_id: string;
  /** Why the configuration's file isn't in use but the last one that was good; null: it is in use. */
  readonly config_refused: string | null;
  readonly at: EpochMs;
  readonly started_at: EpochMs;
  readonly boot: string;
  /**
   * Not synced: nobody vouched for the time yet (offset_ms null), so what is shown is unsure and nothing is sent; or answers contradict
   * it, or it stands still. offset_ms: corrected time minus the box's wall clock.
   */
  readonly clock: { readonly synced: boolean; readonly offset_ms: Milliseconds | null };
  readonly service: LinkStatus & {
    readonly url: string;
    /** Where readings go: as the service's record names it, else the configuration; null: neither does. */
    readonly broker_url: string | null;
    /** Of the last session with the broker; absent: there was none. */
    readonly mqtt?: MqttVersion;
  };
  readonly booths: readonly BoothStatus[];
  readonly disabled: readonly DisabledBooth[];
  /** Of the OPC UA links and of the service's. A server's is known from its first connection on. */
  readonly certificates: readonly CertificateStatus[];
  /** Readings of the last `loss_window_ms` at most are lost at a power cut; none at a crash. */
  readonly loss_window_ms: Milliseconds;
}

/** Which records are missing in the store, for people; null: none. */
export function missingText({ quarantined, missing = [] }: StorageStatus): string | null {
  if (quarantined === 0) return null;
  const told = missing.reduce((sum, [from, to]) => sum + to - from + 1, 0);
  const ranges = missing.map(([from, to]) =>
    from === to ? from.toString() : `${from.toString()} to ${to.toString()}`,
  );
  const before = told < quarantined ? "the newest of them " : "";
  const seqs = ranges.length === 0 ? "" : `: ${before}seq ${ranges.join(", ")}`;
  return `${quarantined.toString()} ${quarantined === 1 ? "record is" : "records are"} missing, damaged in the store${seqs}`;
}
