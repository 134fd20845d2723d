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

/** What delivery asks of the log's store. */
export type DeliveredLog = Pick<Store, "read" | "contextRecords" | "chunks" | "ack" | "setAside">;

/** The service's HTTP interface, as far as one booth's binding needs it. Never rejects: every outcome is a value. */
export interface ServiceApi {
  lookUp(key: string, serial: string): Promise<ServiceAnswer<ServiceRecord>>;
  /** What the service shows of the booth's devices. */
  shown(key: string, booth_id: string): Promise<ServiceAnswer<DeviceFields & { readonly booth: ShownBooth }>>;
  /** The booth's newest stream, and how far the service has it; null: it names none. */
  lastStream(key: string, booth_id: string): Promise<ServiceAnswer<{ readonly acked: AckedStream | null }>>;
  /** A report; its body as plain data. */
  report(key: string, path: string): Promise<ServiceAnswer<unknown>>;
  /** Safe to repeat with the same claim id, after whatever. */
  claim(key: string, claim: Claim): Promise<ServiceAnswer<ServiceRecord>>;
  update(key: string, serial: string, change: BindingChange): Promise<ServiceAnswer<ServiceRecord>>;
}

/** One connected session. It never reconnects by itself; when `closed` resolves, it is over. */
export interface LinkSession {
  readonly url: string;
  /** What is spoken there; absent: no MQTT. */
  readonly mqtt?: MqttVersion;
  /** Resolves, with the reason, when the session has ended for whatever cause. */
  readonly closed: Promise<ServiceLinkError>;
  hello(booths: readonly HelloBooth[]): Promise<void>;
  heartbeat(booths: readonly BoothHeartbeat[]): Promise<void>;
  /** Consecutive records of one boot and one clock offset. Resolves with the service's own ack, never with the broker's. */
  send(stream: StreamId, generation: number, records: readonly Placed[]): Promise<BatchOutcome>;
  /**
   * A part of the log as it stands in the store, where the service takes such. Resolves as `send` does; with a conflict or a refusal
   * nothing of it is stored.
   */
  sendChunk(stream: StreamId, generation: number, chunk: LogChunk): Promise<BatchOutcome>;
  /** Whether the service has said in this session that it takes chunks. */
  takesChunks(): boolean;
  /** Batches that the service lets be under way. */
  window(): number;
  /** Gives each command of the service to `take`, those first that came before. To be called once. */
  commands(take: (heard: HeardCommand) => void): void;
  /** Resolves once the broker has it; rejects with the session's end. */
  say(message: UpMessage): Promise<void>;
  close(): Promise<void>;
}

export interface ServiceLink {
  /** Connects once, looking the broker's name up anew; rejects with a ServiceLinkError. */
  connect(account: LinkAccount, signal: AbortSignal): Promise<LinkSession>;
}

/** A record that the service says it will never take. */
export interface Rejection {
  readonly seq: Seq;
  readonly reason: string;
}

/** What the service says of a batch, with the hash of what it stored of it. */
interface Answered {
  /** Of the batch's own records. */
  readonly rejected: readonly Rejection[];
  /** Something of it was stored, so the hash shows that the service has looked at it. The hash of nothing is anybody's. */
  readonly is_proven: boolean;
  /** The newest record of the stream that the service holds, by its own word; 0: it doesn't say. */
  readonly held_seq: Seq;
}

/**
 * What became of one batch. `keep`: not known to be stored, send it again. `refused`: nothing of it was taken, and as it is it
 * never will be; some record in it is to blame. `too_long`: the broker, or the service, takes no message of that size: a smaller batch may
 * fit, and no record in it is to blame. `conflict`: all before that seq is stored, and under it the service holds another record.
 */
export type BatchOutcome =
  | (Answered & { readonly kind: "acked" })
  | (Answered & { readonly kind: "conflict"; readonly seq: Seq })
  | { readonly kind: "refused" | "too_long"; readonly reason: string }
  | {
      readonly kind: "keep";
      readonly reason: string;
      /** The broker has it, the connection stands, and the service said nothing in time. */
      readonly is_silent?: boolean;
    };

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

/** Takes what the service orders. */
export interface TakesCommands {
  /** A session begins; null: it has ended. */
  setSession(session: LinkSession | null): void;
}

/** A key that is to take the present one's place. */
export interface NewKey {
  /** To be tried before the present one; null: none is to be tried now. */
  candidate(): string | null;
  /** A session stands with the candidate. Durable when it resolves. */
  connected(candidate: string): Promise<void>;
  /** It opened nothing. */
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
