import type { StreamLabel } from "./provisioning.ts";
import type { Seq, StreamId } from "./units.ts";

export interface LinkAccount {
  readonly gateway_id: string;
  readonly credential: string;
  /** mqtt:// on loopback, mqtts:// or wss:// else. */
  readonly url: string;
  readonly client_id: string;
  readonly username: string;
  readonly topic_prefix: string;
  /** Whose word counts as delivered: the service's ack, or the broker's where the service gives none. */
  readonly confirmed_by: "service" | "broker";
}

/** What became of one batch. `keep`: not known to be stored, send it again. */
export type BatchOutcome =
  | {
      readonly kind: "acked";
      readonly rejected: readonly { readonly seq: Seq; readonly reason: string }[];
      /** The service has the stream without a hole up to here, which may be more than is known of here. */
      readonly held_seq: Seq;
    }
  | { readonly kind: "conflict"; readonly seq: Seq }
  | { readonly kind: "keep"; readonly reason: string };

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
  /** Until records must be given up if none of them is acked; null: not known yet. */
  readonly hours_to_full: number | null;
}
