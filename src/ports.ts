/**
 * What the agent needs of the world, as types only. Whoever composes it (src/main.ts, or a test under virtual time)
 * passes the real thing in.
 */
import type { Quality, TagValue } from "./core/types/booth.ts";
import type { Fact, LogRecord, Stored } from "./core/types/record.ts";
import type { TakenEntry } from "./core/types/taken.ts";
import type { BoothId, BootId, EpochMs, Milliseconds, Seq, StreamId, TagName, TakeNumber } from "./core/types/units.ts";

/** Wall clock, monotonic clock and timers. Elapsed time is measured with mono alone. */
export interface Clock {
  readonly boot: BootId;
  wall(): EpochMs;
  mono(): Milliseconds;
  /** Whether the kernel says that the wall clock is synchronised. */
  synced(): boolean;
  /** Resolves after `ms`; rejects with the signal's reason when aborted. */
  sleep(ms: Milliseconds, signal?: AbortSignal): Promise<void>;
}

export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  uuid(): string;
  bytes(count: number): Uint8Array;
}

/** One line per change, structured, no secret. */
export interface Logger {
  debug(fields: Readonly<Record<string, unknown>>, text: string): void;
  info(fields: Readonly<Record<string, unknown>>, text: string): void;
  warn(fields: Readonly<Record<string, unknown>>, text: string): void;
  error(fields: Readonly<Record<string, unknown>>, text: string): void;
}

/** Tells the service manager: ready, alive, what we are doing, stopping. */
export interface Notify {
  ready(): void;
  beat(): void;
  status(text: string): void;
  stopping(): void;
}

/** What one tag said in one poll. A tag that couldn't be read has value null, quality bad and a reason. */
export interface Sample {
  readonly tag: TagName;
  readonly value: TagValue;
  readonly quality: Quality;
  readonly reason?: string;
}

export type LinkErrorKind = "refused" | "timeout" | "reset" | "malformed" | "closed" | "busy" | "path" | "config";

/**
 * One way to one device. A driver never retries and never reconnects: whoever owns the link does.
 * After open or read has rejected the driver must be closed, and a new one made.
 */
export interface Driver {
  /** Connects. Rejects with a LinkError. */
  open(signal: AbortSignal): Promise<void>;
  /**
   * Reads every tag of the poll group once; one sample for each tag of the group, in the profile's order. One at a time.
   * A part of the device that refuses gives samples of quality bad; no usable answer at all rejects with a LinkError.
   */
  read(group: string, signal: AbortSignal): Promise<readonly Sample[]>;
  /** Frees everything; never rejects; may be called at any time and more than once. */
  close(): Promise<void>;
}

/** Append-only file on tmpfs: what it holds survives a crash of the process, not of the machine. */
export interface Tail {
  /** Entries that an earlier process left behind, oldest first. */
  leftover(): readonly TakenEntry[];
  /** Returns once the entry is out of this process's hands. */
  append(entry: TakenEntry): void;
  /** Entries of the stream up to this take number are durable and may be dropped. */
  committed(stream: StreamId, take: TakeNumber): void;
  close(): void;
}

export interface StreamInfo {
  readonly stream: StreamId;
  readonly booth: BoothId;
  readonly oldest_seq: Seq;
  /** 0: nothing yet. */
  readonly newest_seq: Seq;
  /** Everything up to here is with the service. */
  readonly acked_seq: Seq;
  readonly last_take: TakeNumber;
}

export interface Ingested {
  readonly newest_seq: Seq;
  readonly facts: readonly Stored<Fact>[];
  /** The fold's state after the last record, for showing. Plain data; its shape is core/derive's. */
  readonly state: unknown;
  readonly commit_ms: Milliseconds;
}

/** The only writer. Every call is one transaction, durable when it resolves; calls are carried out in order. */
export interface Store {
  /** The booth's stream; made where there is none. */
  openStream(booth: BoothId): Promise<StreamInfo>;
  /** Appends in the given order, folds, appends the facts, moves last_take. Takes already seen change nothing. */
  ingest(stream: StreamId, records: readonly LogRecord[], lastTake: TakeNumber): Promise<Ingested>;
  /** Records from seq on, in seq order, at most `limit`; facts among them. */
  read(stream: StreamId, from: Seq, limit: number): Promise<readonly Stored[]>;
  /** Moves the acked cursor forward; never back. */
  ack(stream: StreamId, upTo: Seq): Promise<StreamInfo>;
  info(stream: StreamId): Promise<StreamInfo>;
  /** The fold's present state; undefined before the first record. */
  state(stream: StreamId): Promise<unknown>;
  close(): Promise<void>;
}

/** Read-only access to what is durable, for reports. Synchronous: reports run on a thread of their own. */
export interface StoreReader {
  streams(): readonly StreamInfo[];
  /** Facts of a kind whose [start, end) overlaps [from, to), by start. */
  facts<K extends Fact["kind"]>(
    stream: StreamId,
    kind: K,
    window: Window,
  ): readonly Stored<Extract<Fact, { kind: K }>>[];
  /** Log records in seq order whose corrected time lies in the window; the clock records needed to place them come first. */
  log(stream: StreamId, window: Window): Iterable<Stored<LogRecord>>;
  state(stream: StreamId): unknown;
}

/** Half-open [start, end), corrected time. */
export interface Window {
  readonly start: EpochMs;
  readonly end: EpochMs;
}

/** Small secrets and identity, in a database of their own (mode 0600) with a second copy. */
export interface Identity {
  gateway(): Promise<{ readonly gateway_id: string; readonly credential: string | null }>;
  setCredential(credential: string | null): Promise<void>;
  /** The provisioning row of a booth, as core's provisioning state machine wrote it; undefined: none yet. */
  provisioning(booth: BoothId): Promise<unknown>;
  /** One transaction, durable and copied when it resolves. */
  setProvisioning(booth: BoothId, row: unknown): Promise<void>;
}
