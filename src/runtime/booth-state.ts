import type { Doubt, WaitingFork } from "../delivery/rules/fork.ts";
import type { Refusing } from "../delivery/rules/refusing.ts";
import type { Silence } from "../delivery/rules/silence.ts";
import type { Reconciliation } from "../domain/reconciliation.ts";
import type { CounterOffsets } from "../acquisition/rules/change-filter.ts";
import type { ProvisioningRow } from "../domain/provisioning.ts";
import type { ShownBooth } from "../domain/service.ts";
import type { LinkStatus, MqttVersion, RefusedRecords, ReportsStatus, StorageStatus } from "../domain/status.ts";
import type { BoothSummary } from "../domain/summary.ts";
import type { BoothId, EpochMs, Milliseconds, Seq, Serial } from "../domain/units.ts";
import type { StreamInfo } from "../store/port.ts";
import type { Signal } from "../domain/signal.ts";

/** What the loops know of one booth: each field has one loop that writes it, and everybody may read. */
export interface BoothState {
  readonly booth: BoothId;
  readonly address: string;
  /** Rings for what concerns this booth alone; loops of other booths sleep on. */
  readonly news: Signal;
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
  /** reconcile loop: the last comparisons, in the order in which they began */
  readonly reconciliations: Reconciliation[];
  /** report loop */
  reports: ReportsStatus;
  /** report loop: what the service showed of the booth last; null: nothing was read yet */
  shown: ShownBooth | null;
  /** sync loop: a session speaks for the booth, and acks may still come. */
  in_session: boolean;
  /** sync loop: what the last session ended over; null: nothing */
  silence: Silence | null;
  /** sync loop: a conflict that nothing proves yet */
  doubt: Doubt | null;
  /** sync loop: newest record that the service may have from us: all that was handed over, and what the agent found at its start */
  offered_seq: Seq;
  /** sync loop: a new name of the log that has to wait, and everything from that seq on with it */
  waiting_fork: WaitingFork | null;
  /** sync loop: what the service refused of late; null: nothing */
  refusing: Refusing | null;
  /** sync loop: mono at which refused records are offered again, and behind which of them that begins; null: not yet */
  second_offer: { readonly due: Milliseconds; readonly up_to: Seq } | null;
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

export interface ServiceState {
  /** sync loop: the session with the broker */
  link: LinkStatus;
  /** sync loop: a session is to be; without a bound booth, or a broker, none is */
  wanted: boolean;
  /** sync loop: of the last session; null: there was none */
  mqtt: MqttVersion | null;
  /** provision loops: how the service answered over HTTP, at mono `at`; null: it wasn't asked yet */
  answers: { readonly at: Milliseconds; readonly link: LinkStatus } | null;
}

export function newServiceState(now: EpochMs): ServiceState {
  return { link: linkDown(now, "not connected yet"), wanted: false, mqtt: null, answers: null };
}

/** An answer tells of the service for so long: where it is looked at by itself, that is every five minutes. */
const TELLS_FOR_MS: Milliseconds = 600_000;

/** The service as people are told of it: a session that isn't wanted isn't down, as long as the service answers. */
export function serviceLinkOf({ link, wanted, answers }: ServiceState, mono: Milliseconds): LinkStatus {
  const isFresh = answers !== null && mono - answers.at < TELLS_FOR_MS;
  return isFresh && !wanted ? answers.link : link;
}

export function linkDown(now: EpochMs, reason: string, advice = ""): Extract<LinkStatus, { kind: "down" }> {
  return { kind: "down", since: now, reason, advice, attempt: 0, next_try_at: null };
}

/** The same outage goes on: since stays, the rest is new. */
export function stillDown(before: LinkStatus, now: Extract<LinkStatus, { kind: "down" }>): LinkStatus {
  return before.kind === "down" ? { ...now, since: before.since } : now;
}
