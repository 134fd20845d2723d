import type { NoticeConfig } from "../config/port.ts";
import type { BoothState } from "../domain/booth-state.ts";
import type { Clock, Logger, Random, Scrubber } from "../domain/machine.ts";
import type { NoticeOutcome, NoticeTest } from "../domain/notice.ts";
import type { Signals } from "../domain/signal.ts";
import type { LinkStatus, NoticeStatus } from "../domain/status.ts";
import type { Identity, Store } from "../store/port.ts";

/** A booth as notices see it. */
export interface NoticeBooth {
  readonly state: BoothState;
  /** Why the store can't commit; "": it can. */
  trouble(): string;
}

/** What notices have of the machine and the agent. */
export interface NoticeMachine {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly store: Pick<Store, "read">;
  readonly identity: Pick<Identity, "kept" | "keep">;
  readonly gateway_id: string;
  /** Raised whenever something of any booth or of the service has changed. */
  readonly news: Signals["news"];
  /** null: nothing is wanted of it. */
  readonly service: () => LinkStatus | null;
  /** A tmpfs: what is written there outlives a kill. */
  readonly runtime_dir: string;
  /** A secret's file. Throws, naming it and what to do, where it can't be used. */
  readonly secret: (path: string) => string;
  /** Every text of a server goes through it. */
  readonly scrubber: Scrubber;
}

/** What goes out at once. */
export interface NoticeMessage {
  /** The same at each further try. */
  readonly id: string;
  readonly subject: string;
  readonly text: string;
  /** The same for programs. */
  readonly document: object;
}

/** A way to tell people. Rejects with nothing: what came of it is a value. */
export type Channel = (message: NoticeMessage, signal: AbortSignal) => Promise<NoticeOutcome>;
/** Loaded at the first message. */
export type OpenChannel = (machine: Pick<NoticeMachine, "gateway_id" | "secret">, config: NoticeConfig) => Channel;

export interface Notices {
  status(): readonly NoticeStatus[];
  /** Sends a test by that one, or by each; [] where there is none of that name. */
  test(name: string | undefined, signal: AbortSignal): Promise<readonly NoticeTest[]>;
  /** One loop each; they end with the signal. */
  run(signal: AbortSignal): readonly Promise<unknown>[];
}
