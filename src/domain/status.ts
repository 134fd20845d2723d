import { type Text, message } from "./message.ts";
import type { ProvisioningRow, StreamLabel } from "./provisioning.ts";
import type { Reconciliation } from "./reconciliation.ts";
import type { Reported, ShownBooth } from "./service.ts";
import type { Lacking } from "./set-up.ts";
import type { ClockVerdict } from "./service-time.ts";
import type { BoothSummary } from "./summary.ts";
import type { TrafficStatus } from "./traffic.ts";
import type { BoothId, EpochMs, Milliseconds, Seq, Serial, StreamId } from "./units.ts";

/** A problem and its remedy, as texts for the technician. */
export interface Trouble {
  readonly reason: Text;
  readonly advice: Text;
}

/** The state of a connection for people. Degraded: the PLC answers only partly, or another booth's PLC answers. */
export type LinkStatus =
  | { readonly kind: "up"; readonly since: EpochMs }
  | ({ readonly kind: "degraded"; readonly since: EpochMs } & Trouble)
  | ({
      readonly kind: "down";
      readonly since: EpochMs;
      /** Number of failed attempts since the connection went down. */
      readonly attempt: number;
      readonly next_try_at: EpochMs | null;
    } & Trouble);

/** The MQTT version of a session. */
export interface MqttVersion {
  readonly version: "5" | "3.1.1";
  /** Why MQTT 3.1.1 is used without the broker saying so; "": the broker supports version 5, or stated that it doesn't. */
  readonly why: Text;
}

/** A booth at the service that may be this one, with its properties. */
export interface BoothChoice {
  readonly name: string;
  readonly account: string | null;
  readonly facility: string | null;
  readonly brand: string | null;
  readonly model: string | null;
}

/** The fill level of the store. */
export interface StorageStatus {
  readonly used_bytes: number;
  readonly max_bytes: number;
  /** Time until unacked records must be deleted if the service acks none; null: the rate isn't known yet. */
  readonly hours_to_full: number | null;
  /** Number of this booth's records that were damaged and removed, or could not be salvaged. */
  readonly quarantined: number;
  /** The newest five ranges of these records, each as its first and last seq, ascending; absent: none. */
  readonly missing?: readonly (readonly [Seq, Seq])[];
  readonly health: StorageHealth;
}

/** The health of the store's disk and file. */
export interface StorageHealth {
  /** Whether other programs have filled the disk: the reserved space is used up, or could not be reserved. */
  readonly low: boolean;
  /** Files set aside because they were damaged, oldest first. Their readable content is in the store. */
  readonly damaged_files: readonly string[];
}

/** Records that the service will never accept. They are kept here with the service's reason and don't delay other records. */
export interface RefusedRecords {
  /** Number of kept records, at most ten thousand. Only the newest are kept. */
  readonly count: number;
  /** The newest refused record; null: no record is refused. */
  readonly newest: { readonly seq: Seq; readonly at: EpochMs; readonly reason: Text } | null;
}

/** Records that the service has acked and lost, as after the restore of a backup. It requested them, and they are sent again. */
export interface LackingStatus {
  /** Number of records that the service lacked at its request. */
  readonly records: number;
  /** Number of them that are sent again so far. */
  readonly resent: number;
  readonly since: EpochMs;
  /** Text for people. */
  readonly reason: Text;
}

/** Records that are too long for one message to the broker or the service. They stay unacked and don't delay other records. */
export interface TooLongRecords {
  readonly count: number;
  readonly newest: { readonly seq: Seq; readonly reason: Text };
}

/** A field that the service shows differently from the report. Times are epoch ms in whole seconds. */
export interface ReadBackDifference {
  readonly field: string;
  readonly reported: string | number | null;
  readonly shown: string | number | null;
}

/** The state of the reports about the booth's devices. */
export interface ReportsStatus {
  /** The newest report that the service will never accept; null: it accepted the last report. */
  readonly refused: { readonly at: EpochMs; readonly reason: Text } | null;
  /** The booth's record as the service showed it after the last report; null: not read back yet. */
  readonly read_back: { readonly at: EpochMs; readonly differences: readonly ReadBackDifference[] } | null;
}

export interface BoothStatus {
  readonly booth: BoothId;
  readonly serial: Serial | null;
  readonly stream: StreamId;
  /** The provisioning state. `entered_at` lacks states that were entered before an upgrade from an older agent. */
  readonly provisioning: Pick<
    ProvisioningRow,
    "state" | "since" | "entered_at" | "generation" | "refused_revision" | "possible_at" | keyof Trouble
  > & {
    /** The side that confirms readings. none: the service accepts no readings. unknown: the service's record was not read yet. */
    readonly delivery: "service" | "broker" | "none" | "unknown";
    /** Booths at the service among which a person must choose; absent: there is nothing to choose. Each has the name to choose it by. */
    readonly choices?: readonly BoothChoice[];
    readonly booth_id: string | null;
    readonly account_id: string | null;
    readonly account: string | null;
    readonly facility_id: string | null;
    readonly facility: string | null;
    readonly hw_configuration: string | null;
    /** Time of creation as the service spells it. */
    readonly created_at: string | null;
    /** Properties of the booth at the service. */
    readonly brand: string | null;
    readonly model: string | null;
    /** Further properties of the booth that the service showed last; null: not read yet. */
    readonly shown: ShownBooth | null;
  };
  readonly plc: LinkStatus & {
    readonly address: string;
    /** The serial number that the PLC shows, even if it isn't the booth's; null: not read. */
    readonly shows_serial: string | null;
    /** Unusual behavior of the PLC or its line that loses no readings; absent: none. */
    readonly notes?: readonly Text[];
  };
  readonly reports: ReportsStatus;
  /** The last comparison with the service that was started; null: no comparison was started. */
  readonly reconciliation: Reconciliation | null;
  /** Corrected time of this status. It is the time of the booth's records and may differ from the wall clock. */
  readonly time: EpochMs;
  /** IANA name of the zone for the booth's local days. */
  readonly tz: string;
  readonly now: BoothSummary | null;
  readonly log: {
    /** The log's own name, used in the store. The service knows the log under the name in `stream` above. */
    readonly stream: StreamId;
    readonly label: StreamLabel | null;
    readonly taken: number;
    readonly newest_seq: Seq;
    readonly acked_seq: Seq;
    readonly refused: RefusedRecords;
    /** Records that are too long to send; null: none. */
    readonly too_long: TooLongRecords | null;
    /** Set if the log gets or got a new name at the service, because the service holds other records; null: not recently. */
    readonly forked: Trouble | null;
    /** Records that the service has acked and lost, while they are sent again; null: none. */
    readonly lacking: LackingStatus | null;
    /** Text for people about records that are missing in the store; null: none are missing. */
    readonly missing: Text | null;
    /** Number of records that wait for a confirmed clock before they are sent. */
    readonly waiting_for_clock: number;
    /** Number of takes (entries of the tail file) that aren't committed yet. */
    readonly pending: number;
    readonly last_commit_at: EpochMs | null;
    readonly commit_ms: Milliseconds | null;
    /** Why the last commit failed; "": it succeeded. */
    readonly trouble: Text;
    /** Fill level of the store; null: nothing was committed yet. */
    readonly storage: StorageStatus | null;
  };
}

/** The part of a booth's log that the service hasn't acked. */
export interface BacklogStatus {
  readonly booth: BoothId;
  readonly newest_seq: Seq;
  /** Seq up to which the service has acked all records. Later records wait. */
  readonly acked_seq: Seq;
  /** Corrected time of the oldest unacked record that can be sent; null: none. */
  readonly oldest_at: EpochMs | null;
  /** See StorageStatus. */
  readonly hours_to_full: number | null;
}

/** The kinds of output. An output's entry in the configuration has exactly one of these keys. */
export const OUTPUT_KINDS = ["mqtt", "sparkplug", "otlp"] as const;
export type OutputKind = (typeof OUTPUT_KINDS)[number];

/** The state of an output: a broker or collector at the site that gets the readings. */
export interface OutputStatus {
  readonly name: string;
  /** The kind of output; null: the output is disabled, and its entry doesn't show the kind. */
  readonly kind: OutputKind | null;
  readonly url: string;
  readonly link: LinkStatus;
  /** Number of messages sent since the agent's start. */
  readonly sent: number;
  /**
   * State of an output that pushes figures: sets that wait, data points dropped since the agent's start, and the reason of the last drop.
   * Absent for other outputs.
   */
  readonly pushed?: { readonly waiting: number; readonly given_up: number; readonly reason: Text };
  /** Number of messages from the peer that were ignored since the agent's start. */
  readonly ignored: number;
  /** Each booth's number of records that aren't sent yet, and its newest ranges of records skipped since the agent's start. */
  readonly booths: readonly {
    readonly booth: BoothId;
    readonly waiting: number;
    readonly passed_over: readonly { readonly from: Seq; readonly to: Seq }[];
  }[];
}

/** The state of a notice: a channel by which people are told about alarms. */
export interface NoticeStatus {
  readonly name: string;
  readonly kind: "mail" | "webhook" | "mqtt";
  /** The server's address without possible secrets; "": the notice is disabled. */
  readonly where: string;
  /** State of the connection. Down: the last attempt failed. */
  readonly link: LinkStatus;
  /** Number of events not sent yet. */
  readonly waiting: number;
  /** Number of events that have started and not ended. */
  readonly open: number;
  /** Number of messages sent since the agent's start. */
  readonly sent: number;
  /** The newest message that the server accepted, with the server's own words; null: none. */
  readonly last: { readonly at: EpochMs; readonly what: string; readonly answer: string } | null;
}

/** The use of a PLC's shared connection by other programs, counted since the agent's start. */
export interface SharedConnectionStatus {
  readonly booth: BoothId;
  readonly address: string;
  readonly port: number;
  /** State of the listening port. */
  readonly link: LinkStatus;
  /** Number of clients that are connected now. */
  readonly clients: number;
  /** Number of requests answered from values that the agent had polled. */
  readonly from_polls: number;
  /** Number of reads that were forwarded to the PLC. */
  readonly passed: number;
  /** Number of requests for functions that don't read. */
  readonly refused_writes: number;
  readonly refused_clients: number;
  /** Number of requests answered with "busy", because no time was left between polls or too many requests arrived in a second. */
  readonly busy: number;
  /** Number of requests that the PLC didn't answer. */
  readonly failed: number;
  /** Age of the values in the last answer from polls; null: there was no such answer. */
  readonly last_age_ms: Milliseconds | null;
}

/** A booth that the agent has disabled, because its configuration can't work. The next start checks it again. */
export interface DisabledBooth {
  readonly booth: BoothId;
  readonly serial: Serial | null;
  readonly since: EpochMs;
  /** File that contains the mistake: the configuration or the profile. */
  readonly file: string;
  /** Line of the mistake, counted from 1; 0: the file as a whole. */
  readonly line: number;
  readonly reason: Text;
  readonly advice: Text;
}

/** A certificate that a connection depends on. */
export interface KnownCertificate {
  readonly link: "opcua" | "service";
  /** The server's address; null: the certificate is the gateway's own. */
  readonly server: string | null;
  readonly expires: EpochMs;
}

export interface CertificateStatus extends KnownCertificate {
  /** ends_soon: the certificate expires within 30 days. */
  readonly state: "valid" | "ends_soon" | "expired";
  /** Advice for the technician; "": the certificate is valid. */
  readonly advice: Text;
}

/** Access to the page over the network. */
export interface PageAccess {
  readonly network: "closed" | "timed" | "always";
  /** Addresses to type into a browser; empty: the page is closed, or the box has no network. */
  readonly urls: readonly string[];
  /** Number of devices that are signed in. A sign-in lasts 30 days. */
  readonly devices: number;
  /** The network port for metrics scrapers. `trouble` says why the port can't be used; "": no trouble. Absent: not configured. */
  readonly scraped?: { readonly port: number; readonly trouble: Text };
}

/** The answer of `booth-gateway status --json`: the whole state without secrets. */
export interface AgentStatus {
  readonly agent_version: string;
  readonly gateway_id: string;
  /** Why the last good configuration is in use instead of the file's; null: the file's is in use. */
  readonly config_refused: string | null;
  /** Settings whose value in the file differs from the value in use, e.g. "store.max_bytes". A restart of the agent applies them. */
  readonly needs_restart: readonly string[];
  readonly at: EpochMs;
  readonly started_at: EpochMs;
  readonly boot: string;
  readonly clock: ClockVerdict;
  /** Settings that are missing before this gateway can work; empty: none. */
  readonly lacks: readonly Lacking[];
  readonly service: LinkStatus & {
    /** The service's address; null: not set up yet. */
    readonly url: string | null;
    /** The broker for readings, from the service's record or else from the configuration; null: neither names a broker. */
    readonly broker_url: string | null;
    /** The MQTT version of the last session with the broker; absent: there was no session. */
    readonly mqtt?: MqttVersion;
  };
  readonly booths: readonly BoothStatus[];
  readonly disabled: readonly DisabledBooth[];
  /** Outputs in the configuration's order. Disabled ones are last. */
  readonly outputs: readonly OutputStatus[];
  /** Notices in the configuration's order. Disabled ones are last. */
  readonly notices: readonly NoticeStatus[];
  /** PLC connections that other programs share. */
  readonly shared: readonly SharedConnectionStatus[];
  /** Certificates of the OPC UA links and the service link. A server's certificate is known after the first connection. */
  readonly certificates: readonly CertificateStatus[];
  /** Access to the page over the network; absent: not part of this answer. */
  readonly page?: PageAccess;
  /** Network traffic and the use of the monthly budget; absent: traffic isn't counted. */
  readonly traffic?: TrafficStatus;
  /** Longest time of which readings are lost at a power cut. A crash of the agent loses no readings. */
  readonly loss_window_ms: Milliseconds;
}

/** Returns the number of records of all booths that wait for a confirmed clock. */
export function waitingForClockIn(booths: readonly BoothStatus[]): number {
  return booths.reduce((sum, { log }) => sum + log.waiting_for_clock, 0);
}

/** Returns a text for people about the records that are missing in the store; null: none are missing. */
export function missingText({ quarantined, missing = [] }: StorageStatus): Text | null {
  if (quarantined === 0) return null;
  const count = quarantined;
  const seqs = missing.map(([from, to]) => (from === to ? String(from) : message("log.range", { from, to })));
  if (seqs.length === 0) return message("log.missing", { count });
  const named = missing.reduce((sum, [from, to]) => sum + to - from + 1, 0);
  return message(named < count ? "log.missing_newest_at" : "log.missing_at", { count, seqs });
}

/** Time from the first warning to the end of a certificate. It is long, because people need time to go to a PLC. */
const SAY_BEFORE_MS = 30 * 86_400_000;

/** Returns the state of a certificate at the time `now`, with advice. */
export function certificateStatus(known: KnownCertificate, now: EpochMs): CertificateStatus {
  const { expires } = known;
  if (expires - now > SAY_BEFORE_MS) return { ...known, state: "valid", advice: "" };
  return { ...known, state: expires > now ? "ends_soon" : "expired", advice: adviceFor(known) };
}

function adviceFor({ link, server }: KnownCertificate): Text {
  if (link === "service") {
    return server === null ? message("certificate.own_service") : message("certificate.service");
  }
  return server === null ? message("certificate.own_opcua") : message("certificate.opcua");
}

export type ConnectivityStatus = Reported["connectivity_status"];

/**
 * Returns the status that the gateway reports. Active: the mode is neither off nor idle, and a good reading is younger than max(60 s, 3 x
 * commit interval). Otherwise Idle. Only the service itself can decide that a booth is offline.
 */
export function connectivityOf(
  booth: { readonly summary: BoothSummary | null; readonly plc: LinkStatus },
  now: EpochMs,
  commit_interval_ms: Milliseconds,
): ConnectivityStatus {
  const { summary } = booth;
  if (summary === null || summary.last_good_at === null || summary.in_gap) return "Idle";
  const isFresh = now - summary.last_good_at < Math.max(60_000, 3 * commit_interval_ms);
  return isFresh && summary.mode !== "off" && summary.mode !== "idle" ? "Active" : "Idle";
}
