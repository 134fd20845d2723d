import type { HeardTime } from "../acquisition/clock.ts";
import type { BoothSetup } from "../acquisition/link.ts";
import type { PollGaps } from "../acquisition/poll-gaps.ts";
import type { Tail } from "../acquisition/port.ts";
import type { NoticeConfig, OutputConfig } from "../config/port.ts";
import type { ServiceApi, ServiceLink } from "../delivery/port.ts";
import type { DeriveState } from "../derivation/state.ts";
import type { ServiceState } from "../domain/link-status.ts";
import type { Clock, Logger, Notify, Random, Sealer, Secrets } from "../domain/machine.ts";
import type { Wiped } from "../domain/provisioning.ts";
import type { Pulse, SharedSignals } from "../domain/signal.ts";
import type { AgentStatus, DisabledBooth, KnownCertificate, NoticeStatus, OutputStatus } from "../domain/status.ts";
import type { BoothSummary } from "../domain/summary.ts";
import type { BoothId, EpochMs, Milliseconds } from "../domain/units.ts";
import type { NoticeBooth, Notices } from "../notices/port.ts";
import type { OutputBooth, Outputs } from "../outputs/port.ts";
import type { DayFigures, LocalDay } from "../provisioning/rules/reconciliation.ts";
import type { Identity, Store } from "../store/port.ts";
import type { LoopWatch } from "./parts.ts";
import type { TrafficWatch } from "./traffic.ts";

/** The part of the configuration that may change while the agent runs. */
export interface Configured {
  readonly booths: readonly BoothSetup[];
  /** Configured booths that cannot run. They appear only in the status. */
  readonly disabled?: readonly Omit<DisabledBooth, "since">[];
  /** Opens the outputs; absent: no output is configured. */
  readonly outputs?: (booths: readonly OutputBooth[]) => Promise<Outputs>;
  /** Entries of the outputs, to change outputs that are already open. */
  readonly output_entries?: readonly OutputConfig[];
  /** Outputs that are left out because their entries have mistakes. */
  readonly refused_outputs?: readonly OutputStatus[];
  /** Opens the notices; absent: no notice is configured. */
  readonly notices?: (gateway: Gateway, booths: readonly NoticeBooth[]) => Promise<Notices>;
  /** Entries of the notices, to detect a change. */
  readonly notice_entries?: readonly NoticeConfig[];
  /** Notices that are left out because their entries have mistakes. */
  readonly refused_notices?: readonly NoticeStatus[];
}

/**
 * Everything with which an agent is started: the machine (clock, random source, log, disk), the connections to the service, and the
 * configuration. `compose.ts` builds it from the real machine, tests and the simulation from virtual parts. An agent never accesses a
 * clock, a file or a socket in any other way.
 */
export interface AgentSetup extends Configured {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly notify: Notify;
  readonly store: Store;
  readonly identity: Identity;
  readonly tail: Tail;
  /** Makes the summary of a booth's state; absent: the summary that the reports use. */
  readonly summaryOf?: (state: DeriveState, now: EpochMs) => BoothSummary;
  readonly secrets: Secrets;
  readonly sealer: Sealer;
  readonly api: ServiceApi;
  readonly link: ServiceLink;
  /** Collects the times in the service's answers. */
  readonly service_time: HeardTime;
  /** Learns when polls are due, so that long work runs between polls; absent: long work runs at any time. */
  readonly gaps?: PollGaps;
  readonly version: string;
  /** Address of the service; null: no service is set up yet. */
  readonly service_url: string | null;
  /** Address of the broker if the service's record names none; null: not configured. */
  readonly broker_url: string | null;
  /** Maximum rate at which the backlog of an outage is sent, in records per second; null: limited only by the service's acks. */
  readonly backlog_rate: number | null;
  /** Minimum number of waiting records at which a backlog is sent separately from live records; absent: the default. */
  readonly least_backlog?: number | undefined;
  /** Yields the thread between two chunks of a backlog; absent: chunks follow each other at once. */
  readonly turn?: (() => Promise<void>) | undefined;
  readonly commit_interval_ms: Milliseconds;
  readonly heartbeat_interval_ms: Milliseconds;
  /** Returns whether the configuration file is in use; absent: the file is in use, completely. */
  readonly config?: () => Pick<AgentStatus, "config_refused" | "needs_restart">;
  /** Returns the certificates that links depend on. People are warned before one of them expires. */
  readonly certificates?: () => readonly KnownCertificate[];
  /** Computes the gateway's own figures of a booth's day. */
  readonly figures: (booth: BoothId, day: LocalDay, status: AgentStatus) => Promise<DayFigures>;
  /** Counts the network traffic and compares it with the month's budget; absent: traffic is not counted. */
  readonly traffic?: Pick<TrafficWatch, "status" | "thrift"> | undefined;
  /** Called once every booth is permanently out of service, with the data to wipe; absent: the agent continues to run. */
  readonly outOfService?: (wiped: Wiped) => void;
  readonly watch?: LoopWatch;
}

/** The setup of a running agent, with the signals and states that its loops share. */
export interface Gateway extends Omit<AgentSetup, keyof Configured>, SharedSignals {
  readonly gateway_id: string;
  readonly started_at: EpochMs;
  readonly pulse: Pulse;
  readonly service: ServiceState;
}
