import type { OutputConfig } from "../config/port.ts";
import type { LiveReading } from "../domain/agent-control.ts";
import type { Mode } from "../domain/booth.ts";
import type { BoothState } from "../domain/booth-state.ts";
import type { BrokerMessage, Refusal } from "../delivery/mqtt/publish.ts";
import type { ServiceLinkError } from "../domain/link-error.ts";
import type { Clock, Logger, Random, Scrubber } from "../domain/machine.ts";
import type { OutputStatus } from "../domain/status.ts";
import type { Milliseconds } from "../domain/units.ts";
import type { Metric } from "../contract/metrics.ts";
import type { Meter } from "../domain/traffic.ts";
import type { BoothId } from "../domain/units.ts";
import type { Identity, Store } from "../store/port.ts";

/** What goes to a broker. */
export type Message = BrokerMessage;

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
  readonly store: Pick<Store, "readCommitted">;
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
  /** Every text of a peer goes through it. */
  readonly scrubber: Scrubber;
  readonly connect: ConnectBroker;
}

/** Connects once. Rejects with a ServiceLinkError, or as the configured files do. */
export type ConnectBroker = (
  config: OutputConfig,
  opening: {
    /** Published by the broker if the session breaks off. */
    readonly will: Message;
    /** Called for each message on a topic without a subscription. */
    readonly ignored: () => void;
    /** Called for each message that the broker doesn't get while the session goes on. */
    readonly refused: (refusal: Refusal) => void;
    readonly signal: AbortSignal;
  },
) => Promise<BrokerSession>;

/** A session with an output's broker. */
export interface BrokerSession {
  /** Resolves once the broker has all that it takes; rejects with the session's end. */
  send(messages: readonly Message[]): Promise<void>;
  /** What comes on that topic is heard from now on. Its last level may be `+`; `on` is the topic of the message. */
  subscribe(topic: string, heard: (payload: Uint8Array, retained: boolean, on: string) => void): Promise<void>;
  /** Resolves with the reason of its end. */
  readonly ended: Promise<ServiceLinkError>;
  /** Says the last words, as far as the broker still takes them, and leaves. */
  close(last: readonly Message[]): Promise<void>;
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
