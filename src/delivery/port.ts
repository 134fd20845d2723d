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

/** The functions of the log's store that delivery uses. */
export type DeliveredLog = Pick<Store, "read" | "contextRecords" | "chunks" | "ack" | "setAside">;

/** The service's HTTP interface, as far as one booth's binding needs it. Never rejects: every outcome is a value. */
export interface ServiceApi {
  lookUp(key: string, serial: string): Promise<ServiceAnswer<ServiceRecord>>;
  /** Returns the service's view of the booth's devices. */
  shown(key: string, booth_id: string): Promise<ServiceAnswer<DeviceFields & { readonly booth: ShownBooth }>>;
  /** Returns the name of the booth's newest log at the service, and how far the service has acked it; null: the service names no log. */
  lastStream(key: string, booth_id: string): Promise<ServiceAnswer<{ readonly acked: AckedStream | null }>>;
  /** Returns a report's body as plain data. */
  report(key: string, path: string): Promise<ServiceAnswer<unknown>>;
  /** Claims the booth. Safe to repeat with the same claim id. */
  claim(key: string, claim: Claim): Promise<ServiceAnswer<ServiceRecord>>;
  update(key: string, serial: string, change: BindingChange): Promise<ServiceAnswer<ServiceRecord>>;
}

/**
 * A connected session with the service. The session loop opens it, and it never reconnects by itself. After `closed` has resolved, all
 * calls reject or resolve with "keep", and the loop opens another session. Several batches may be pending at once. Only an "acked" outcome
 * moves the cursor, so a lost session causes resends but loses no record. Implementation: `mqtt/link.ts`.
 */
export interface LinkSession {
  readonly url: string;
  /** The MQTT version in use. Absent: the session doesn't use MQTT. */
  readonly mqtt?: MqttVersion;
  /** Resolves with the reason when the session has ended. */
  readonly closed: Promise<ServiceLinkError>;
  hello(booths: readonly HelloBooth[]): Promise<void>;
  heartbeat(booths: readonly BoothHeartbeat[]): Promise<void>;
  /**
   * Sends consecutive records of one boot and one clock offset. Resolves with the outcome according to the service's own ack, never the
   * broker's.
   */
  send(stream: StreamId, generation: number, records: readonly Placed[]): Promise<BatchOutcome>;
  /**
   * Sends a part of the log in its stored form, if the service accepts chunks. Resolves like `send`. After a conflict or a refusal, no
   * record of the chunk counts as stored.
   */
  sendChunk(stream: StreamId, generation: number, chunk: LogChunk): Promise<BatchOutcome>;
  /** Returns whether the service has announced in this session that it accepts chunks. */
  takesChunks(): boolean;
  /** Returns the maximum number of pending batches that the service allows. */
  window(): number;
  /** Passes each command of the service to `take`, starting with those received earlier. Must be called only once. */
  commands(take: (heard: HeardCommand) => void): void;
  /** Sends a message. Resolves after the broker has confirmed it; rejects if the session ends first. */
  say(message: UpMessage): Promise<void>;
  close(): Promise<void>;
}

export interface ServiceLink {
  /** Connects once, with a new DNS lookup of the broker. Rejects with a ServiceLinkError. */
  connect(account: LinkAccount, signal: AbortSignal): Promise<LinkSession>;
}

/** A record that the service rejected. */
export interface Rejection {
  readonly seq: Seq;
  readonly reason: Text;
}

/** Common fields of the service's answers to a batch. */
interface Answered {
  /** Rejected records of this batch. */
  readonly rejected: readonly Rejection[];
  /** True if at least one record was stored. The hash of the stored records then proves that the service has read them. */
  readonly is_proven: boolean;
  /** The newest seq of the log that the service claims to hold; 0: the service doesn't say. */
  readonly held_seq: Seq;
}

/**
 * The outcome of one batch.
 * - acked: stored, except the rejected records.
 * - keep: possibly not stored, so it must be sent again.
 * - refused: nothing was stored, and the same batch would be refused again because of a record in it.
 * - too_long: the broker or the service doesn't accept a message of that size. A smaller batch may fit, because no record is at fault.
 * - conflict: all records before `seq` are stored, but the service holds another record under `seq`.
 */
export type BatchOutcome =
  | (Answered & { readonly kind: "acked" })
  | (Answered & { readonly kind: "conflict"; readonly seq: Seq })
  | { readonly kind: "refused" | "too_long"; readonly reason: Text }
  | {
      readonly kind: "keep";
      readonly reason: Text;
      /** True if the broker has confirmed the batch and the connection is up, but the service didn't answer in time. */
      readonly is_silent?: boolean;
    };

export interface LinkAccount {
  readonly gateway_id: string;
  readonly credential: string;
  /** URL of the broker: mqtt:// only on loopback, otherwise mqtts:// or wss://. */
  readonly url: string;
  /** URL of the same broker over WebSocket, for networks that block the other port; null: not available. */
  readonly ws_url: string | null;
  readonly client_id: string;
  readonly username: string;
  readonly topic_prefix: string;
  /** The confirmation that counts as delivery: the service's ack, or the broker's PUBACK if the service sends no acks. */
  readonly confirmed_by: "service" | "broker";
}

/** Receives the service's commands. */
export interface TakesCommands {
  /** Reports the start of a session; null: the session has ended. */
  setSession(session: LinkSession | null): void;
}

/** A key that will replace the present key. */
export interface NewKey {
  /** Returns the key to try before the present key; null: no key must be tried now. */
  candidate(): string | null;
  /** Reports that the candidate has opened a session. Durable when it resolves. */
  connected(candidate: string): Promise<void>;
  /** Reports that the candidate failed to open a session. */
  refused(): void;
}

/** Ranges of a booth's log that one or more commands want to be sent again. */
export interface ResendOrder {
  readonly state: BoothState;
  readonly stream: StreamId;
  /** The merged ranges of each command. A record that several commands request is sent only once. */
  readonly wanted: readonly (readonly SeqRange[])[];
  /** Called after each batch with the index of a command and the number of its records in the batch. */
  readonly progress?: (index: number, records: number) => void;
}

/**
 * Counts of one command. `missing`: requested records that aren't stored any more. `refused`: batches that the service rejected, because it
 * holds other records or permanently refuses a record.
 */
export type Resent = Readonly<Record<"records" | "batches" | "missing" | "refused", number>>;

/**
 * Sends the ranges in addition to the session's normal sending. Resolves with the counts of each command. Throws a CommandFailure if the
 * log isn't this booth's.
 */
export type Resend = (order: ResendOrder, signal: AbortSignal) => Promise<readonly Resent[]>;
