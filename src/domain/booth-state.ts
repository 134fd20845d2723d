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

/** The shared state of one booth. Each part has one owner, the only one to write it; every loop may read it. */
export interface BoothState extends Signals {
  readonly booth: BoothId;
  readonly address: string;
  /** Written by acquisition. */
  readonly link: Readonly<LinkState>;
  /** Written where commits come back. */
  readonly log: LogState;
  /** Written by delivery. */
  readonly delivery: {
    /** A session speaks for the booth, and acks may still come. */
    readonly in_session: boolean;
  };
  /** Written by provisioning. */
  readonly binding: BindingState;
}

/** How a booth's PLC is reached. */
export interface LinkState {
  plc: LinkStatus;
  /** Polls that the booth's own PLC answered since the agent's start. */
  answered: number;
  /** The serial number that the PLC shows. */
  shows_serial: Serial | null;
  /** Unusual behaviour of the PLC or its line that costs no reading; absent: none. */
  notes?: readonly Text[];
}

/** The extent of a log. */
export interface LogReach {
  readonly stream: StreamId;
  readonly oldest_seq: Seq;
  /** 0: nothing yet. */
  readonly newest_seq: Seq;
  /** Everything up to here has its place in time. Records after it wait for a confirmed clock before the service gets them. */
  readonly sendable_seq: Seq;
  /** Everything up to here is with the service. */
  readonly acked_seq: Seq;
  /**
   * First seq that needs a new name after a salvage, because the service may hold other records from there on. Absent, 0: never
   * salvaged.
   */
  readonly renew_from?: Seq;
}

/** Returns how many records of a log wait for a confirmed clock. */
export function waitingForClock({ newest_seq, sendable_seq }: Pick<LogReach, "newest_seq" | "sendable_seq">): number {
  return Math.max(0, newest_seq - sendable_seq);
}

/** A validation incident that isn't resolved. */
export type OpenIncident = Pick<IncidentFact["value"], "check" | "tag_name" | "reason" | "severity" | "first_seen_at">;

/** A booth's log, and what the fold makes of it, as its last commit left them. */
export interface LogState {
  /** Another object after each change. */
  readonly reach: LogReach;
  readonly summary: BoothSummary | null;
  /** null: nothing was committed since the start. */
  readonly storage: StorageStatus | null;
  /** Corrected time of the present moment. */
  now(): EpochMs;
  /** The parameters in force in the fold; null: none yet. */
  parameters(): Parameters | null;
  /** End of the log in corrected time; null: its newest boot has no confirmed time yet, or the log is empty. */
  reached(): EpochMs | null;
  /** Offset that a sync in that boot gave; null: none did. */
  syncedOffset(boot: BootId): KnownOffset | null;
  /** Validation incidents that are open in the fold. */
  incidents(): readonly OpenIncident[];
  /** People's entries and their outcomes. */
  entries(): readonly FilterEntry[];
  /** Seq of an entry's record. */
  seqOfEntry(id: string): Seq | undefined;
  /** Called after the store has moved the acked cursor, with its new position. */
  cursorMoved(acked_seq: Seq): void;
}

/** The booth's binding at the service. */
export interface BindingState {
  readonly row: ProvisioningRow;
  /** How the service's record departs from what it should be; "" it doesn't. */
  readonly drift: string;
  /** The service's record of the booth may have changed: it is read again at the next news. */
  lookAgain(): void;
}
