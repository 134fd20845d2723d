import type { NoticeConfig } from "../config/port.ts";
import type { BoothState } from "../domain/booth-state.ts";
import type { Clock, Logger, Random, Scrubber } from "../domain/machine.ts";
import type { Text } from "../domain/message.ts";
import type { NoticeOutcome, NoticeTest } from "../domain/notice.ts";
import type { Signals } from "../domain/signal.ts";
import type { LinkStatus, NoticeStatus } from "../domain/status.ts";
import type { Identity, Store } from "../store/port.ts";

/** A booth as notices see it. */
export interface NoticeBooth {
  readonly state: BoothState;
  /** Why the store can't commit; "" if it can. */
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
  /** Raised at each change of a booth or of the service. */
  readonly news: Signals["news"];
  /** The link to the service; null: no link is wanted. */
  readonly service: () => LinkStatus | null;
  /** A tmpfs, whose files survive a kill. */
  readonly runtime_dir: string;
  /** Reads a secret's file. Throws an error that names the file and the remedy. */
  readonly secret: (path: string) => string;
  /** Takes secrets out of each text of a server. */
  readonly scrubber: Scrubber;
}

export interface NoticeMessage {
  /** The same at each retry. */
  readonly id: string;
  readonly subject: string;
  readonly text: string;
  /** The same content for programs. */
  readonly document: object;
}

/** Sends a message by mail, webhook or MQTT. Never rejects: a failure is an outcome. */
export type Channel = (message: NoticeMessage, signal: AbortSignal) => Promise<NoticeOutcome>;
/** Implemented in `mail.ts`, `webhook.ts` and `mqtt.ts`, which are loaded at the first message. */
export type OpenChannel = (machine: Pick<NoticeMachine, "gateway_id" | "secret">, config: NoticeConfig) => Channel;

export interface Notices {
  status(): readonly NoticeStatus[];
  /** Sends a test by the notice of this name, or by each; returns [] for an unknown name. */
  test(name: string | undefined, signal: AbortSignal): Promise<readonly NoticeTest[]>;
  /** Starts one loop for each notice; they end with the signal. */
  run(signal: AbortSignal): readonly Promise<unknown>[];
}
