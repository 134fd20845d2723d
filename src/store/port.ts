import type { RefusedRecords, StorageStatus } from "../domain/status.ts";
import type { BoothId, EpochMs, Milliseconds, Seq, StreamId, TagName, TakeNumber } from "../domain/units.ts";
import type { DeriveState } from "../derivation/state.ts";
import type { StageSpan } from "../derivation/fold.ts";
import type { Fact, LogChunk, LogRecord, Placed, Reading, Stored } from "../domain/record.ts";
import type { RebuildProgress } from "../domain/rebuild.ts";
import type { LogReach } from "../domain/booth-state.ts";

/** The result of checking a store's file. */
export interface StoreCheck {
  readonly file: string;
  readonly bytes: number;
  readonly sound: boolean;
  /** Problems beyond single damaged rows. */
  readonly problems: readonly string[];
  readonly streams: readonly {
    readonly stream: StreamId;
    readonly booth: BoothId;
    readonly oldest_seq: Seq;
    readonly newest_seq: Seq;
    readonly acked_seq: Seq;
    readonly damaged_rows: number;
    readonly damaged_facts: number;
    /** Number of damaged snapshots (states from which the log could be folded again). */
    readonly damaged_states: number;
    /** Number of records that are neither stored nor noted as lost. */
    readonly missing: number;
    /** Number of records noted as lost by damage. */
    readonly quarantined: number;
  }[];
}

/** A description of the new store that a salvage or an import made. */
export interface StoreMade {
  readonly log_rows: number;
  readonly facts: number;
  readonly streams: readonly {
    readonly stream: StreamId;
    readonly booth: BoothId;
    readonly newest_seq: Seq;
    /** Number of records in the kept range that were not found. */
    readonly missing: number;
    /** First seq that is sent to the service under a new stream name: the one after the last record found. */
    readonly renew_from: Seq;
  }[];
  /** Path of the previous store's file; null: there was none. */
  readonly aside: string | null;
}

export interface StoreCopy {
  readonly file: string;
  readonly bytes: number;
}

/** Called during long work with the number of pages or rows done and their total. */
export type StoreProgress = (done: number, of: number) => void;

/** Functions that work on a data folder's store as a whole. Functions that replace the store throw while an agent is running. */
export interface StoreFiles {
  check(dataDir: string, progress: StoreProgress): StoreCheck;
  salvage(dataDir: string, progress: StoreProgress): StoreMade;
  /** Writes the store's rows to a file as JSON lines, each with its checksum. Throws if the file exists. */
  export(dataDir: string, file: string, progress: StoreProgress): StoreCopy;
  /** Makes the data folder's store from an export or a backup. */
  import(dataDir: string, file: string, progress: StoreProgress): StoreMade;
  /** Copies the store, even while the agent is running. Rejects if the file exists. */
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
  /** The fold's state after the last record, as far as later records can't change it. */
  readonly present: DeriveState;
  readonly commit_ms: Milliseconds;
  /** Oldest kept seq. Earlier records were deleted: by age after an ack, or for space, which a gap record reports. */
  readonly oldest_seq: Seq;
  /** See StreamInfo. */
  readonly renew_from?: Seq;
  readonly storage: StorageStatus;
}

/** The same calls, made from another thread. Each call returns a promise, which rejects if the call throws in its thread. */
type Remote<Calls> = {
  readonly [Name in keyof Calls]: Calls[Name] extends (...args: infer Args) => infer Answer
    ? (...args: Args) => Promise<Answer>
    : never;
};

/**
 * Calls of the only writer, which runs in the store thread (`thread/writer.ts`), in order. Each call is one transaction and is durable when
 * it returns, except `ack`. A call that fails has changed nothing and may be repeated.
 *
 * A stream is the log of one booth. Records, and the facts made of them, share one count of sequence numbers, which `ingest` assigns.
 * Records before oldest_seq are deleted. The service has confirmed all records up to acked_seq. All records up to sendable_seq have a
 * confirmed time. newest_seq is the last record.
 */
export interface StoreCalls {
  /** Returns the booth's stream, and creates it if it doesn't exist. */
  openStream(booth: BoothId): StreamInfo;
  /**
   * Appends records in the given order, folds them, appends the facts and updates last_take. Ignores takes (tail entries) that were already
   * appended.
   */
  ingest(stream: StreamId, records: readonly LogRecord[], lastTake: TakeNumber): Ingested;
  /**
   * Returns records and facts in seq order from `from` up to sendable_seq, at most `limit`. Missing seqs were deleted from a full store.
   */
  read(stream: StreamId, from: Seq, limit: number): readonly Placed[];
  /**
   * Returns records and facts like `read`, but up to newest_seq. Records after sendable_seq wait for a confirmed clock. Their `time` is
   * provisional and changes once the clock is confirmed, but their seqs stay the same.
   */
  readCommitted(stream: StreamId, from: Seq, limit: number): readonly Placed[];
  /**
   * Returns the first context records (parameters and clock records) from `from` to `end`, without those that wait for a clock sync. Also
   * returns the seq up to which it searched: some hundred rows at most.
   */
  contextRecords(stream: StreamId, from: Seq, end: Seq): ContextRecords;
  /**
   * Returns up to eight consecutive chunks from `from` to `end`, which can be sent without unpacking. The last one is null if its range
   * must be read record by record.
   */
  chunks(stream: StreamId, from: Seq, end: Seq): NextChunks;
  /**
   * Moves the acked cursor forward, never back. The cursor is stored with the next commit or when the store closes. A lost ack costs only a
   * resend, but each commit wears out the flash.
   */
  ack(stream: StreamId, upTo: Seq): StreamInfo;
  /** Moves the acked cursor back to before `from`, so that later records are sent again. */
  resend(stream: StreamId, from: Seq): StreamInfo;
  /** Sets aside records that the service will never accept, with its reasons. Another call changes nothing. */
  setAside(stream: StreamId, refusals: readonly Refusal[]): RefusedRecords;
  /** Returns the records of the stream that were set aside because the service rejected them permanently. */
  refused(stream: StreamId): RefusedRecords;
  info(stream: StreamId): StreamInfo;
  /** Returns the present state of the fold. */
  state(stream: StreamId): DeriveState;
}

export interface Store extends Remote<StoreCalls> {
  close(): Promise<void>;
}

/** Calls that fold a stream's kept log again and replace the stored facts by the result, while new records are ingested. */
export interface RebuildCalls {
  /** Starts a rebuild unless one is running. `current`: uses today's parameters. Throws with the reason if a rebuild isn't possible. */
  start(stream: StreamId, current: boolean): RebuildProgress;
  /** Returns the progress; null: no rebuild was started since the agent's start. */
  progress(stream: StreamId): RebuildProgress | null;
}

export type Rebuilds = Remote<RebuildCalls>;

/**
 * A report from the reports thread. The body is UTF-8 in parts that are made on demand. A part is valid until the next one is requested.
 */
export interface ReportParts {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AsyncIterable<Uint8Array>;
}

/** A stage of the booth (time in one mode), with only the fields that reports need. */
export type BoothStage = Omit<StageSpan, "raw">;

/** Read-only access to durable records, for reports. The calls are synchronous, because reports have a thread of their own. */
export interface StoreReader {
  streams(): readonly StreamInfo[];
  /**
   * Returns facts of a kind whose [start, end] touches the window, by start, without replaced facts. Facts of a boot that waits for a clock
   * sync are last.
   */
  facts<K extends Fact["kind"]>(
    stream: StreamId,
    kind: K,
    window: Window,
  ): readonly Stored<Extract<Fact, { kind: K }>>[];
  /** Returns closed stages of the booth (bay 0) that overlap or touch the window, by start. */
  stages(stream: StreamId, window: Window): readonly BoothStage[];
  /**
   * Returns log records by seq whose corrected time is in the window. Records that wait for a clock sync have a provisional time and are
   * uncertain.
   */
  log(stream: StreamId, window: Window): Iterable<Placed<LogRecord>>;
  /** Returns readings in the window, of these tags or of all tags. With few tags, this costs a small part of reading the whole log. */
  readings(stream: StreamId, window: Window, tags?: ReadonlySet<TagName>): Iterable<Placed<Reading>>;
  /** Returns the fold's state after the newest record, including records that wait for a clock sync; undefined: there is no record. */
  state(stream: StreamId): DeriveState | undefined;
}

/** A half-open range of corrected time: [start, end). */
export interface Window {
  readonly start: EpochMs;
  readonly end: EpochMs;
}

/**
 * Calls for the identity and small secrets, in a separate database (mode 0600) that has a copy. When a call returns, its change is durable
 * in both files.
 */
export interface IdentityCalls {
  /**
   * Returns the gateway's identity. `is_lost`: an earlier identity and its key were lost, and no booth is bound under the new identity yet.
   */
  gateway(): { readonly gateway_id: string; readonly credential: string | null; readonly is_lost?: boolean };
  setCredential(credential: string | null): void;
  /** Returns the provisioning row of a booth, as its state machine wrote it; undefined: no row exists yet. */
  provisioning(booth: BoothId): unknown;
  setProvisioning(booth: BoothId, row: unknown): void;
  /**
   * Returns facts about the booth's device that drivers stored; undefined: nothing stored. If they are lost, a driver needs a few more
   * requests.
   */
  learned(booth: BoothId): unknown;
  /**
   * Stores facts about the booth's device in the database, but not in the database's copy. The next call that updates the copy includes
   * them.
   */
  setLearned(booth: BoothId, what: unknown): void;
  /** Returns a value stored by name; undefined: nothing stored. */
  kept(name: string): unknown;
  keep(name: string, what: unknown): void;
  /** Replaces the credential, and the value stored under the name, in one transaction. */
  promote(credential: string, name: string, what: unknown): void;
}

export type Identity = Remote<IdentityCalls>;

/** Context records: later records can't be interpreted without them. */
export interface ContextRecords {
  /** Consecutive context records; empty: none were found up to `looked_to`. */
  readonly records: readonly Placed[];
  readonly looked_to: Seq;
}

/** The next part of a log to send. */
export interface NextChunk {
  /** Chunk to send; null: the records up to `to` must be read one by one. */
  readonly chunk: LogChunk | null;
  readonly to: Seq;
}

export type NextChunks = readonly [NextChunk, ...NextChunk[]];

/** A record that the service will never accept. */
export interface Refusal {
  readonly seq: Seq;
  /** The service's reason, in its own words. */
  readonly reason: string;
  /** Whether the stream's next commit logs a gap record for it, because the service doesn't know that it rejected this record. */
  readonly declare: boolean;
}
