import type { Text } from "./message.ts";
import type { Quality, TagValue } from "./booth.ts";
import type { EntryAnswer, FilterChange } from "./entry.ts";
import type { NoticeTest } from "./notice.ts";
import type { LabelRecord } from "./record.ts";
import type { Confirmation, Leaving } from "./provisioning.ts";
import type { BoothSizes } from "./service.ts";
import type { AgentStatus, BacklogStatus } from "./status.ts";
import type { BoothId, Milliseconds, Serial, TagName } from "./units.ts";

/** Operations of the running agent that the API, the page and the command line use. */
export interface AgentControl {
  status(): AgentStatus;
  /** Returns the newest value of each tag, which may not be durable yet. Throws for an unknown booth. */
  readings(booth: BoothId): readonly LiveReading[];
  counts(): readonly BoothCounts[];
  /** Enters a normalized serial number for the booth. If `confirmed` is given, the call also confirms it. Rejects for an unknown booth. */
  enterSerial(booth: BoothId, serial: Serial, confirmed: Confirmation | null): Promise<void>;
  /** Stores the first key, which a person typed. It stays encrypted until the gateway has its own credential. */
  giveKey(key: string, url?: string): Promise<void>;
  /** Records root's confirmation that all keys of the gateway may be sent to the service at this address. */
  vouchFor(url: string): Promise<void>;
  /**
   * Starts comparing a finished local day (YYYY-MM-DD; null: yesterday) with the service, and returns the comparison's id. Throws for an
   * unknown booth, or a day that isn't over.
   */
  reconcile(booth: BoothId, day: string | null): string;
  /** Returns the state of a comparison; null: the id is unknown or was deleted. Throws for an unknown booth. */
  reconciliation(booth: BoothId, id: string): AgentStatus["booths"][number]["reconciliation"];
  /** Confirms that a person has compared the booth's card. Rejects for an unknown booth. */
  confirm(booth: BoothId, confirmation: Confirmation): Promise<void>;
  /** Stores the booth's sizes that the service has just shown. Rejects for an unknown booth. */
  sawSizes(booth: BoothId, sizes: BoothSizes): Promise<void>;
  /** Returns the numbers of unacked records of each booth. */
  backlog(): Promise<readonly BacklogStatus[]>;
  /** Releases the booth after its records are delivered, or immediately if the serial number was wrong. Rejects for an unknown booth. */
  leave(booth: BoothId, leaving: Pick<Leaving, "to" | "reason">): Promise<void>;
  /** Enters a filter change. Idempotent by the change's id. Rejects for an unknown booth, or if the agent stops. */
  changeFilter(booth: BoothId, change: FilterChange): Promise<EntryAnswer>;
  /** Withdraws an entry within 24 h. Idempotent. Rejects like changeFilter. */
  undoFilter(booth: BoothId, entry: Pick<FilterChange, "id" | "by">): Promise<EntryAnswer>;
  /** Logs a text about a filter change, which corrects an earlier one with the same id. Throws for an unknown booth. */
  labelFilter(booth: BoothId, label: LabelRecord["value"]): void;
  /** Returns the PLC links that tools must use instead of their own connections. */
  sharedLinks(): readonly LinkToShare[];
  /** Makes one read over a shared link, between polls. Returns the PDU of the answer. Rejects with a LinkError. */
  askPlc(link: string, ask: PlcAsk): Promise<Uint8Array>;
  /** Sends a test message by the named notice, or by every notice. Returns [] if there are no notices. A server's failure never rejects. */
  testNotices(name: string | undefined): Promise<readonly NoticeTest[]>;
}

/** A physical link of the running agent that tools may use for single reads. */
export interface LinkToShare {
  /** The name of the link that people see, e.g. "192.0.2.10:502". */
  readonly link: string;
  /** Unit ids that the agent itself reads over this link. */
  readonly units: readonly number[];
}

/** A tool's read over a link that the agent has opened. */
export interface PlcAsk {
  readonly unit: number;
  /** PDU of the request: a Modbus function that reads (1 to 4, or 43/14). */
  readonly pdu: Uint8Array;
}

/** The PLC links of a running agent that tools may use. */
export interface LinkSharer {
  readonly links: readonly LinkToShare[];
  readonly ask: AgentControl["askPlc"];
}

/** The newest value of a tag, which may not be durable yet. */
export interface LiveReading {
  readonly tag: TagName;
  /** The tag's label, or its name if the profile gives no label. */
  readonly label: string;
  readonly unit: string;
  readonly group: string;
  readonly value: TagValue;
  /** Quality of the value; null: not read yet. */
  readonly quality: Quality | null;
  /** Why the value is not usable; "": it is usable. */
  readonly reason: Text;
  /** Time since the poll; null: not read yet. */
  readonly age_ms: Milliseconds | null;
}

/** Requests to a device since the agent's start. */
export interface RequestCounts {
  readonly asked: number;
  /** Number of requests without a right answer, including those that a retry made up for: the line is still unreliable. */
  readonly missed: number;
}

/** Counts since the agent's start, for monitoring. */
export interface BoothCounts {
  readonly booth: BoothId;
  readonly polls_answered: number;
  readonly polls_failed: number;
  /** Counts of requests; `asked` 0: the driver doesn't count them. */
  readonly requests: RequestCounts;
  /**
   * Delays of polls after their due time, as a cumulative histogram: each bound includes all lower bounds, and the last bound includes all
   * polls.
   */
  readonly late: readonly { readonly within_ms: number; readonly polls: number }[];
  readonly late_sum_ms: Milliseconds;
  readonly commits: number;
  readonly open_incidents: number;
}
