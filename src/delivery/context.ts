import type { BoothState } from "../domain/booth-state.ts";
import type { ServiceState } from "../domain/link-status.ts";
import type { Clock, Logger, Random } from "../domain/machine.ts";
import type { CameRound, Signals } from "../domain/signal.ts";
import type { RefusedRecords, TooLongRecords } from "../domain/status.ts";
import type { Thrift } from "../domain/traffic.ts";
import type { NewName } from "../domain/stream-label.ts";
import type { Milliseconds, Seq, StreamId } from "../domain/units.ts";
import type { Identity } from "../store/port.ts";
import type { DeliveredLog, NewKey, ServiceLink, TakesCommands } from "./port.ts";
import type { Doubt, FailedChunks, Refusing, WaitingFork } from "./rules/belief.ts";
import type { Silence } from "./rules/sending.ts";

/** What delivery has of the gateway, for as long as that runs. */
export interface DeliveryGateway extends Signals {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly identity: Pick<Identity, "gateway">;
  readonly store: DeliveredLog;
  readonly link: ServiceLink;
  readonly service: ServiceState;
  readonly heartbeat_interval_ms: Milliseconds;
  /** Where the service's record names no broker. */
  readonly broker_url: string | null;
  /** Records a second at most of what waited during an outage; null: as fast as the service acks. */
  readonly backlog_rate: number | null;
  /** So many waiting records go in a lane of their own. Absent: LEAST_BACKLOG. */
  readonly least_backlog?: number | undefined;
  /** Lets whoever waits for this thread have it, between two chunks; absent: nobody does. */
  readonly turn?: (() => Promise<void>) | undefined;
  /** What gives way to the month's budget of data, as it is now; absent: there is no budget. */
  readonly thrift?: () => Thrift;
  /** The key that was given for the service; null: none was. */
  readonly firstKey: () => Promise<string | null>;
  readonly new_key: NewKey;
  /** Takes the service's commands, and answers them, while a session stands. */
  readonly commands: TakesCommands;
  /** The log goes on under another name at the service. `forked`: because that holds other records than ours; absent: it doesn't. */
  readonly rename: (booth: DeliveredBooth, from: Seq, forked?: NewName["forked"]) => Promise<void>;
  readonly turned: CameRound;
}

/** A booth whose log goes to the service. */
export interface DeliveredBooth {
  readonly state: BoothState;
  readonly delivery: BoothDelivery;
}

/** What delivery alone writes of a booth. */
export interface BoothDelivery {
  /** A session speaks for the booth, and acks may still come. */
  in_session: boolean;
  /** What the last session ended over; null: nothing. */
  silence: Silence | null;
  /** A conflict that nothing proves yet. */
  doubt: Doubt | null;
  /** Newest record that the service may have from us: all that was handed over, and what the agent found at its start. */
  offered_seq: Seq;
  /** A new name of the log that has to wait, and everything from that seq on with it. */
  waiting_fork: WaitingFork | null;
  /** Chunks that came to nothing, in a row; null: the last one was taken. */
  failed_chunks: FailedChunks | null;
  /** What the service refused of late; null: nothing. */
  refusing: Refusing | null;
  /** Mono at which refused records are offered again, and behind which of them that begins; null: not yet. */
  second_offer: { readonly due: Milliseconds; readonly up_to: Seq } | null;
  /** What the service will never take. */
  refused: RefusedRecords;
  /** Records that wait, unacked, because no message may be as long as they are; null: none. */
  too_long: TooLongRecords | null;
  /** How far the last session came beyond records that wait; null: none waited. */
  left_ahead: LeftAhead | null;
}

/** Where a session's cursor stood, and of which stream. */
export interface LeftAhead {
  readonly stream: StreamId;
  readonly generation: number;
  readonly acked_seq: Seq;
  readonly ahead: readonly (readonly [from: Seq, to: Seq])[];
}

export function newDelivery({ newest_seq }: { readonly newest_seq: Seq }, refused: RefusedRecords): BoothDelivery {
  const nothing = { silence: null, doubt: null, waiting_fork: null, refusing: null, second_offer: null };
  return {
    ...nothing,
    too_long: null,
    left_ahead: null,
    failed_chunks: null,
    in_session: false,
    offered_seq: newest_seq,
    refused,
  };
}
