import type { Quality, TagValue } from "./booth.ts";
import type { EntryAnswer, FilterChange } from "./entry.ts";
import type { NoticeTest } from "./notice.ts";
import type { Confirmation, Leaving } from "./provisioning.ts";
import type { BoothSizes } from "./service.ts";
import type { AgentStatus, BacklogStatus } from "./status.ts";
import type { BoothId, Milliseconds, Serial, TagName } from "./units.ts";

/** What people can ask of the running agent. */
export interface AgentControl {
  status(): AgentStatus;
  /** What each tag of the booth said last, taken and perhaps not yet durable. Throws for an unknown booth. */
  readings(booth: BoothId): readonly LiveReading[];
  counts(): readonly BoothCounts[];
  /** A serial number as typed and normalised; confirmed where somebody vouches for it at once. Rejects for an unknown booth. */
  enterSerial(booth: BoothId, serial: Serial, confirmed: Confirmation | null): Promise<void>;
  /** The key that a first claim is made with, typed on the spot: kept sealed until the gateway has its own. */
  giveKey(key: string, url?: string): Promise<void>;
  /** Root says that every key of the gateway may be sent to the service at this address. */
  vouchFor(url: string): Promise<void>;
  /** Begins to compare a local day (YYYY-MM-DD; null: yesterday); gives the comparison's id. Throws for no such booth, or no finished day. */
  reconcile(booth: BoothId, day: string | null): string;
  /** How it stands; null: none of that id is known, or no longer. Throws for an unknown booth. */
  reconciliation(booth: BoothId, id: string): AgentStatus["booths"][number]["reconciliation"];
  /** The confirm card was compared. Rejects for an unknown booth. */
  confirm(booth: BoothId, confirmation: Confirmation): Promise<void>;
  /** What the service was just seen to say of the booth's sizes. Rejects for an unknown booth. */
  sawSizes(booth: BoothId, sizes: BoothSizes): Promise<void>;
  /** What waits for the service, by booth. */
  backlog(): Promise<readonly BacklogStatus[]>;
  /** Gives the booth up, once what was recorded so far is delivered; at once where the serial was wrong. Rejects for an unknown booth. */
  leave(booth: BoothId, leaving: Pick<Leaving, "to" | "reason">): Promise<void>;
  /** A filter was changed, somebody says. Idempotent by the change's id. Rejects for an unknown booth, and when the agent stops. */
  changeFilter(booth: BoothId, change: FilterChange): Promise<EntryAnswer>;
  /** Withdraws an entry, within 24 h. Idempotent. Rejects as changeFilter does. */
  undoFilter(booth: BoothId, entry: Pick<FilterChange, "id" | "by">): Promise<EntryAnswer>;
  /** Links to PLCs that the agent shares with tools, which else would connect beside it. */
  sharedLinks(): readonly LinkToShare[];
  /** One read over such a link, between polls: the answer's PDU. Rejects with a LinkError. */
  askPlc(link: string, ask: PlcAsk): Promise<Uint8Array>;
  /** Sends a test by that notice, or by each; [] where there is none. Never rejects for what a server does. */
  testNotices(name: string | undefined): Promise<readonly NoticeTest[]>;
}

/** A physical link that the running agent holds and shares with tools for single reads. */
export interface LinkToShare {
  /** As people are told of it, e.g. "192.0.2.10:502". */
  readonly link: string;
  /** Unit ids that the agent itself reads there. */
  readonly units: readonly number[];
}

/** One read of a tool over a link that the agent holds. */
export interface PlcAsk {
  readonly unit: number;
  /** Of a Modbus function that reads (1 to 4, or 43/14), as the protocol has it. */
  readonly pdu: Uint8Array;
}

/** What a running agent shares with tools. */
export interface LinkSharer {
  readonly links: readonly LinkToShare[];
  readonly ask: AgentControl["askPlc"];
}

/** What the last poll said of a tag; taken, perhaps not yet durable. */
export interface LiveReading {
  readonly tag: TagName;
  /** As people call it; the tag's name where the profile gives no label. */
  readonly label: string;
  readonly unit: string;
  readonly group: string;
  readonly value: TagValue;
  /** null: not read yet. */
  readonly quality: Quality | null;
  /** Why there is no usable value; "" where there is one. */
  readonly reason: string;
  /** Since the poll; null: not read yet. */
  readonly age_ms: Milliseconds | null;
}

/** Requests to a device since the agent's start. */
export interface RequestCounts {
  readonly asked: number;
  /** Those without a right answer: what a repetition brought isn't missing from a poll, but the line is no better for it. */
  readonly missed: number;
}

/** Counts since the agent's start, for whoever watches from outside. */
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
