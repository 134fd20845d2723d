import { createHash } from "node:crypto";
import type { Placed } from "../../src/domain/record.ts";
import type { ContractFiles } from "./contract-files.ts";
import { type Exchange, must } from "./requirement.ts";

/** A requirement of the contract, with a check that plays a gateway or a user. */
export interface Requirement {
  /** Stable name, such as F07. */
  readonly id: string;
  readonly title: string;
  /** Place in the contract. */
  readonly place: string;
  /** True: a service may leave it out, and then it counts as "not supported", not as failed. */
  readonly is_optional?: true;
  /** Rejects with a Mismatch or an Unsupported; any other error also counts as failed. */
  readonly check: (target: Target) => Promise<void>;
}

/** The content of a record that a check makes. */
export type Content = Pick<Placed, "kind" | "tag" | "value"> & Partial<Pick<Placed, "quality">>;

/** The log that the kit writes for its gateway: consecutive seqs, a second apart, the newest in the past. */
export interface KitLog {
  /** The tag of `readings`. */
  readonly tag: string;
  /** Makes the next records. */
  take(contents: readonly Content[]): Placed[];
  /** Makes readings of a tag with the values from 1 on, and remembers the tag for the count at the end. */
  readings(count: number): Placed[];
  /** Takes readings out of the count: the service need not show them. */
  forget(records: readonly Placed[]): void;
  /** Gives the newest seqs back, which no message has delivered. */
  forgetNewest(count: number): void;
  /** Returns the values of `readings` that the service must have. */
  values(): readonly number[];
  /** Returns the time of the first record. */
  since(): string;
  /** Returns new records from seq 1 on, for another gateway. */
  again(): Placed[];
  /** The newest seq so far. */
  newest(): number;
}

export type Ack = Readonly<Record<string, unknown>>;

/** A message for the report. `s0`: its first seq; absent: the service can't know it. */
export interface Offered {
  readonly about: string;
  readonly s0?: number | undefined;
}

/** An MQTT session of a played gateway. */
export interface Session {
  isOpen(): boolean;
  /** Publishes a message below the gateway's prefix. Resolves once the broker has confirmed it. */
  publish(topic: string, payload: Buffer | string, retain?: boolean): Promise<void>;
  /**
   * Publishes a batch or a chunk and returns its ack. Rejects if none comes in time. Skips late acks of earlier messages, which have another
   * first seq.
   */
  offer(topic: "up/batch" | "up/chunk", payload: Buffer, offered: Offered): Promise<Ack>;
  /** Returns the next ack. Rejects if none comes in time. */
  nextAck(): Promise<Ack>;
  /** Returns the next message on down/cmd; undefined: none came in time. */
  command(within_ms?: number): Promise<Readonly<Record<string, unknown>> | undefined>;
  /** Sends a heartbeat. */
  beat(): Promise<void>;
  /** Ends the session as a lost network does. The will is sent. */
  cut(): Promise<void>;
  /** Subscribes to a topic; returns the reason code of the broker's answer. */
  subscribe(topic: string): Promise<number>;
  /** Messages on other topics than the gateway's own. */
  readonly foreign: readonly string[];
}

export interface TargetOptions {
  /** Base URL of the service, without /api. */
  readonly url: string;
  /** API key that may do everything: scope admin. */
  readonly key: string;
  /** API key of a person who isn't an admin; "": none was given. */
  readonly user_key: string;
  /** Serial number of a booth that the kit may claim. */
  readonly serial: string;
  /** Broker's URL; "": the one of the provisioning record. */
  readonly broker: string;
  /** Longest wait for an answer. */
  readonly timeout_ms: number;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

/** A gateway that the kit plays. */
export interface PlayedGateway {
  readonly id: string;
  readonly credential: string;
  readonly claim_id: string;
  generation: number;
  /** The stream of its next records. */
  stream: string;
}

/** The tested service, and the state that later checks build on. */
export interface Target {
  readonly options: TargetOptions;
  readonly contract: ContractFiles;
  /** Exchanges of the present check. */
  readonly exchanges: Exchange[];
  readonly gateway: PlayedGateway;
  /** A second gateway, which tries to take the booth. */
  readonly rival: PlayedGateway;
  readonly log: KitLog;
  /** First seqs of acked messages. */
  readonly acked: Set<number>;
  /** The newest provisioning record that a check has read. */
  record: Readonly<Record<string, unknown>>;
  /** Sends a request with the given key (default: the admin key). Rejects if no answer comes in time. */
  readonly ask: (request: string, more?: Asking) => Promise<Answer>;
  /** Like `ask`, but the answer must have one of the statuses, and an answer of 2xx must fit its schema. */
  readonly demand: (request: string, statuses: readonly number[], more?: Asking) => Promise<Answer>;
  /** Returns the gateway's open session. If the gateway has no session, opens a session and sends hello and state. */
  session(gateway?: PlayedGateway): Promise<Session>;
  /** Ends all sessions as a lost network does. */
  cut(): Promise<void>;
}

export interface Asking {
  readonly key?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** The operation's name in the contract, if it isn't the request itself. */
  readonly operation?: string;
}

export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** Names of fields whose values never reach a report. */
const SECRET = /"((?:api_)?key|credential|[a-z_]*password|session_token)":"[^"]*"/g;
const MAX_SHOWN = 2_000;

/** Returns JSON for the report: without secrets, and not too long. */
export function shown(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const safe = text.replaceAll(SECRET, '"$1":"***"');
  return safe.length > MAX_SHOWN ? `${safe.slice(0, MAX_SHOWN)}...` : safe;
}

/** Checks the form of an error: an object with a sentence in `error`. */
export function mustBeError({ body }: Answer): void {
  const error = typeof body === "object" && body !== null && "error" in body ? body.error : undefined;
  must(typeof error === "string" && error !== "", "the error has another form", '{"error": "a sentence"}');
}

/** Returns a field of a JSON object; undefined if the object lacks the field. */
export function field(value: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (at, key) => (typeof at === "object" && at !== null ? (at as Record<string | number, unknown>)[key] : undefined),
    value,
  );
}

/** Returns the objects of a list, which comes in an envelope or bare. */
export function itemsOf(body: unknown): readonly Readonly<Record<string, unknown>>[] {
  const list = Array.isArray(body) ? (body as unknown[]) : field(body, "data");
  return Array.isArray(list) ? (list as Record<string, unknown>[]) : [];
}
