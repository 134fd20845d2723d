import type { NoticeConfig } from "../config/port.ts";
import type { BoothState } from "../domain/booth-state.ts";
import type { Clock, Logger, Random, Scrubber } from "../domain/machine.ts";
import type { Text } from "../domain/message.ts";
import type { NoticeOutcome, NoticeTest } from "../domain/notice.ts";
import type { Signals } from "../domain/signal.ts";
import type { LinkStatus, NoticeStatus } from "../domain/status.ts";
import type { Identity, Store } from "../store/port.ts";

/** The parts of a booth that notices use. */
export interface NoticeBooth {
  readonly state: BoothState;
  /** Returns the reason why the store can't commit; "" if it can. */
  trouble(): Text;
}

/** The parts of the machine and the agent that notices use. */
export interface NoticeMachine {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly store: Pick<Store, "read">;
  readonly identity: Pick<Identity, "kept" | "keep">;
  readonly gateway_id: string;
  /** The signal at each change of a booth or of the service. */
  readonly news: Signals["news"];
  /** Returns the link to the service; null if the gateway is configured without a service. */
  readonly service: () => LinkStatus | null;
  /** A folder on a tmpfs, whose files survive a kill. */
  readonly runtime_dir: string;
  /** Reads a secret's file. Throws an error that names the file and says how to correct it. */
  readonly secret: (path: string) => string;
  /** Removes secrets from each text of a server. */
  readonly scrubber: Scrubber;
}

export interface NoticeMessage {
  /** The message's id, which stays the same at each retry. */
  readonly id: string;
  readonly subject: string;
  readonly text: string;
  /** The same content as JSON for programs. */
  readonly document: object;
}

/** Sends a message by mail, webhook or MQTT. Never rejects: a failure is an outcome. */
export type Channel = (message: NoticeMessage, signal: AbortSignal) => Promise<NoticeOutcome>;
/** Opens a notice's channel. Implemented in `mail.ts`, `webhook.ts` and `mqtt.ts`, which are loaded for the first message. */
export type OpenChannel = (machine: Pick<NoticeMachine, "gateway_id" | "secret">, config: NoticeConfig) => Channel;

export interface Notices {
  status(): readonly NoticeStatus[];
  /** Sends a test with the notice of this name, or with every notice if no name is given. Returns [] for an unknown name. */
  test(name: string | undefined, signal: AbortSignal): Promise<readonly NoticeTest[]>;
  /** Starts one loop for each notice. The loops end when the signal aborts. */
  run(signal: AbortSignal): readonly Promise<unknown>[];
}
