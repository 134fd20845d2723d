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

/** The parts of the gateway that delivery uses, for as long as the gateway runs. */
export interface DeliveryGateway extends Signals {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly identity: Pick<Identity, "gateway">;
  readonly store: DeliveredLog;
  readonly link: ServiceLink;
  readonly service: ServiceState;
  readonly heartbeat_interval_ms: Milliseconds;
  /** Used if the service's record names no broker. */
  readonly broker_url: string | null;
  /** Most backlog records per second; null: as fast as the service acks. */
  readonly backlog_rate: number | null;
  /** Waiting records from which on they are sent in a lane of their own. Absent: LEAST_BACKLOG. */
  readonly least_backlog?: number | undefined;
  /** Lets other work of this thread run between two chunks. */
  readonly turn?: (() => Promise<void>) | undefined;
  /** The present limits that spare the month's budget of data; absent: there is no budget. */
  readonly thrift?: () => Thrift;
  /** Returns the key that was configured for the service; null: none was. */
  readonly firstKey: () => Promise<string | null>;
  readonly new_key: NewKey;
  /** Receives the service's commands during a session. */
  readonly commands: TakesCommands;
  /** Gives the log a new name at the service. `forked`: because the service holds other records than this box. */
  readonly rename: (booth: DeliveredBooth, from: Seq, forked?: NewName["forked"]) => Promise<void>;
  readonly turned: CameRound;
}

/** A booth whose log goes to the service. */
export interface DeliveredBooth {
  readonly state: BoothState;
  readonly delivery: BoothDelivery;
}

/** The state of a booth that delivery alone writes. */
export interface BoothDelivery {
  /** A session speaks for the booth, and acks may still come. */
  in_session: boolean;
  /** null: the last session didn't end over unanswered records. */
  silence: Silence | null;
  /** Records that the service didn't take. They are unacked, and are offered again every five minutes. */
  readonly waiting: Map<Seq, WaitingRecord>;
  /** Mono at which waiting records are offered again; null: they are due, or there are none. */
  retry_at: Milliseconds | null;
  /** Waiting records up to this seq were offered again before delivery rested, so the next offer begins after them. */
  retried_to: Seq;
  /** Refusals in a row, with nothing taken in between. */
  refusals: number;
  /** Whether delivery sends nothing before `retry_at`. */
  is_resting: boolean;
  /** null: the service names no conflict. */
  conflict: Conflict | null;
  /** Mono before which no chunk is sent. */
  chunks_at: Milliseconds;
  /** Records that were set aside because the service refused them for a day. */
  refused: RefusedRecords;
  /** The cursor at the end of the last session; null: there was none. */
  left: LeftCursor | null;
}

/** The cursor of a session, and the stream it belongs to. */
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
