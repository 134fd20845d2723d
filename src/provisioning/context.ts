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
  /** null: not set up yet. */
  readonly service_url: string | null;
  /** Returns the open session; null: no session. */
  readonly session: () => LinkSession | null;
  readonly resend: Resend;
  /** Computes the gateway's own figures of a booth's day. */
  readonly figures: (booth: BoothId, day: LocalDay) => Promise<DayFigures>;
}

/**
 * A booth with its binding to the service: what every loop and command of this folder works on. `runtime` makes it when it opens the
 * booth, and starts the loops: `provisionLoop` (claim, verify, leave), `reportLoop`, `reconcileLoop` and `configLoop`. Commands of
 * the service work on it concurrently. `binding.row` is the state machine's row: only `applyEvent` replaces it, one event at a
 * time, and the row is on disk before anything acts on it. A loop that waits must read `binding.row` again afterwards. The rest of
 * `binding` is in memory and rebuilt after a restart, apart from what `reported-fields.ts` and `reconcile.ts` keep.
 */
export interface BoundBooth {
  readonly gateway: ProvisioningGateway;
  readonly state: BoothState;
  readonly binding: Binding;
  /** All booths of the gateway, this one included. The last one to leave deletes the gateway's key. */
  readonly all: readonly { readonly binding: BindingState }[];
  /** Properties of the PLC by the booth's profile. */
  readonly device: { readonly vendor: string; readonly protocol: string };
  /** Time zone of the configuration file, used until the service sends one. */
  readonly own_tz: string;
  /** Logs evidence for an incident. */
  readonly tell: (event: string, detail: string) => void;
}

/** The service's answer to a digest: the number of ranges that it requested, and of records in them. */
export interface Backfilled {
  readonly ranges: number;
  readonly records: number;
}

/** A backfill that waits for its resend, or is part of the running one. */
export interface WaitingBackfill {
  readonly stream: StreamId;
  readonly ranges: readonly SeqRange[];
  readonly outcome: PromiseWithResolvers<Resent>;
  isExpired: boolean;
}

/** The state of a booth that only this folder writes. */
export interface Binding extends BindingState {
  row: ProvisioningRow;
  drift: string;
  /** Asks the provisioning loop to read the record; the loop resets it. */
  look_again: boolean;
  /** Settles when the last event is stored. The next event starts from its row. */
  event_stored: Promise<void>;
  /** Revision of a configuration that the service's record offers for a trial; null: no offer. */
  offered_revision: number | null;
  /** Settles at the end of the last trial of a configuration. */
  trial_over: Promise<unknown>;
  /** Backfills that wait for the end of the running resend. */
  readonly waiting_backfills: WaitingBackfill[];
  /** The running resend; `recheck` ends it if each of its commands has expired. null: no resend runs. */
  resending: { readonly recheck: () => void } | null;
  /** The service's answers to digests, by the digest's id. The comparison that waits for an answer deletes it. */
  readonly backfills: Map<string, Backfilled>;
  /** The last comparisons, in the order of their start. */
  readonly reconciliations: Reconciliation[];
  reports: ReportsStatus;
  /** The booth as the service last showed it; null: not read yet. */
  shown: ShownBooth | null;
}

/** A command to run; `resumed`: a stop interrupted an earlier run, perhaps after its last step. */
export interface CommandCall<T extends CommandOrder["type"] = CommandOrder["type"]> extends ServiceCommand {
  readonly order: Extract<CommandOrder, { type: T }>;
  readonly resumed: boolean;
}

/** The result of a command. A command without one throws a CommandFailure with the reason. After a stop the command runs again. */
export type Outcome = Readonly<Record<string, unknown>>;
