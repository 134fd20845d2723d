import type { OutputConfig } from "../config/port.ts";
import type { Metric } from "../contract/metrics.ts";
import type { BrokerMessage, Refusal } from "../delivery/mqtt/publish.ts";
import type { LiveReading } from "../domain/agent-control.ts";
import type { Mode } from "../domain/booth.ts";
import type { BoothState } from "../domain/booth-state.ts";
import type { ServiceLinkError } from "../domain/link-error.ts";
import type { Clock, Logger, Random, Scrubber } from "../domain/machine.ts";
import type { OutputStatus } from "../domain/status.ts";
import type { Meter } from "../domain/traffic.ts";
import type { BoothId, Milliseconds } from "../domain/units.ts";
import type { Identity, Store } from "../store/port.ts";

export type Message = BrokerMessage;

/** The parts of a booth that outputs use. */
export interface OutputBooth {
  readonly state: BoothState;
  /** Returns the last reading of each tag. */
  readings(): readonly LiveReading[];
  durationsToday(): Promise<DurationsToday>;
}

/** The time in each mode since the local midnight. */
export type DurationsToday = Readonly<Partial<Record<Mode, Milliseconds>>>;

/** The parts of the machine and the agent that outputs use. */
export interface OutputMachine {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly store: Pick<Store, "readCommitted">;
  readonly identity: Pick<Identity, "kept" | "keep">;
  readonly gateway_id: string;
  readonly version: string;
  /** The path of a file on a tmpfs, which keeps the cursors when the process is killed. */
  readonly cursor_file: string;
  /** Counts the network traffic; absent if it is not counted. */
  readonly meter?: Meter | undefined;
  /** Returns the agent's current metrics of these booths. */
  readonly metrics: (booths: readonly BoothId[]) => Promise<readonly Metric[]>;
  /** Reads a secret's file. Throws an error that names the file and says how to correct it. */
  readonly secret: (path: string) => string;
  /** Removes secrets from each text of a peer. */
  readonly scrubber: Scrubber;
  readonly connect: ConnectBroker;
}

/**
 * Connects to an output's broker once. Rejects with a ServiceLinkError, or with the error of an unusable file. Implemented in `broker.ts`.
 */
export type ConnectBroker = (
  config: OutputConfig,
  opening: {
    /** The message that the broker publishes if the session breaks off. */
    readonly will: Message;
    /** Called for each message on a topic without a subscription. */
    readonly ignored: () => void;
    /** Called for each message that the broker refuses while the session continues. */
    readonly refused: (refusal: Refusal) => void;
    readonly signal: AbortSignal;
  },
) => Promise<BrokerSession>;

/** A session with an output's broker. */
export interface BrokerSession {
  /** Sends messages. Resolves when the broker has confirmed all messages that it accepts; rejects with the reason why the session ended. */
  send(messages: readonly Message[]): Promise<void>;
  /** Subscribes to a topic, whose last level may be `+`. `on` is the topic of a received message. */
  subscribe(topic: string, heard: (payload: Uint8Array, retained: boolean, on: string) => void): Promise<void>;
  /** Resolves with the reason when the session ends. */
  readonly ended: Promise<ServiceLinkError>;
  /** Sends the last messages, as far as the broker still accepts them, and disconnects. */
  close(last: readonly Message[]): Promise<void>;
}

export interface Outputs {
  status(): readonly OutputStatus[];
  /** Starts the outputs' loops, which end when the signal aborts. */
  run(signal: AbortSignal): readonly Promise<unknown>[];
  /**
   * Changes the outputs to these entries and booths. A changed output ends its session normally and starts again from the cursor of its
   * name. The other outputs continue. Must not be called again before it resolves.
   */
  become(configs: readonly OutputConfig[], booths: readonly OutputBooth[]): Promise<void>;
}
