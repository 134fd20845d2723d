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
  /** Configured booths that cannot run. They appear in the status only. */
  readonly disabled?: readonly Omit<DisabledBooth, "since">[];
  /** Opens the outputs; absent: there are none. */
  readonly outputs?: (booths: readonly OutputBooth[]) => Promise<Outputs>;
  /** The entries of the outputs, for outputs that are open already. */
  readonly output_entries?: readonly OutputConfig[];
  /** Outputs that are left out because of a mistake in their entries. */
  readonly refused_outputs?: readonly OutputStatus[];
  /** Opens the notices; absent: there are none. */
  readonly notices?: (gateway: Gateway, booths: readonly NoticeBooth[]) => Promise<Notices>;
  /** The entries of the notices, to detect a change. */
  readonly notice_entries?: readonly NoticeConfig[];
  /** Notices that are left out because of a mistake in their entries. */
  readonly refused_notices?: readonly NoticeStatus[];
}

/**
 * Everything an agent is started with: the machine (clock, random source, log, disk), the connections to the service, and the
 * configuration. The composition builds it from the real machine, tests and the simulation from virtual parts. An agent never reaches
 * for a clock, a file or a socket by itself.
 */
export interface AgentSetup extends Configured {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly notify: Notify;
  readonly store: Store;
  readonly identity: Identity;
  readonly tail: Tail;
  /** Makes the summary of a state; absent: the one of the reports. */
  readonly summaryOf?: (state: DeriveState, now: EpochMs) => BoothSummary;
  readonly secrets: Secrets;
  readonly sealer: Sealer;
  readonly api: ServiceApi;
  readonly link: ServiceLink;
  /** Collects the times that the service's answers contain. */
  readonly service_time: HeardTime;
  /** Learns when polls are due, so that long work runs between them; absent: nothing waits for polls. */
  readonly gaps?: PollGaps;
  readonly version: string;
  /** null: no service is set up yet. */
  readonly service_url: string | null;
  /** The broker to use if the service's record names none; null: not known. */
  readonly broker_url: string | null;
  /** Limit for the backlog of an outage, in records per second; null: the service's acks alone set the pace. */
  readonly backlog_rate: number | null;
  /** Size from which a backlog gets its own lane, in records; absent: the default. */
  readonly least_backlog?: number | undefined;
  /** Yields the thread between two chunks; absent: it is not yielded. */
  readonly turn?: (() => Promise<void>) | undefined;
  readonly commit_interval_ms: Milliseconds;
  readonly heartbeat_interval_ms: Milliseconds;
  /** Whether the configuration file is in use; absent: it is, completely. */
  readonly config?: () => Pick<AgentStatus, "config_refused" | "needs_restart">;
  /** Certificates that links depend on. People are warned before one expires. */
  readonly certificates?: () => readonly KnownCertificate[];
  /** The gateway's own figures of a booth's day. */
  readonly figures: (booth: BoothId, day: LocalDay, status: AgentStatus) => Promise<DayFigures>;
  /** Counts the network traffic and holds it against the month's budget; absent: it is not counted. */
  readonly traffic?: Pick<TrafficWatch, "status" | "thrift"> | undefined;
  /** Called once every booth is out of service for good, with what is to be wiped; absent: the agent continues. */
  readonly outOfService?: (wiped: Wiped) => void;
  readonly watch?: LoopWatch;
}

/** A running agent's setup, with the signals and states that its loops share. */
export interface Gateway extends Omit<AgentSetup, keyof Configured>, SharedSignals {
  readonly gateway_id: string;
  readonly started_at: EpochMs;
  readonly pulse: Pulse;
  readonly service: ServiceState;
}
