import type { Silence } from "../core/silence.ts";
import type { Reconciliation } from "../core/types/reconciliation.ts";
import type { CounterOffsets } from "../core/change-filter.ts";
import type { ProvisioningRow } from "../core/types/provisioning.ts";
import type { LinkStatus, RefusedRecords, ReportsStatus, StorageStatus } from "../core/types/status.ts";
import type { BoothSummary } from "../core/types/summary.ts";
import type { BoothId, EpochMs, Milliseconds, Serial } from "../core/types/units.ts";
import type { StreamInfo } from "../ports.ts";
import type { Bell } from "./bell.ts";

/** What the loops know of one booth: each field has one loop that writes it, and everybody may read. */
export interface BoothBoard {
  readonly booth: BoothId;
  readonly address: string;
  /** Rings for what concerns this booth alone; loops of other booths sleep on. */
  readonly news: Bell;
  /** provision loop */
  row: ProvisioningRow;
  /** Settles when the event applied last is stored: the next one starts from what it made. */
  turn: Promise<void>;
  /** provision loop takes it back; whoever learns that the service's record of the booth has changed sets it. */
  look_again: boolean;
  /** provision loop: the service's record offers a configuration of that revision, to be tried; null: none. */
  offered_revision: number | null;
  /** provision loop: how the service's record departs from what it should be; "" it doesn't. */
  drift: string;
  /** Settles when the configuration that was tried last has proved itself, or was given up. */
  trial_turn: Promise<unknown>;
  /** reconcile loop: how the day compared last; null: none was yet */
  reconciliation: Reconciliation | null;
  /** report loop */
  reports: ReportsStatus;
  /** sync loop: a session speaks for the booth, and acks may still come. */
  in_session: boolean;
  /** sync loop: what the last session ended over; null: nothing */
  silence: Silence | null;
  /** sync loop: what the service will never take */
  refused: RefusedRecords;
  /** link loop */
  plc: LinkStatus;
  /** link loop: polls that the booth's own PLC answered since the agent's start */
  answered: number;
  /** link loop: the serial number that the PLC shows */
  shows_serial: Serial | null;
  /** committer, and sync for acked_seq */
  info: StreamInfo;
  /** committer: the fold's state and what it says */
  state: unknown;
  summary: BoothSummary | null;
  /** What filters' counters don't show; another object only when it changed. */
  offsets: CounterOffsets;
  taken: number;
  /** Since the start. */
  commits: number;
  pending: number;
  last_commit_at: EpochMs | null;
  commit_ms: Milliseconds | null;
  trouble: string;
  storage: StorageStatus | null;
}

/** sync loop */
export interface ServiceBoard {
  link: LinkStatus;
}

export function linkDown(now: EpochMs, reason: string, advice = ""): LinkStatus {
  return { kind: "down", since: now, reason, advice, attempt: 0, next_try_at: null };
}

/** The same outage goes on: since stays, the rest is new. */
export function stillDown(before: LinkStatus, now: Extract<LinkStatus, { kind: "down" }>): LinkStatus {
  return before.kind === "down" ? { ...now, since: before.since } : now;
}
