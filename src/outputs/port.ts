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

/** A booth as outputs see it. */
export interface OutputBooth {
  readonly state: BoothState;
  /** The last reading of each tag. */
  readings(): readonly LiveReading[];
  durationsToday(): Promise<DurationsToday>;
}

/** Time by mode since the local midnight. */
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
  /** A file on a tmpfs, which keeps the cursors when the process is killed. */
  readonly cursor_file: string;
  /** Counts the network traffic; absent: it is not counted. */
  readonly meter?: Meter | undefined;
  /** The agent's metrics now, of these booths. */
  readonly metrics: (booths: readonly BoothId[]) => Promise<readonly Metric[]>;
  /** Reads a secret's file. Throws an error that names the file and the remedy. */
  readonly secret: (path: string) => string;
  /** Takes secrets out of each text of a peer. */
  readonly scrubber: Scrubber;
  readonly connect: ConnectBroker;
}

/** Connects once. Rejects with a ServiceLinkError, or with the error of an unusable file. Implemented in `broker.ts`. */
export type ConnectBroker = (
  config: OutputConfig,
  opening: {
    /** Published by the broker if the session breaks off. */
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
  /** Resolves once the broker has confirmed all messages that it accepts; rejects with the reason of the session's end. */
  send(messages: readonly Message[]): Promise<void>;
  /** Subscribes to a topic, whose last level may be `+`. `on` is the topic of the message. */
  subscribe(topic: string, heard: (payload: Uint8Array, retained: boolean, on: string) => void): Promise<void>;
  /** Resolves with the reason when the session ends. */
  readonly ended: Promise<ServiceLinkError>;
  /** Sends the last messages as far as the broker still accepts them, and disconnects. */
  close(last: readonly Message[]): Promise<void>;
}

export interface Outputs {
  status(): readonly OutputStatus[];
  /** Starts the outputs' loops, which end with the signal. */
  run(signal: AbortSignal): readonly Promise<unknown>[];
  /**
   * Changes to these entries and booths. An output that differs ends in order and starts again from the cursor of its name; the
   * others continue. One call at a time.
   */
  become(configs: readonly OutputConfig[], booths: readonly OutputBooth[]): Promise<void>;
}
