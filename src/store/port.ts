import type { RefusedRecords, StorageStatus } from "../domain/status.ts";
import type { BoothId, EpochMs, Milliseconds, Seq, StreamId, TagName, TakeNumber } from "../domain/units.ts";
import type { DeriveState } from "../derivation/state.ts";
import type { StageSpan } from "../derivation/fold.ts";
import type { Fact, LogChunk, LogRecord, Placed, Reading, Stored } from "../domain/record.ts";
import type { RebuildProgress } from "../domain/rebuild.ts";
import type { LogReach } from "../domain/booth-state.ts";

/** What a look through a store's file found. */
export interface StoreCheck {
  readonly file: string;
  readonly bytes: number;
  readonly sound: boolean;
  /** Beyond single rows; [] where the file as a whole is well. */
  readonly problems: readonly string[];
  readonly streams: readonly {
    readonly stream: StreamId;
    readonly booth: BoothId;
    readonly oldest_seq: Seq;
    readonly newest_seq: Seq;
    readonly acked_seq: Seq;
    readonly damaged_rows: number;
    readonly damaged_facts: number;
    /** Of those from which the log could be folded again. */
    readonly damaged_states: number;
    /** Records that are neither there nor known to be gone. */
    readonly missing: number;
    /** Records known to be gone by damage. */
    readonly quarantined: number;
  }[];
}

/** What a salvage or an import put into the new store. */
export interface StoreMade {
  readonly log_rows: number;
  readonly facts: number;
  readonly streams: readonly {
    readonly stream: StreamId;
    readonly booth: BoothId;
    readonly newest_seq: Seq;
    /** Records of the kept range that weren't found. */
    readonly missing: number;
    /** From here on it goes to the service under another name: behind the last record found. */
    readonly renew_from: Seq;
  }[];
  /** The file that was the store before; null: there was none. */
  readonly aside: string | null;
}

export interface StoreCopy {
  readonly file: string;
  readonly bytes: number;
}

/** Told of long work: how much of how much, in pages or rows. */
export type StoreProgress = (done: number, of: number) => void;

/** Work on a data folder's store as a whole. What replaces it throws where an agent runs. */
export interface StoreFiles {
  check(dataDir: string, progress: StoreProgress): StoreCheck;
  salvage(dataDir: string, progress: StoreProgress): StoreMade;
  /** Rows as JSON lines, each with its checksum. Throws where the file is there already. */
  export(dataDir: string, file: string, progress: StoreProgress): StoreCopy;
  /** From an export or a backup. */
  import(dataDir: string, file: string, progress: StoreProgress): StoreMade;
  /** A copy of the file, made while the agent goes on. Rejects where the file is there already. */
  backup(dataDir: string, file: string, progress: StoreProgress): Promise<StoreCopy>;
}

export interface StreamInfo extends LogReach {
  readonly booth: BoothId;
  readonly last_take: TakeNumber;
}

export interface Ingested {
  readonly newest_seq: Seq;
  readonly sendable_seq: Seq;
  readonly facts: readonly Stored<Fact>[];
  /** What the fold says of the booth after the last record. */
  readonly present: PresentState;
  readonly commit_ms: Milliseconds;
  /** Oldest kept seq: what came before has been acked, outlived its age, or is declared by a gap record. */
  readonly oldest_seq: Seq;
  /** As in StreamInfo. */
  readonly renew_from?: Seq;
  readonly storage: StorageStatus;
}

/** The fold's state as far as it says how the booth is now. `parameters` absent: those of the stream's answer before, or of `state`. */
export type PresentState = Omit<DeriveState, "parameters"> & Partial<Pick<DeriveState, "parameters">>;

/** Calls as they are made from another thread: each answers later, and rejects where it throws there. */
export type Remote<Calls> = {
  readonly [Name in keyof Calls]: Calls[Name] extends (...args: infer Args) => infer Answer
    ? (...args: Args) => Promise<Answer>
    : never;
};

/** Calls of the only writer. Each is one transaction, durable when it answers; they are carried out in order. */
export interface StoreCalls {
  /** The booth's stream; made where there is none. */
  openStream(booth: BoothId): StreamInfo;
  /** Appends in the given order, folds, appends the facts, moves last_take. Takes already seen change nothing. */
  ingest(stream: StreamId, records: readonly LogRecord[], lastTake: TakeNumber): Ingested;
  /** Records from seq on up to sendable_seq, in seq order, at most `limit`; facts among them. A hole was given up. */
  read(stream: StreamId, from: Seq, limit: number): readonly Placed[];
  /**
   * Like read, up to newest_seq. Records after sendable_seq wait for a confirmed clock: their `time` is the gateway's own, and changes once
   * the clock is confirmed. Their seqs don't change.
   */
  readCommitted(stream: StreamId, from: Seq, limit: number): readonly Placed[];
  /**
   * The first parameter and clock records from seq on up to `end`, without those that wait for a sync, and up to where was
   * looked: a call looks at some hundred rows at most.
   */
  contextRecords(stream: StreamId, from: Seq, end: Seq): ContextRecords;
  /**
   * What stands from seq on, up to `end` at most, as chunks that follow one another, where it can be had without unpacking anything: eight
   * at most. What can't be had so is the last.
   */
  chunks(stream: StreamId, from: Seq, end: Seq): NextChunks;
  /**
   * Moves the acked cursor forward; never back. The one call that is not durable at once: it rides with the next
   * commit, or the next close, because a lost ack costs a resend and each commit costs flash.
   */
  ack(stream: StreamId, upTo: Seq): StreamInfo;
  /** Sets the acked cursor back before `from`: those records go again, to whoever they belong to. */
  resend(stream: StreamId, from: Seq): StreamInfo;
  /** The service will never take those records: they are kept aside with its reasons. Again: no change. */
  setAside(stream: StreamId, refusals: readonly Refusal[]): RefusedRecords;
  /** What was set aside of the stream. */
  refused(stream: StreamId): RefusedRecords;
  info(stream: StreamId): StreamInfo;
  /** The fold's present state. */
  state(stream: StreamId): DeriveState;
}

export interface Store extends Remote<StoreCalls> {
  close(): Promise<void>;
}

/** Folds a stream's kept log again and puts the facts that come out in the stored ones' place; ingest goes on meanwhile. */
export interface RebuildCalls {
  /** `current`: with today's parameters. Throws where it can't be done, saying why. Idempotent while one is under way. */
  start(stream: StreamId, current: boolean): RebuildProgress;
  /** null: none since the agent's start. */
  progress(stream: StreamId): RebuildProgress | null;
}

export type Rebuilds = Remote<RebuildCalls>;

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

/** A reading without what the wall clock and the device said of its time, which no figure is made of. */
export type ReadingTold = Omit<Placed<Reading>, "at" | "source_at">;

/** Read-only access to what is durable, for reports. Synchronous: reports run on a thread of their own. */
export interface StoreReader {
  streams(): readonly StreamInfo[];
  /** Facts of a kind whose [start, end] touches the window, by start, none that a rebuild replaced; last those of a boot that waits for a sync. */
  facts<K extends Fact["kind"]>(
    stream: StreamId,
    kind: K,
    window: Window,
  ): readonly Stored<Extract<Fact, { kind: K }>>[];
  /** Closed stages of the booth (bay 0) that overlap or touch the window, by start: what a year's figures are made of. */
  stages(stream: StreamId, window: Window): readonly BoothStage[];
  /** Log records by seq whose corrected time lies in the window; what waits for a sync stands where it is shown, uncertain. */
  log(stream: StreamId, window: Window): Iterable<Placed<LogRecord>>;
  /** The readings among them, of these tags alone, or of all: where there are few tags, for a small part of the log's cost. */
  readings(stream: StreamId, window: Window, tags?: ReadonlySet<TagName>): Iterable<ReadingTold>;
  /** The fold's state after the newest record, those that wait for a sync among them; undefined before the first. */
  state(stream: StreamId): DeriveState | undefined;
}

/** Half-open [start, end), corrected time. */
export interface Window {
  readonly start: EpochMs;
  readonly end: EpochMs;
}

/** Small secrets and identity, in a database of their own (mode 0600) with a second copy. Durable and copied when they answer. */
export interface IdentityCalls {
  /** `is_lost`: an earlier identity was lost with its key, and no booth has been bound under this one yet. Absent: no. */
  gateway(): { readonly gateway_id: string; readonly credential: string | null; readonly is_lost?: boolean };
  setCredential(credential: string | null): void;
  /** The provisioning row of a booth, as its state machine wrote it; undefined: none yet. */
  provisioning(booth: BoothId): unknown;
  setProvisioning(booth: BoothId, row: unknown): void;
  /** What drivers learned of the booth's device, as they wrote it; undefined: nothing yet. Losing it costs a request or two. */
  learned(booth: BoothId): unknown;
  /** Not in the copy until something else is written. */
  setLearned(booth: BoothId, what: unknown): void;
  /** Small things that outlive the process, each under a name; undefined: nothing yet. */
  kept(name: string): unknown;
  keep(name: string, what: unknown): void;
  /** Another credential takes the present one's place, and what is kept under the name changes with it, or neither does. */
  promote(credential: string, name: string, what: unknown): void;
}

export type Identity = Remote<IdentityCalls>;

/** Records that others can't be read without. */
export interface ContextRecords {
  /** Consecutive in seq; empty: none up to `looked_to`. */
  readonly records: readonly Placed[];
  readonly looked_to: Seq;
}

/** What stands next in a log. */
export interface NextChunk {
  /** null: it is to be had record by record, up to `to`. */
  readonly chunk: LogChunk | null;
  readonly to: Seq;
}

export type NextChunks = readonly [NextChunk, ...NextChunk[]];

/** A record that the service will never take. */
export interface Refusal {
  readonly seq: Seq;
  /** The service's, in its words. */
  readonly reason: string;
  /** The service doesn't know that it refused this very record: the stream's next commit logs a gap record that says so. */
  readonly declare: boolean;
}
