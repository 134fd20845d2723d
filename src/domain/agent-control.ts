import type { Text } from "./message.ts";
import type { Quality, TagValue } from "./booth.ts";
import type { EntryAnswer, FilterChange } from "./entry.ts";
import type { NoticeTest } from "./notice.ts";
import type { Confirmation, Leaving } from "./provisioning.ts";
import type { BoothSizes } from "./service.ts";
import type { AgentStatus, BacklogStatus } from "./status.ts";
import type { BoothId, Milliseconds, Serial, TagName } from "./units.ts";

/** The operations of the running agent that the API, the page and the command line use. */
export interface AgentControl {
  status(): AgentStatus;
  /** The newest value of each tag of the booth, taken and perhaps not yet durable. Throws for an unknown booth. */
  readings(booth: BoothId): readonly LiveReading[];
  counts(): readonly BoothCounts[];
  /**
   * Enters a normalised serial number. If `confirmed` is given, no separate confirmation is needed. Rejects for an unknown booth.
   */
  enterSerial(booth: BoothId, serial: Serial, confirmed: Confirmation | null): Promise<void>;
  /** The key that a first claim is made with, typed on the spot: kept sealed until the gateway has its own. */
  giveKey(key: string, url?: string): Promise<void>;
  /** Root's confirmation that every key of the gateway may be sent to the service at this address. */
  vouchFor(url: string): Promise<void>;
  /**
   * Starts the comparison of a finished local day (YYYY-MM-DD; null: yesterday) and returns its id. Throws for an unknown booth or
   * another day.
   */
  reconcile(booth: BoothId, day: string | null): string;
  /** The state of a comparison; null: its id is not known, or not kept any more. Throws for an unknown booth. */
  reconciliation(booth: BoothId, id: string): AgentStatus["booths"][number]["reconciliation"];
  /** The confirm card was compared. Rejects for an unknown booth. */
  confirm(booth: BoothId, confirmation: Confirmation): Promise<void>;
  /** Stores the sizes of the booth that the service has just shown. Rejects for an unknown booth. */
  sawSizes(booth: BoothId, sizes: BoothSizes): Promise<void>;
  /** The unacknowledged records of each booth. */
  backlog(): Promise<readonly BacklogStatus[]>;
  /**
   * Releases the booth after its records are delivered, or at once if the serial number was wrong. Rejects for an unknown booth.
   */
  leave(booth: BoothId, leaving: Pick<Leaving, "to" | "reason">): Promise<void>;
  /** Enters a filter change. Idempotent by the change's id. Rejects for an unknown booth, and when the agent stops. */
  changeFilter(booth: BoothId, change: FilterChange): Promise<EntryAnswer>;
  /** Withdraws an entry, within 24 h. Idempotent. Rejects as changeFilter does. */
  undoFilter(booth: BoothId, entry: Pick<FilterChange, "id" | "by">): Promise<EntryAnswer>;
  /** Links to PLCs that tools use instead of their own connections. */
  sharedLinks(): readonly LinkToShare[];
  /** Makes one read over such a link, between polls, and returns the PDU of the answer. Rejects with a LinkError. */
  askPlc(link: string, ask: PlcAsk): Promise<Uint8Array>;
  /** Sends a test message by the named notice, or by each. Returns [] without notices. Never rejects because of a server. */
  testNotices(name: string | undefined): Promise<readonly NoticeTest[]>;
}

/** A physical link that the running agent holds and shares with tools for single reads. */
export interface LinkToShare {
  /** The name that people see, e.g. "192.0.2.10:502". */
  readonly link: string;
  /** Unit ids that the agent itself reads there. */
  readonly units: readonly number[];
}

/** A tool's read over a link that the agent holds. */
export interface PlcAsk {
  readonly unit: number;
  /** The request: a Modbus function that reads (1 to 4, or 43/14), as the protocol encodes it. */
  readonly pdu: Uint8Array;
}

/** The links of a running agent that tools may use. */
export interface LinkSharer {
  readonly links: readonly LinkToShare[];
  readonly ask: AgentControl["askPlc"];
}

/** The newest value of a tag; taken, perhaps not yet durable. */
export interface LiveReading {
  readonly tag: TagName;
  /** The tag's label; its name if the profile gives no label. */
  readonly label: string;
  readonly unit: string;
  readonly group: string;
  readonly value: TagValue;
  /** null: not read yet. */
  readonly quality: Quality | null;
  /** Why there is no usable value; "" where there is one. */
  readonly reason: Text;
  /** Since the poll; null: not read yet. */
  readonly age_ms: Milliseconds | null;
}

/** Requests to a device since the agent's start. */
export interface RequestCounts {
  readonly asked: number;
  /** Those without a right answer: what a repetition brought isn't missing from a poll, but the line is no better for it. */
  readonly missed: number;
}

/** Counts since the agent's start, for monitoring. */
export interface BoothCounts {
  readonly booth: BoothId;
  readonly polls_answered: number;
  readonly polls_failed: number;
  /** asked 0: its driver doesn't count them. */
  readonly requests: RequestCounts;
  /** How late polls began after they were due: one count per bound, each including those below, the last for all. */
  readonly late: readonly { readonly within_ms: number; readonly polls: number }[];
  readonly late_sum_ms: Milliseconds;
  readonly commits: number;
  readonly open_incidents: number;
}
