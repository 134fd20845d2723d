import type { StreamLabel } from "./provisioning.ts";
import type { Placed } from "./record.ts";
import type { EpochMs, Seq, StreamId } from "./units.ts";

/**
 * What became of one batch. `keep`: not known to be stored, send it again. `refused`: nothing of it was taken, and as it is it
 * never will be; some record in it is to blame.
 */
export type BatchOutcome =
  | {
      readonly kind: "acked";
      readonly rejected: readonly { readonly seq: Seq; readonly reason: string }[];
      /** The service holds nothing of the stream beyond this seq. */
      readonly held_seq: Seq;
    }
  | { readonly kind: "conflict"; readonly seq: Seq }
  | { readonly kind: "refused"; readonly reason: string }
  | {
      readonly kind: "keep";
      readonly reason: string;
      /** The broker has it, the connection stands, and the service said nothing in time. */
      readonly is_silent?: boolean;
    };

/** Records that others can't be read without. */
export interface Terms {
  /** Consecutive in seq; empty: none up to `looked_to`. */
  readonly records: readonly Placed[];
  readonly looked_to: Seq;
}

/** A record that the service will never take. */
export interface Refusal {
  readonly seq: Seq;
  /** The service's, in its words. */
  readonly reason: string;
  /** The service doesn't know that it refused this very record: the stream's next commit logs a gap record that says so. */
  readonly declare: boolean;
}

export interface LinkAccount {
  readonly gateway_id: string;
  readonly credential: string;
  /** mqtt:// on loopback, mqtts:// or wss:// else. */
  readonly url: string;
  /** The same broker over WebSocket, for networks that hold the other port back; null: there is no such way. */
  readonly ws_url: string | null;
  readonly client_id: string;
  readonly username: string;
  readonly topic_prefix: string;
  /** Whose word counts as delivered: the service's ack, or the broker's where the service gives none. */
  readonly confirmed_by: "service" | "broker";
}

export interface HelloBooth {
  readonly stream: StreamId;
  readonly serial: string;
  readonly generation: number;
  readonly oldest_seq: Seq;
  readonly newest_seq: Seq;
  readonly predecessor: StreamLabel["predecessor"];
  readonly config_revision: number;
}

export interface BoothHeartbeat {
  readonly stream: StreamId;
  readonly serial: string;
  readonly generation: number;
  readonly firmware_version: string | null;
  readonly plc_program: string | null;
  readonly plc_program_revision: string | null;
  readonly link: "up" | "down";
  readonly mode: string;
  readonly waiting_records: number;
  /** Corrected time of the oldest record that waits and may be sent; null: there is none. */
  readonly oldest_at: EpochMs | null;
  /** Until records must be given up if none of them is acked; null: not known yet. */
  readonly hours_to_full: number | null;
}
