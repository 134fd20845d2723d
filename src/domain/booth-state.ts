import type { Text } from "./message.ts";
import type { FilterEntry } from "./entry.ts";
import type { Parameters } from "./parameters.ts";
import type { ProvisioningRow } from "./provisioning.ts";
import type { IncidentFact } from "./record.ts";
import type { KnownOffset } from "./service-time.ts";
import type { Signals } from "./signal.ts";
import type { LinkStatus, StorageStatus } from "./status.ts";
import type { BoothSummary } from "./summary.ts";
import type { BootId, BoothId, EpochMs, Seq, Serial, StreamId } from "./units.ts";

/** The shared state of one booth. Each part is written only by its owner and may be read by every loop. */
export interface BoothState extends Signals {
  readonly booth: BoothId;
  readonly address: string;
  /** The connection to the PLC. Written by acquisition. */
  readonly link: Readonly<LinkState>;
  /** The booth's log. Written when a commit returns. */
  readonly log: LogState;
  /** The state of sending. Written by delivery. */
  readonly delivery: {
    /** Whether a session is open for the booth, so that acks may still arrive. */
    readonly in_session: boolean;
  };
  /** The binding at the service. Written by provisioning. */
  readonly binding: BindingState;
}

/** The state of the connection to a booth's PLC. */
export interface LinkState {
  plc: LinkStatus;
  /** Number of polls since the agent's start that the booth's own PLC answered. */
  answered: number;
  /** The serial number that the PLC shows. */
  shows_serial: Serial | null;
  /** Unusual behavior of the PLC or its line that loses no readings; absent: none. */
  notes?: readonly Text[];
}

/** The extent of a log. */
export interface LogReach {
  readonly stream: StreamId;
  readonly oldest_seq: Seq;
  /** Seq of the newest record; 0: the log is empty. */
  readonly newest_seq: Seq;
  /** Seq up to which all records have a confirmed time. Later records wait for a confirmed clock before they are sent. */
  readonly sendable_seq: Seq;
  /** Seq up to which the service has stored all records. */
  readonly acked_seq: Seq;
  /**
   * First seq that needs a new name after a salvage, because the service may hold other records from this seq on; absent or 0: never
   * salvaged.
   */
  readonly renew_from?: Seq;
}

/** Returns the number of records of a log that wait for a confirmed clock. */
export function waitingForClock({ newest_seq, sendable_seq }: Pick<LogReach, "newest_seq" | "sendable_seq">): number {
  return Math.max(0, newest_seq - sendable_seq);
}

/** A validation incident that isn't resolved. */
export type OpenIncident = Pick<IncidentFact["value"], "check" | "tag_name" | "reason" | "severity" | "first_seen_at">;

/** A booth's log and the state that the fold made of it, after the last commit. */
export interface LogState {
  /** Extent of the log. It is replaced by a new object at each change. */
  readonly reach: LogReach;
  readonly summary: BoothSummary | null;
  /** Fill level of the store; null: nothing was committed since the start. */
  readonly storage: StorageStatus | null;
  /** Returns the present corrected time. */
  now(): EpochMs;
  /** Returns the parameters in force in the fold; null: none yet. */
  parameters(): Parameters | null;
  /** Returns the end of the log in corrected time; null: the log is empty, or the time of its newest boot isn't confirmed yet. */
  reached(): EpochMs | null;
  /** Returns the clock offset that a sync in that boot set; null: no sync. */
  syncedOffset(boot: BootId): KnownOffset | null;
  /** Returns the validation incidents that are open in the fold. */
  incidents(): readonly OpenIncident[];
  /** Returns people's entries of filter changes, with their outcomes. */
  entries(): readonly FilterEntry[];
  /** Returns the seq of an entry's record. */
  seqOfEntry(id: string): Seq | undefined;
  /** Updates the booth's state after the store has moved the acked cursor to this position. */
  cursorMoved(acked_seq: Seq): void;
}

/** The booth's binding at the service. */
export interface BindingState {
  readonly row: ProvisioningRow;
  /** How the service's record differs from the expected one; "": it doesn't. */
  readonly drift: string;
  /** Makes the record be read again at the next news, because the service may have changed it. */
  lookAgain(): void;
}
