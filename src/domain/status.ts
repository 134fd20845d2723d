import { type Text, message } from "./message.ts";
import type { ProvisioningRow, StreamLabel } from "./provisioning.ts";
import type { Reconciliation } from "./reconciliation.ts";
import type { Reported, ShownBooth } from "./service.ts";
import type { Lacking } from "./set-up.ts";
import type { ClockVerdict } from "./service-time.ts";
import type { BoothSummary } from "./summary.ts";
import type { TrafficStatus } from "./traffic.ts";
import type { BoothId, EpochMs, Milliseconds, Seq, Serial, StreamId } from "./units.ts";

/** A problem and its remedy, in words for the technician. */
export interface Trouble {
  readonly reason: Text;
  readonly advice: Text;
}

/** The state of a connection for people. Degraded: it answers only in part, or another booth's PLC answers. */
export type LinkStatus =
  | { readonly kind: "up"; readonly since: EpochMs }
  | ({ readonly kind: "degraded"; readonly since: EpochMs } & Trouble)
  | ({
      readonly kind: "down";
      readonly since: EpochMs;
      /** Number of failed tries since it went down. */
      readonly attempt: number;
      readonly next_try_at: EpochMs | null;
    } & Trouble);

/** The MQTT version of a session. */
export interface MqttVersion {
  readonly version: "5" | "3.1.1";
  /** Why version 5 is assumed not to be supported; "": the broker speaks 5, or stated its version. */
  readonly why: Text;
}

/** A booth of the service that may be this one, with its properties at the service. */
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
  /** Time until unacknowledged records must be dropped if the service acknowledges none; null: the rate is not known yet. */
  readonly hours_to_full: number | null;
  /** Records of this booth that were found damaged and taken out, or couldn't be salvaged. */
  readonly quarantined: number;
  /** Their seqs, first and last: the newest five ranges, ascending. Absent: none. */
  readonly missing?: readonly (readonly [Seq, Seq])[];
  readonly health: StorageHealth;
}

/** How the store's disk and file are. */
export interface StorageHealth {
  /** Other programs have filled the disk: the reserved space is used up, or could not be reserved. */
  readonly low: boolean;
  /** Files set aside because they were damaged, oldest first; what could be read of them is in the store. */
  readonly damaged_files: readonly string[];
}

/** Records that the service will never take. They stay here with its reason, and hold nothing else up. */
export interface RefusedRecords {
  /** Number of kept records: the newest ten thousand. */
  readonly count: number;
  /** null: none. */
  readonly newest: { readonly seq: Seq; readonly at: EpochMs; readonly reason: Text } | null;
}

/** Records that are longer than the broker, or the service, takes in one message. They wait, unacked, and hold nothing else up. */
export interface TooLongRecords {
  readonly count: number;
  readonly newest: { readonly seq: Seq; readonly reason: Text };
}

/** A field that the service shows differently from the report; times in epoch ms, whole seconds. */
export interface ReadBackDifference {
  readonly field: string;
  readonly reported: string | number | null;
  readonly shown: string | number | null;
}

/** The state of the reports on the booth's devices. */
export interface ReportsStatus {
  /** The newest report that the service will never take; null: it took the last one. */
  readonly refused: { readonly at: EpochMs; readonly reason: Text } | null;
  /** The booth's record as the service showed it after the last report; null: it wasn't read back yet. */
  readonly read_back: { readonly at: EpochMs; readonly differences: readonly ReadBackDifference[] } | null;
}

export interface BoothStatus {
  readonly booth: BoothId;
  readonly serial: Serial | null;
  readonly stream: StreamId;
  /** `entered_at`: states entered before an upgrade from an older agent are missing. */
  readonly provisioning: Pick<
    ProvisioningRow,
    "state" | "since" | "entered_at" | "generation" | "refused_revision" | "possible_at" | keyof Trouble
  > & {
    /** Who confirms readings; none: the service takes no readings; unknown: the service's record was not read yet. */
    readonly delivery: "service" | "broker" | "none" | "unknown";
    /** Booths of the service among which a person has to choose, by the name that the choice is made by; absent: there is nothing to choose. */
    readonly choices?: readonly BoothChoice[];
    readonly booth_id: string | null;
    readonly account_id: string | null;
    readonly account: string | null;
    readonly facility_id: string | null;
    readonly facility: string | null;
    readonly hw_configuration: string | null;
    /** As the service spells it. */
    readonly created_at: string | null;
    /** The booth's properties at the service. */
    readonly brand: string | null;
    readonly model: string | null;
    /** Further properties that the service showed last; null: not read yet. */
    readonly shown: ShownBooth | null;
  };
  readonly plc: LinkStatus & {
    readonly address: string;
    /** The serial number that the PLC itself shows, whether it is the booth's or not; null: none was read. */
    readonly shows_serial: string | null;
    /** Unusual behaviour of the PLC or its line that costs no reading; absent: none. */
    readonly notes?: readonly Text[];
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
    /** null: none. */
    readonly too_long: TooLongRecords | null;
    /** The log gets, or will get, a new name at the service, because the service holds other records; null: not recently. */
    readonly forked: Trouble | null;
    /** Which records are missing in the store, for people; null: none. */
    readonly missing: Text | null;
    /** Records that wait for a confirmed clock before the service gets them. */
    readonly waiting_for_clock: number;
    /** Taken, and in no commit yet. */
    readonly pending: number;
    readonly last_commit_at: EpochMs | null;
    readonly commit_ms: Milliseconds | null;
    /** Why the last commit failed; "" when it didn't. */
    readonly trouble: Text;
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
  /** Corrected time of the oldest unacknowledged record that may be sent; null: none. */
  readonly oldest_at: EpochMs | null;
  /** As in StorageStatus. */
  readonly hours_to_full: number | null;
}

/** The kinds of output. An entry of the configuration has exactly one of these keys. */
export const OUTPUT_KINDS = ["mqtt", "sparkplug", "otlp"] as const;
export type OutputKind = (typeof OUTPUT_KINDS)[number];

/** The state of an output: a broker or collector of the site that gets the readings. */
export interface OutputStatus {
  readonly name: string;
  /** null: it is left out, and its kind is not clear from its entry. */
  readonly kind: OutputKind | null;
  readonly url: string;
  readonly link: LinkStatus;
  /** Messages since the agent's start. */
  readonly sent: number;
  /** For pushed figures: waiting sets, data points dropped since the agent's start, and the reason of the last drop. */
  readonly pushed?: { readonly waiting: number; readonly given_up: number; readonly reason: Text };
  /** Messages from there that were ignored, since the agent's start. */
  readonly ignored: number;
  /** For each booth, the records not sent yet, and the newest ranges skipped since the agent's start. */
  readonly booths: readonly {
    readonly booth: BoothId;
    readonly waiting: number;
    readonly passed_over: readonly { readonly from: Seq; readonly to: Seq }[];
  }[];
}

/** The state of a notice, which is a channel that tells people of alarms. */
export interface NoticeStatus {
  readonly name: string;
  readonly kind: "mail" | "webhook" | "mqtt";
  /** The server's address without possible secrets; "": the notice is left out. */
  readonly where: string;
  /** Down: the last try failed. */
  readonly link: LinkStatus;
  /** Number of events not sent yet. */
  readonly waiting: number;
  /** Events that have begun and not ended. */
  readonly open: number;
  /** Messages since the agent's start. */
  readonly sent: number;
  /** The newest message that was taken, and the server's own words; null: none was. */
  readonly last: { readonly at: EpochMs; readonly what: string; readonly answer: string } | null;
}

/** How a PLC's connection is shared with others, counted since the agent's start. */
export interface SharedConnectionStatus {
  readonly booth: BoothId;
  readonly address: string;
  readonly port: number;
  /** Whether it listens. */
  readonly link: LinkStatus;
  /** Connected now. */
  readonly clients: number;
  /** Answers from what the agent's polls had read. */
  readonly from_polls: number;
  /** Reads that were forwarded to the PLC. */
  readonly passed: number;
  /** Requests for functions that don't read. */
  readonly refused_writes: number;
  readonly refused_clients: number;
  /** Answered with "busy": no room between the polls, or too many in a second. */
  readonly busy: number;
  /** The PLC gave no answer. */
  readonly failed: number;
  /** Age of the values in the last answer from polls; null: there was none. */
  readonly last_age_ms: Milliseconds | null;
}

/** A booth that the agent runs without, because what is configured for it can't work. It is looked at again at the next start. */
export interface DisabledBooth {
  readonly booth: BoothId;
  readonly serial: Serial | null;
  readonly since: EpochMs;
  /** The file with the mistake: the configuration or the profile. */
  readonly file: string;
  /** Counts from 1; 0: the file as a whole. */
  readonly line: number;
  readonly reason: Text;
  readonly advice: Text;
}

/** A certificate that a link depends on. */
export interface KnownCertificate {
  readonly link: "opcua" | "service";
  /** null: the gateway's own; else the server's address. */
  readonly server: string | null;
  readonly expires: EpochMs;
}

export interface CertificateStatus extends KnownCertificate {
  /** ends_soon: within 30 days. */
  readonly state: "valid" | "ends_soon" | "expired";
  /** "" while it is valid. */
  readonly advice: Text;
}

/** Whether the page can be reached over the network. */
export interface PageAccess {
  readonly network: "closed" | "timed" | "always";
  /** Addresses to type; empty: it is closed, or the box has no network. */
  readonly urls: readonly string[];
  /** Devices that are signed in for 30 days. */
  readonly devices: number;
  /** The port for scrapers on the network, and why it cannot be used ("": it can); absent: it is not configured. */
  readonly scraped?: { readonly port: number; readonly trouble: Text };
}

/** `booth-gateway status --json`: everything, without a secret. */
export interface AgentStatus {
  readonly agent_version: string;
  readonly gateway_id: string;
  /** Why the last good configuration is in use instead of the file; null: the file is in use. */
  readonly config_refused: string | null;
  /** Settings that the file has otherwise than they are in use, e.g. "store.max_bytes": they wait for a restart of the service. */
  readonly needs_restart: readonly string[];
  readonly at: EpochMs;
  readonly started_at: EpochMs;
  readonly boot: string;
  readonly clock: ClockVerdict;
  /** Settings that are missing before this gateway can work. Empty: none. */
  readonly lacks: readonly Lacking[];
  readonly service: LinkStatus & {
    /** null: none is set up yet. */
    readonly url: string | null;
    /** The broker for readings: of the service's record, else of the configuration; null: neither names one. */
    readonly broker_url: string | null;
    /** The version of the last session with the broker; absent: there was none. */
    readonly mqtt?: MqttVersion;
  };
  readonly booths: readonly BoothStatus[];
  readonly disabled: readonly DisabledBooth[];
  /** In the configuration's order, those first that run. */
  readonly outputs: readonly OutputStatus[];
  /** In the configuration's order, those first that run. */
  readonly notices: readonly NoticeStatus[];
  /** Connections to PLCs that others read by. */
  readonly shared: readonly SharedConnectionStatus[];
  /** Certificates of the OPC UA links and the service link. A server's is known after its first connection. */
  readonly certificates: readonly CertificateStatus[];
  /** Whether the page is open on the network; absent: not part of this answer. */
  readonly page?: PageAccess;
  /** The network traffic and the state of the month's budget; absent: it is not counted. */
  readonly traffic?: TrafficStatus;
  /** Readings of the last `loss_window_ms` at most are lost at a power cut; none at a crash. */
  readonly loss_window_ms: Milliseconds;
}

/** Returns how many records of all booths wait for a confirmed clock. */
export function waitingForClockIn(booths: readonly BoothStatus[]): number {
  return booths.reduce((sum, { log }) => sum + log.waiting_for_clock, 0);
}

/** Which records are missing in the store, for people; null: none. */
export function missingText({ quarantined, missing = [] }: StorageStatus): Text | null {
  if (quarantined === 0) return null;
  const count = quarantined;
  const seqs = missing.map(([from, to]) => (from === to ? String(from) : message("log.range", { from, to })));
  if (seqs.length === 0) return message("log.missing", { count });
  const named = missing.reduce((sum, [from, to]) => sum + to - from + 1, 0);
  return message(named < count ? "log.missing_newest_at" : "log.missing_at", { count, seqs });
}

/** Warning time before a certificate ends, because people need time to go to a PLC. */
const SAY_BEFORE_MS = 30 * 86_400_000;

/** Returns the state of a certificate at this time, with advice. */
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
 * Active: a good reading younger than max(60 s, 3 x commit time), mode neither off nor idle. Idle: else. Offline is the service's to say.
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
