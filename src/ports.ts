/** What the agent needs of the world, as types only. Whoever composes it, or a test, passes the real thing in. */
import type { LentLink, PlcAsk } from "./core/types/plc-visit.ts";
import type { BatchOutcome, BoothHeartbeat, HelloBooth, LinkAccount, Refusal, Terms } from "./core/types/delivery.ts";
import type { StageSpan } from "./core/derive/tail.ts";
import type { EntryAnswer, FilterChange } from "./core/types/entry.ts";
import type { HeardCommand, UpMessage } from "./core/types/command.ts";
import type { ServiceLinkError } from "./core/service-link-error.ts";
import type { Fact, LogRecord, Placed, Stored, StreamRecord } from "./core/types/record.ts";
import type { BoothCounts, LiveReading } from "./core/types/live.ts";
import type { RebuildProgress } from "./core/types/rebuild.ts";
import type { Confirmation, Leaving } from "./core/types/provisioning.ts";
import type { AgentStatus, BacklogStatus, RefusedRecords, StorageStatus } from "./core/types/status.ts";
import type { SealedSecret } from "./core/types/service.ts";
import type { Sample } from "./core/types/sample.ts";
import type { TakenEntry } from "./core/types/taken.ts";
import type { BoothId, BootId, EpochMs, Milliseconds, Seq, Serial, StreamId, TakeNumber } from "./core/types/units.ts";

/** Wall clock, monotonic clock and timers, in whole milliseconds. Elapsed time is measured with mono alone. */
export interface Clock {
  readonly boot: BootId;
  wall(): EpochMs;
  mono(): Milliseconds;
  /** Whether the kernel says that the wall clock is synchronised. */
  synced(): boolean;
  /** Resolves after `ms`; rejects with the signal's reason when aborted. */
  sleep(ms: Milliseconds, signal?: AbortSignal): Promise<void>;
}

/** Carries the service's own clock from its answers to whoever watches ours. */
export interface ServiceTime {
  /**
   * The service said `time` in an answer to what was sent at mono `sent` and came back at `received`. Only over a way that
   * proves the service: verified TLS, or loopback. An exchange that took 5 s or more says nothing and is left aside.
   */
  heard(answer: { readonly time: EpochMs; readonly sent: Milliseconds; readonly received: Milliseconds }): void;
  /** Corrected time minus wall clock, ms; null while no witness has vouched for any time in this boot. */
  offset(): Milliseconds | null;
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

export interface Secrets {
  /** The key that a first claim is made with; null where none was given. */
  firstKey(): string | null;
  /** The gateway has a key of its own now. Returns what somebody has to do by hand for that; null: nothing, it is gone. */
  wipeFirstKey(): string | null;
}

/** Keeps secrets of others on this machine's disk. */
export interface Sealer {
  /** Another text each time. Never log what goes in. */
  seal(plain: string): SealedSecret;
  /** null: it wasn't sealed here, or is damaged. */
  open(secret: SealedSecret): string | null;
}

/** Passwords of a booth's PLC in the service's record, the newer one first; opened as they are asked for, and kept nowhere. */
export type PlcPasswords = () => readonly string[];

/** Tells the service manager: ready, alive, what we are doing, stopping. */
export interface Notify {
  ready(): void;
  /** How long the service manager waits for a beat before it starts us anew; null: it doesn't wait for any. */
  readonly watchdog_ms: Milliseconds | null;
  beat(): void;
  /** One line on how things are. */
  status(text: string): void;
  stopping(): void;
}

export type { LinkErrorKind } from "./core/link-error.ts";
export type { Sample } from "./core/types/sample.ts";
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
  /** Lines in its midst that can't be read, each an entry or more; absent: none can be. */
  damaged?(): number;
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
  /** Everything up to here has its place in time and may be sent; what follows waits for the clock's first sync. */
  readonly sendable_seq: Seq;
  /** Everything up to here is with the service. */
  readonly acked_seq: Seq;
  readonly last_take: TakeNumber;
  /**
   * The file was salvaged: nobody knows what the service was given under the seqs from here on, so they go under another name
   * there. Absent or 0: it never was.
   */
  readonly renew_from?: Seq;
}

export interface Ingested {
  readonly newest_seq: Seq;
  readonly sendable_seq: Seq;
  readonly facts: readonly Stored<Fact>[];
  /** The fold's state after the last record, for showing. Plain data; its shape is core/derive's. */
  readonly state: unknown;
  readonly commit_ms: Milliseconds;
  /** Oldest kept seq: what came before has been acked, outlived its age, or is declared by a gap record. */
  readonly oldest_seq: Seq;
  /** As in StreamInfo. */
  readonly renew_from?: Seq;
  readonly storage: StorageStatus;
}

/** The only writer. Every call is one transaction, durable when it resolves; calls are carried out in order. */
export interface Store {
  /** The booth's stream; made where there is none. */
  openStream(booth: BoothId): Promise<StreamInfo>;
  /** Appends in the given order, folds, appends the facts, moves last_take. Takes already seen change nothing. */
  ingest(stream: StreamId, records: readonly LogRecord[], lastTake: TakeNumber): Promise<Ingested>;
  /** Records from seq on up to sendable_seq, in seq order, at most `limit`; facts among them. A hole was given up. */
  read(stream: StreamId, from: Seq, limit: number): Promise<readonly Placed[]>;
  /**
   * The first parameter and clock records from seq on up to `end`, without those that wait for a sync, and up to where was
   * looked: a call looks at some hundred rows at most.
   */
  terms(stream: StreamId, from: Seq, end: Seq): Promise<Terms>;
  /**
   * Moves the acked cursor forward; never back. The one call that is not durable at once: it rides with the next
   * commit, or the next close, because a lost ack costs a resend and each commit costs flash.
   */
  ack(stream: StreamId, upTo: Seq): Promise<StreamInfo>;
  /** The service will never take those records: they are kept aside with its reasons. Durable when it resolves; again: no change. */
  setAside(stream: StreamId, refusals: readonly Refusal[]): Promise<RefusedRecords>;
  /** What was set aside of the stream. */
  refused(stream: StreamId): Promise<RefusedRecords>;
  /** Sets the acked cursor back before `from`: those records go again, to whoever they belong to. Durable when it resolves. */
  resend(stream: StreamId, from: Seq): Promise<StreamInfo>;
  info(stream: StreamId): Promise<StreamInfo>;
  /** The fold's present state; undefined before the first record. */
  state(stream: StreamId): Promise<unknown>;
  close(): Promise<void>;
}

/** Folds a stream's kept log again and puts the facts that come out in the stored ones' place; ingest goes on meanwhile. */
export interface Rebuilds {
  /** `current`: with today's parameters. Rejects where it can't be done, saying why. Idempotent while one is under way. */
  start(stream: StreamId, current: boolean): Promise<RebuildProgress>;
  /** null: none since the agent's start. */
  progress(stream: StreamId): Promise<RebuildProgress | null>;
}

/**
 * A report as it comes from its thread: the body, UTF-8, in parts, each made when it is asked for, and to be done with by then:
 * the next may stand in the same memory.
 */
export interface ReportParts {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AsyncIterable<Uint8Array>;
}

/** A stage of the booth as reports need it. */
export type BoothStage = Omit<StageSpan, "raw">;

/** Read-only access to what is durable, for reports. Synchronous: reports run on a thread of their own. */
export interface StoreReader {
  streams(): readonly StreamInfo[];
  /** Facts of a kind whose [start, end] touches the window, by start; those that a rebuild replaced are left out. */
  facts<K extends Fact["kind"]>(
    stream: StreamId,
    kind: K,
    window: Window,
  ): readonly Stored<Extract<Fact, { kind: K }>>[];
  /** Closed stages of the booth (bay 0) that overlap or touch the window, by start: what a year's figures are made of. */
  stages(stream: StreamId, window: Window): readonly BoothStage[];
  /** Log records (`tags`: readings of these alone) by seq whose corrected time lies in the window; those without one are left out. */
  log(stream: StreamId, window: Window, tags?: ReadonlySet<string>): Iterable<Placed<LogRecord>>;
  /** The fold's state after the newest record, those that wait for a sync among them. */
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
  /** What drivers learned of the booth's device, as they wrote it; undefined: nothing yet. Losing it costs a request or two. */
  learned(booth: BoothId): Promise<unknown>;
  setLearned(booth: BoothId, what: unknown): Promise<void>;
  /** Small things that outlive the process, each under a name; undefined: nothing yet. */
  kept(name: string): Promise<unknown>;
  /** One transaction, durable and copied when it resolves. */
  keep(name: string, what: unknown): Promise<void>;
  /** Another credential takes the present one's place, and what is kept under the name changes with it, or neither does. */
  promote(credential: string, name: string, what: unknown): Promise<void>;
}

export type { ServiceApi } from "./core/types/service-api.ts";
export type { BatchOutcome, BoothHeartbeat, HelloBooth, LinkAccount, Refusal, Terms } from "./core/types/delivery.ts";

/** The hash of consecutive records, as acks and digests carry it, made as they are read. */
export interface RecordHash {
  add(records: readonly StreamRecord[]): void;
  /** Lower-case hex. Ends it. */
  hex(): string;
}

/** One connected session. It never reconnects by itself; when `closed` resolves, it is over. */
export interface LinkSession {
  /** Where the broker was reached. */
  readonly url: string;
  /** Resolves, with the reason, when the session has ended for whatever cause. */
  readonly closed: Promise<ServiceLinkError>;
  hello(booths: readonly HelloBooth[]): Promise<void>;
  heartbeat(booths: readonly BoothHeartbeat[]): Promise<void>;
  /** Consecutive records of one boot and one clock offset. Resolves with the service's own ack, never with the broker's. */
  send(stream: StreamId, generation: number, records: readonly Placed[]): Promise<BatchOutcome>;
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

/** What people can ask of the running agent. */
export interface AgentControl {
  status(): AgentStatus;
  /** What each tag of the booth said last, taken and perhaps not yet durable. Throws for an unknown booth. */
  readings(booth: BoothId): readonly LiveReading[];
  counts(): readonly BoothCounts[];
  /** A serial number as typed and normalised; confirmed where somebody vouches for it at once. Rejects for an unknown booth. */
  enterSerial(booth: BoothId, serial: Serial, confirmed: Confirmation | null): Promise<void>;
  /** The key that a first claim is made with, typed on the spot: kept sealed until the gateway has its own. */
  giveKey(key: string): Promise<void>;
  /** Compares a local day (YYYY-MM-DD; null: yesterday) with the service. Rejects for an unknown booth, or what is no finished day. */
  reconcile(booth: BoothId, day: string | null): void;
  /** The confirm card was compared. Rejects for an unknown booth. */
  confirm(booth: BoothId, confirmation: Confirmation): Promise<void>;
  /** What waits for the service, by booth. */
  backlog(): Promise<readonly BacklogStatus[]>;
  /** Gives the booth up, once what was recorded so far is delivered; at once where the serial was wrong. Rejects for an unknown booth. */
  leave(booth: BoothId, leaving: Pick<Leaving, "to" | "reason">): Promise<void>;
  /** A filter was changed, somebody says. Idempotent by the change's id. Rejects for an unknown booth, and when the agent stops. */
  changeFilter(booth: BoothId, change: FilterChange): Promise<EntryAnswer>;
  /** Withdraws an entry, within 24 h. Idempotent. Rejects as changeFilter does. */
  undoFilter(booth: BoothId, entry: Pick<FilterChange, "id" | "by">): Promise<EntryAnswer>;
  /** Links to PLCs that tools borrow instead of connecting beside the agent. */
  lentLinks(): readonly LentLink[];
  /** One read over such a link, between polls: the answer's PDU. Rejects with a LinkError. */
  askPlc(link: string, ask: PlcAsk): Promise<Uint8Array>;
}
