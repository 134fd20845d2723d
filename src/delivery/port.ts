import type { Text } from "../domain/message.ts";
import type { BoothHeartbeat, HelloBooth } from "../contract/telemetry.ts";
import type { BindingChange } from "../domain/provisioning.ts";
import type { AckedStream, Claim, DeviceFields, ServiceAnswer, ServiceRecord, ShownBooth } from "../domain/service.ts";
import type { BoothState } from "../domain/booth-state.ts";
import type { HeardCommand, SeqRange, UpMessage } from "../domain/command.ts";
import type { ServiceLinkError } from "../domain/link-error.ts";
import type { LogChunk, Placed } from "../domain/record.ts";
import type { Seq, StreamId } from "../domain/units.ts";
import type { MqttVersion } from "../domain/status.ts";
import type { Store } from "../store/port.ts";

/** The calls of the log's store that delivery makes. */
export type DeliveredLog = Pick<Store, "read" | "contextRecords" | "chunks" | "ack" | "setAside">;

/** The service's HTTP interface, as far as one booth's binding needs it. Never rejects: every outcome is a value. */
export interface ServiceApi {
  lookUp(key: string, serial: string): Promise<ServiceAnswer<ServiceRecord>>;
  /** Returns the service's view of the booth's devices. */
  shown(key: string, booth_id: string): Promise<ServiceAnswer<DeviceFields & { readonly booth: ShownBooth }>>;
  /** Returns the booth's newest stream, and how far the service has it; null: it names none. */
  lastStream(key: string, booth_id: string): Promise<ServiceAnswer<{ readonly acked: AckedStream | null }>>;
  /** Returns a report's body as plain data. */
  report(key: string, path: string): Promise<ServiceAnswer<unknown>>;
  /** Safe to repeat with the same claim id. */
  claim(key: string, claim: Claim): Promise<ServiceAnswer<ServiceRecord>>;
  update(key: string, serial: string, change: BindingChange): Promise<ServiceAnswer<ServiceRecord>>;
}

/**
 * A connected session with the service. The session loop opens it, and it never reconnects by itself: once `closed` resolves, all calls
 * reject or resolve with "keep", and the loop opens another one. Several batches may be under way at once. Only an outcome "acked" from the
 * service moves the cursor, so that a lost session costs nothing but resends. Implemented by `mqtt/link.ts`.
 */
export interface LinkSession {
  readonly url: string;
  /** The MQTT version in use; absent: not MQTT. */
  readonly mqtt?: MqttVersion;
  /** Resolves with the reason when the session has ended. */
  readonly closed: Promise<ServiceLinkError>;
  hello(booths: readonly HelloBooth[]): Promise<void>;
  heartbeat(booths: readonly BoothHeartbeat[]): Promise<void>;
  /** Consecutive records of one boot and one clock offset. Resolves with the service's own ack, never with the broker's. */
  send(stream: StreamId, generation: number, records: readonly Placed[]): Promise<BatchOutcome>;
  /**
   * Sends a part of the log as it is stored, if the service accepts chunks. Resolves as `send` does. After a conflict or a refusal nothing
   * of it is stored.
   */
  sendChunk(stream: StreamId, generation: number, chunk: LogChunk): Promise<BatchOutcome>;
  /** Whether the service has said in this session that it takes chunks. */
  takesChunks(): boolean;
  /** Returns the number of batches that the service allows under way. */
  window(): number;
  /** Passes each command of the service to `take`, and first those that came earlier. To be called once. */
  commands(take: (heard: HeardCommand) => void): void;
  /** Resolves once the broker has the message; rejects at the session's end. */
  say(message: UpMessage): Promise<void>;
  close(): Promise<void>;
}

export interface ServiceLink {
  /** Connects once, with a new lookup of the broker's name; rejects with a ServiceLinkError. */
  connect(account: LinkAccount, signal: AbortSignal): Promise<LinkSession>;
}

/** A record that the service rejected. */
export interface Rejection {
  readonly seq: Seq;
  readonly reason: Text;
}

/** The service's answer to a batch. */
interface Answered {
  /** Records of this batch only. */
  readonly rejected: readonly Rejection[];
  /** Some of it was stored, so the hash proves that the service has read it. The hash of nothing proves nothing. */
  readonly is_proven: boolean;
  /** The newest record of the stream that the service claims to hold; 0: it doesn't say. */
  readonly held_seq: Seq;
}

/**
 * The outcome of one batch.
 * - acked: stored, except the rejected records.
 * - keep: not known to be stored; send it again.
 * - refused: nothing was stored, and the same batch will be refused again because of some record in it.
 * - too_long: the broker or the service accepts no message of that size. A smaller batch may fit; no record is to blame.
 * - conflict: all records before that seq are stored, and under it the service holds another record.
 */
export type BatchOutcome =
  | (Answered & { readonly kind: "acked" })
  | (Answered & { readonly kind: "conflict"; readonly seq: Seq })
  | { readonly kind: "refused" | "too_long"; readonly reason: Text }
  | {
      readonly kind: "keep";
      readonly reason: Text;
      /** The broker has confirmed it, the connection is up, and the service didn't answer in time. */
      readonly is_silent?: boolean;
    };

export interface LinkAccount {
  readonly gateway_id: string;
  readonly credential: string;
  /** mqtt:// only on loopback; mqtts:// or wss:// otherwise. */
  readonly url: string;
  /** The same broker over WebSocket, for networks that block the other port; null: not available. */
  readonly ws_url: string | null;
  readonly client_id: string;
  readonly username: string;
  readonly topic_prefix: string;
  /** The confirmation that counts as delivery: the service's ack, or the broker's if the service sends none. */
  readonly confirmed_by: "service" | "broker";
}

/** Receives the service's commands. */
export interface TakesCommands {
  /** Reports a session that begins; null: it has ended. */
  setSession(session: LinkSession | null): void;
}

/** A key that is to replace the present one. */
export interface NewKey {
  /** Returns the key to try before the present one; null: none now. */
  candidate(): string | null;
  /** Reports that the candidate has opened a session. Durable when it resolves. */
  connected(candidate: string): Promise<void>;
  /** Reports that the candidate opened no session. */
  refused(): void;
}

/** Ranges of a booth's stream that are to be sent again, of one command or of several. */
export interface ResendOrder {
  readonly state: BoothState;
  readonly stream: StreamId;
  /** The merged ranges of each command. A record that several commands ask for is sent once. */
  readonly wanted: readonly (readonly SeqRange[])[];
}

/**
 * Counts of one command. `missing`: records that were asked for and aren't stored any more. `refused`: batches that the service
 * rejected, because it keeps other content or refuses a record for good.
 */
export type Resent = Readonly<Record<"records" | "batches" | "missing" | "refused", number>>;

/**
 * Sends the ranges in addition to the live lane. Resolves with the counts of each command. Throws a CommandFailure if the stream
 * isn't this booth's.
 */
export type Resend = (order: ResendOrder, signal: AbortSignal) => Promise<readonly Resent[]>;
