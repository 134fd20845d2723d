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
import type { LackingStatus, ReportsStatus } from "../domain/status.ts";
import type { BoothId, Milliseconds, StreamId } from "../domain/units.ts";
import type { Identity, Store } from "../store/port.ts";
import type { DayFigures, LocalDay } from "./rules/reconciliation.ts";

/** The parts of the gateway that provisioning uses. */
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
  /** Address of the service; null: not set up yet. */
  readonly service_url: string | null;
  /** Returns the open session; null: no session is open. */
  readonly session: () => LinkSession | null;
  readonly resend: Resend;
  /** Computes the gateway's own figures for a booth's day. */
  readonly figures: (booth: BoothId, day: LocalDay) => Promise<DayFigures>;
}

/**
 * A booth with its binding to the service. Every loop and command of this folder works on it. `runtime` makes it when it opens the booth,
 * and starts the loops: `provisionLoop` (claim, verify, leave), `reportLoop`, `reconcileLoop` and `configLoop`. Commands of the service
 * work on it concurrently. `binding.row` is the row of the state machine. Only `applyEvent` replaces it, one event at a time, and the row
 * is on disk before anything acts on it. A loop that waits must read `binding.row` again afterwards. The rest of `binding` is in memory and
 * is rebuilt after a restart, apart from what `reported-fields.ts` and `reconcile.ts` store.
 */
export interface BoundBooth {
  readonly gateway: ProvisioningGateway;
  readonly state: BoothState;
  readonly binding: Binding;
  /** All booths of the gateway, including this one. When the last booth leaves, the gateway's key is deleted. */
  readonly all: readonly { readonly binding: BindingState }[];
  /** Properties of the PLC, taken from the booth's profile. */
  readonly device: { readonly vendor: string; readonly protocol: string };
  /** Time zone from the configuration file, used until the service sends one. */
  readonly own_tz: string;
  /** Logs an event as evidence for an incident. */
  readonly tell: (event: string, detail: string) => void;
}

/** The service's answer to a digest (hashes of hourly records): how many ranges it requested, and how many records these have. */
export interface Backfilled {
  readonly ranges: number;
  readonly records: number;
}

/** Records that the service has acked and lost. `resent` is their number so far. */
export interface Lacking extends Omit<LackingStatus, "reason" | "resent"> {
  resent: number;
}

/** A backfill (the service's request to send ranges of records again) that waits for the next resend, or is part of the running resend. */
export interface WaitingBackfill {
  readonly stream: StreamId;
  readonly ranges: readonly SeqRange[];
  /** Called after each batch with the number of this backfill's records in it. */
  readonly progress: (records: number) => void;
  readonly outcome: PromiseWithResolvers<Resent>;
  isExpired: boolean;
}

/** The binding of a booth to the service. Only this folder writes it. */
export interface Binding extends BindingState {
  row: ProvisioningRow;
  drift: string;
  /** Whether the provisioning loop should read the record. The loop resets it. */
  look_again: boolean;
  /** Settles when the last event is stored. The next event starts from the stored row. */
  event_stored: Promise<void>;
  /** Revision of the configuration that the service's record offers for a trial; null: no offer. */
  offered_revision: number | null;
  /** Settles when the last trial of a configuration ends. */
  trial_over: Promise<unknown>;
  /** Backfills that wait until the running resend ends. */
  readonly waiting_backfills: WaitingBackfill[];
  /** The running resend; null: no resend is running. `recheck` ends it if all of its commands have expired. */
  resending: { readonly recheck: () => void } | null;
  /** Records that the service has acked and lost, while they are sent again; null: none. */
  lacking: Lacking | null;
  /** The service's answers to digests, by the digest's id. The comparison that waits for an answer deletes it from the map. */
  readonly backfills: Map<string, Backfilled>;
  /** The last comparisons of days, in the order of their start. */
  readonly reconciliations: Reconciliation[];
  reports: ReportsStatus;
  /** The booth's fields at the service, as last read; null: not read yet. */
  shown: ShownBooth | null;
}

/** A command to run. `resumed`: a stop interrupted an earlier run, perhaps after its last step. */
export interface CommandCall<T extends CommandOrder["type"] = CommandOrder["type"]> extends ServiceCommand {
  readonly order: Extract<CommandOrder, { type: T }>;
  readonly resumed: boolean;
}

/** The result of a command. A command that fails throws a CommandFailure with the reason. After a stop, the command runs again. */
export type Outcome = Readonly<Record<string, unknown>>;
