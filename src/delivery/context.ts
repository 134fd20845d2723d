import type { BoothState } from "../domain/booth-state.ts";
import type { ServiceState } from "../domain/link-status.ts";
import type { Clock, Logger, Random } from "../domain/machine.ts";
import type { CameRound, Signals } from "../domain/signal.ts";
import type { RefusedRecords } from "../domain/status.ts";
import type { Thrift } from "../domain/traffic.ts";
import type { NewName } from "../domain/stream-label.ts";
import type { Milliseconds, Seq, StreamId } from "../domain/units.ts";
import type { Identity } from "../store/port.ts";
import type { DeliveredLog, NewKey, ServiceLink, TakesCommands } from "./port.ts";
import type { Conflict, WaitingRecord } from "./rules/refusals.ts";
import type { Cursor, Silence } from "./rules/sending.ts";

/** The parts of the gateway that delivery uses while the gateway runs. */
export interface DeliveryGateway extends Signals {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly identity: Pick<Identity, "gateway">;
  readonly store: DeliveredLog;
  readonly link: ServiceLink;
  readonly service: ServiceState;
  readonly heartbeat_interval_ms: Milliseconds;
  /** URL of the broker if the service's record doesn't name one. */
  readonly broker_url: string | null;
  /** Maximum number of backlog records sent per second; null: as fast as the service acks them. */
  readonly backlog_rate: number | null;
  /** Number of waiting records from which on they get their own lane (send queue). Absent: LEAST_BACKLOG. */
  readonly least_backlog?: number | undefined;
  /** Lets other work of this thread run between two chunks. Absent: chunks are sent without a pause. */
  readonly turn?: (() => Promise<void>) | undefined;
  /** Returns the present limits that save the month's data budget. Absent: there is no budget. */
  readonly thrift?: () => Thrift;
  /** Returns the key that was configured for the service; null: no key was configured. */
  readonly firstKey: () => Promise<string | null>;
  readonly new_key: NewKey;
  /** Receives the service's commands during a session. */
  readonly commands: TakesCommands;
  /** Gives the log a new name at the service from a seq on. `forked` is set if the service holds other records than this gateway. */
  readonly rename: (booth: DeliveredBooth, from: Seq, forked?: NewName["forked"]) => Promise<void>;
  readonly turned: CameRound;
}

/** A booth whose log is sent to the service. */
export interface DeliveredBooth {
  readonly state: BoothState;
  readonly delivery: BoothDelivery;
}

/** The state of a booth that only delivery modifies. */
export interface BoothDelivery {
  /** True if a session includes the booth, so that acks may still arrive. */
  in_session: boolean;
  /** Records whose missing outcome ended the last session; null: the session ended for another reason. */
  silence: Silence | null;
  /** Records that the service rejected or didn't answer. They are unacked, and are offered again every five minutes. */
  readonly waiting: Map<Seq, WaitingRecord>;
  /** Monotonic time at which waiting records are offered again; null: they are due, or no record waits. */
  retry_at: Milliseconds | null;
  /** Waiting records up to this seq were already offered again, so the next offer starts after them. */
  retried_to: Seq;
  /** Number of refusals in a row, without an acked record in between. */
  refusals: number;
  /** Whether delivery pauses until `retry_at`. */
  is_resting: boolean;
  /** The conflict that the service claims; null: there is no conflict. */
  conflict: Conflict | null;
  /** Monotonic time before which no chunk is sent. */
  chunks_at: Milliseconds;
  /** Records that were set aside because the service refused them for a day. */
  refused: RefusedRecords;
  /** The cursor at the end of the last session; null: there was no session. */
  left: LeftCursor | null;
}

/** The cursor of a session, and the log to which it belongs. */
interface LeftCursor extends Cursor {
  readonly stream: StreamId;
  readonly generation: number;
}

export function newDelivery(refused: RefusedRecords): BoothDelivery {
  return {
    in_session: false,
    silence: null,
    waiting: new Map(),
    retry_at: null,
    retried_to: 0,
    refusals: 0,
    is_resting: false,
    conflict: null,
    chunks_at: 0,
    refused,
    left: null,
  };
}
