import type { BoothSetup } from "../acquisition/link.ts";
import type { NoticeConfig, OutputConfig } from "../config/port.ts";
import type { PollGaps } from "../acquisition/poll-gaps.ts";
import type { Tail } from "../acquisition/port.ts";
import type { HeardTime } from "../acquisition/clock.ts";
import type { ServiceApi, ServiceLink } from "../delivery/port.ts";
import type { DeriveState } from "../derivation/state.ts";
import type { AgentStatus, DisabledBooth, KnownCertificate, NoticeStatus, OutputStatus } from "../domain/status.ts";
import type { ServiceState } from "../domain/link-status.ts";
import type { Clock, Logger, Notify, Random, Sealer, Secrets } from "../domain/machine.ts";
import type { Pulse, SharedSignals } from "../domain/signal.ts";
import type { BoothSummary } from "../domain/summary.ts";
import type { NoticeBooth, Notices } from "../notices/port.ts";
import type { OutputBooth, Outputs } from "../outputs/port.ts";
import type { DayFigures, LocalDay } from "../provisioning/rules/reconciliation.ts";
import type { BoothId, EpochMs, Milliseconds } from "../domain/units.ts";
import type { Wiped } from "../domain/provisioning.ts";
import type { LoopWatch } from "./parts.ts";
import type { TrafficWatch } from "./traffic.ts";
import type { Identity, Store } from "../store/port.ts";

/** What of the configuration may become another while the agent runs. */
export interface Configured {
  readonly booths: readonly BoothSetup[];
  /** Configured booths that can't be run; told, and nothing else. */
  readonly disabled?: readonly Omit<DisabledBooth, "since">[];
  /** Whom else the box tells what it reads; absent: nobody. */
  readonly outputs?: (booths: readonly OutputBooth[]) => Promise<Outputs>;
  /** Their entries, for outputs that are open already. */
  readonly output_entries?: readonly OutputConfig[];
  /** Outputs that are left out for what is wrong in their entries. */
  readonly refused_outputs?: readonly OutputStatus[];
  /** Whom the box tells of alarms; absent: nobody. */
  readonly notices?: (gateway: Gateway, booths: readonly NoticeBooth[]) => Promise<Notices>;
  /** Their entries, by which it is seen whether any is another. */
  readonly notice_entries?: readonly NoticeConfig[];
  /** Notices that are left out for what is wrong in their entries. */
  readonly refused_notices?: readonly NoticeStatus[];
}

/** What an agent is started with. */
export interface AgentSetup extends Configured {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly notify: Notify;
  readonly store: Store;
  readonly identity: Identity;
  readonly tail: Tail;
  /** What a state of the fold shows at an instant; absent: all of it. */
  readonly summaryOf?: (state: DeriveState, now: EpochMs) => BoothSummary;
  readonly secrets: Secrets;
  readonly sealer: Sealer;
  readonly api: ServiceApi;
  readonly link: ServiceLink;
  /** What is heard of the service's clock. */
  readonly service_time: HeardTime;
  /** Told of each poll that is due; absent: nobody asks. */
  readonly gaps?: PollGaps;
  readonly version: string;
  /** null: none is set up yet. */
  readonly service_url: string | null;
  /** Where the service's record names no broker; null: none is known. */
  readonly broker_url: string | null;
  /** Records a second at most of what waited during an outage; null: as fast as the service acks. */
  readonly backlog_rate: number | null;
  /** So many waiting records go in a lane of their own; absent: the usual. */
  readonly least_backlog?: number | undefined;
  /** Lets whoever waits for this thread have it, between two chunks; absent: nobody does. */
  readonly turn?: (() => Promise<void>) | undefined;
  readonly commit_interval_ms: Milliseconds;
  readonly heartbeat_interval_ms: Milliseconds;
  /** How the configuration's file is in use; absent: it is, and all of it. */
  readonly config?: () => Pick<AgentStatus, "config_refused" | "needs_restart">;
  /** Certificates that links depend on, for people to be told in time. */
  readonly certificates?: () => readonly KnownCertificate[];
  /** What the box itself makes of a booth's day. */
  readonly figures: (booth: BoothId, day: LocalDay, status: AgentStatus) => Promise<DayFigures>;
  /** What goes over the network, and what gives way to the month's budget; absent: nobody counts. */
  readonly traffic?: Pick<TrafficWatch, "status" | "thrift"> | undefined;
  /** Called once every booth is out of service for good, with what is to be wiped; absent: the agent goes on. */
  readonly outOfService?: (wiped: Wiped) => void;
  /** Observes the agent's loops; absent: nobody does. */
  readonly watch?: LoopWatch;
}

/** The same while it runs. */
export interface Gateway extends Omit<AgentSetup, keyof Configured>, SharedSignals {
  readonly gateway_id: string;
  readonly started_at: EpochMs;
  readonly pulse: Pulse;
  readonly service: ServiceState;
}
