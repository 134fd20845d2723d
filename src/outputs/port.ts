import type { OutputConfig } from "../config/port.ts";
import type { LiveReading } from "../domain/agent-control.ts";
import type { Mode } from "../domain/booth.ts";
import type { BoothState } from "../domain/booth-state.ts";
import type { Clock, Logger, Random } from "../domain/machine.ts";
import type { OutputStatus } from "../domain/status.ts";
import type { Milliseconds } from "../domain/units.ts";
import type { Metric } from "../contract/metrics.ts";
import type { Meter } from "../domain/traffic.ts";
import type { BoothId } from "../domain/units.ts";
import type { Identity, Store } from "../store/port.ts";

/** A booth as outputs see it. */
export interface OutputBooth {
  readonly state: BoothState;
  /** What each tag said last. */
  readings(): readonly LiveReading[];
  /** Time by mode of the local day so far. */
  durationsToday(): Promise<DurationsToday>;
}

export type DurationsToday = Readonly<Partial<Record<Mode, Milliseconds>>>;

/** What outputs have of the machine and the agent. */
export interface OutputMachine {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly store: Pick<Store, "read">;
  readonly identity: Pick<Identity, "kept" | "keep">;
  readonly gateway_id: string;
  readonly version: string;
  /** Where a kill leaves the cursors as they are: a file on a tmpfs. */
  readonly cursor_file: string;
  /** Counts what goes over the network; absent: nobody does. */
  readonly meter?: Meter | undefined;
  /** The agent's figures as they are now. */
  readonly metrics: (booths: readonly BoothId[]) => Promise<readonly Metric[]>;
  /** A secret's file. Throws, naming it and what to do, where it can't be used. */
  readonly secret: (path: string) => string;
}

export interface Outputs {
  status(): readonly OutputStatus[];
  /** Their loops; they end with the signal. */
  run(signal: AbortSignal): readonly Promise<unknown>[];
  /**
   * Goes over to these entries and booths: what differs ends in order and begins, from its cursor where one of that name stood. What
   * isn't touched by it goes on. One at a time.
   */
  become(configs: readonly OutputConfig[], booths: readonly OutputBooth[]): Promise<void>;
}
