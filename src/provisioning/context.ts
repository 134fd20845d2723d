import type { LinkSession, Resend, Resent, ServiceApi } from "../delivery/port.ts";
import type { CommandOrder, SeqRange, ServiceCommand } from "../domain/command.ts";
import type { BindingState, BoothState } from "../domain/booth-state.ts";
import type { ServiceState } from "../domain/link-status.ts";
import type { Clock, Logger, Random, Sealer, Secrets } from "../domain/machine.ts";
import type { ProvisioningRow } from "../domain/provisioning.ts";
import type { Reconciliation } from "../domain/reconciliation.ts";
import type { ShownBooth } from "../domain/service.ts";
import type { ServiceTime } from "../domain/service-time.ts";
import type { Signals } from "../domain/signal.ts";
import type { ReportsStatus } from "../domain/status.ts";
import type { BoothId, Milliseconds, StreamId } from "../domain/units.ts";
import type { Identity, Store } from "../store/port.ts";
import type { DayFigures, LocalDay } from "./rules/reconciliation.ts";

/** What provisioning has of the gateway, for as long as that runs. */
export interface ProvisioningGateway extends Signals {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly identity: Identity;
  readonly secrets: Secrets;
  readonly sealer: Sealer;
  readonly store: Store;
  readonly api: ServiceApi;
  readonly service: Readonly<ServiceState>;
  readonly service_time: Pick<ServiceTime, "verdict">;
  readonly commit_interval_ms: Milliseconds;
  /** null: none is set up yet. */
  readonly service_url: string | null;
  /** The session that stands; null: none. */
  readonly session: () => LinkSession | null;
  readonly resend: Resend;
  /** What the box itself makes of a booth's day. */
  readonly figures: (booth: BoothId, day: LocalDay) => Promise<DayFigures>;
}

/** A booth as it is bound to the service, and told of there. */
export interface BoundBooth {
  readonly gateway: ProvisioningGateway;
  readonly state: BoothState;
  readonly binding: Binding;
  /** The gateway's booths, this one among them: its key goes with the last one. */
  readonly all: readonly { readonly binding: BindingState }[];
  /** What its profile says of the PLC. */
  readonly device: { readonly vendor: string; readonly protocol: string };
  /** Zone of its days as the box's own file has it. */
  readonly own_tz: string;
  /** Logs evidence for an incident of that name. */
  readonly tell: (event: string, detail: string) => void;
}

/** What came of a digest that was sent: how many runs the service asked for again, and how many records those had. */
export interface Backfilled {
  readonly ranges: number;
  readonly records: number;
}

/** A backfill that waits for its resend, or is part of the one under way. */
export interface WaitingBackfill {
  readonly stream: StreamId;
  readonly ranges: readonly SeqRange[];
  readonly outcome: PromiseWithResolvers<Resent>;
  isExpired: boolean;
}

/** What provisioning alone writes of a booth. */
export interface Binding extends BindingState {
  row: ProvisioningRow;
  drift: string;
  /** The provisioning loop takes it back. */
  look_again: boolean;
  /** Settles when the event applied last is stored: the next one starts from what it made. */
  event_stored: Promise<void>;
  /** The service's record offers a configuration of that revision, to be tried; null: none. */
  offered_revision: number | null;
  /** Settles when the configuration that was tried last has proved itself, or was given up. */
  trial_over: Promise<unknown>;
  /** Backfills that wait until the resend of the booth that is under way has ended. */
  readonly waiting_backfills: WaitingBackfill[];
  /** The resend under way; `recheck` ends it if every command in it has expired. null: none runs. */
  resending: { readonly recheck: () => void } | null;
  /** The service's answers to digests of ours, by their id; taken out by whoever waits for them. */
  readonly backfills: Map<string, Backfilled>;
  /** The last comparisons, in the order in which they began. */
  readonly reconciliations: Reconciliation[];
  reports: ReportsStatus;
  /** What the service showed of the booth last; null: nothing was read yet. */
  shown: ShownBooth | null;
}

/** A command is to be carried out; `resumed`: a stop cut it off after it had begun, perhaps at its very end. */
export interface CommandCall<T extends CommandOrder["type"] = CommandOrder["type"]> extends ServiceCommand {
  readonly order: Extract<CommandOrder, { type: T }>;
  readonly resumed: boolean;
}

/** What came of a command, as plain data; where there is none its function throws a CommandFailure with the reason. After a stop it is called again. */
export type Outcome = Readonly<Record<string, unknown>>;
