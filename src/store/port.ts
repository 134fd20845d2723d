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
  /** Problems beyond single rows. */
  readonly problems: readonly string[];
  readonly streams: readonly {
    readonly stream: StreamId;
    readonly booth: BoothId;
    readonly oldest_seq: Seq;
    readonly newest_seq: Seq;
    readonly acked_seq: Seq;
    readonly damaged_rows: number;
    readonly damaged_facts: number;
    /** Damaged snapshots, from which the log could be folded again. */
    readonly damaged_states: number;
    /** Records that are neither stored nor noted as lost. */
    readonly missing: number;
    /** Records noted as lost by damage. */
    readonly quarantined: number;
  }[];
}

/** The new store that a salvage or an import made. */
export interface StoreMade {
  readonly log_rows: number;
  readonly facts: number;
  readonly streams: readonly {
    readonly stream: StreamId;
    readonly booth: BoothId;
    readonly newest_seq: Seq;
    /** Records of the kept range that were not found. */
    readonly missing: number;
    /** First seq that is sent to the service under another name: after the last record found. */
    readonly renew_from: Seq;
  }[];
  /** The previous store's file; null: there was none. */
  readonly aside: string | null;
}

export interface StoreCopy {
  readonly file: string;
  readonly bytes: number;
}

/** Called during long work with pages or rows done and their total. */
export type StoreProgress = (done: number, of: number) => void;

/** Work on a data folder's store as a whole. Calls that replace the store throw while an agent runs. */
export interface StoreFiles {
  check(dataDir: string, progress: StoreProgress): StoreCheck;
  salvage(dataDir: string, progress: StoreProgress): StoreMade;
  /** Writes the rows as JSON lines, each with its checksum. Throws if the file exists. */
  export(dataDir: string, file: string, progress: StoreProgress): StoreCopy;
  /** Makes a store from an export or a backup. */
  import(dataDir: string, file: string, progress: StoreProgress): StoreMade;
  /** Copies the store, also while the agent runs. Rejects if the file exists. */
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
  /** The fold's state after the last record, as far as it describes the present. */
  readonly present: DeriveState;
  readonly commit_ms: Milliseconds;
  /** Oldest kept seq. Earlier records were acked and deleted by age, or are declared by a gap record. */
  readonly oldest_seq: Seq;
  /** As in StreamInfo. */
  readonly renew_from?: Seq;
  readonly storage: StorageStatus;
}

/** The same calls from another thread: each returns a promise, which rejects if the call throws there. */
type Remote<Calls> = {
  readonly [Name in keyof Calls]: Calls[Name] extends (...args: infer Args) => infer Answer
    ? (...args: Args) => Promise<Answer>
    : never;
};

/**
 * The calls of the only writer, which lives in the store thread (`thread/writer.ts`). They run in order. Each is one transaction and is
 * durable when it returns, except `ack`. A call that fails has changed nothing and may be repeated.
 *
 * A stream is the log of one booth: records and the facts made of them share one count of sequence numbers, which `ingest` assigns.
 * oldest_seq .. acked_seq .. sendable_seq .. newest_seq: deleted before the first, confirmed by the service up to the second, with a
 * confirmed time up to the third.
 */
export interface StoreCalls {
  /** Returns the booth's stream, and creates it if it doesn't exist. */
  openStream(booth: BoothId): StreamInfo;
  /** Appends in the given order, folds, appends the facts, moves last_take. Takes already seen change nothing. */
  ingest(stream: StreamId, records: readonly LogRecord[], lastTake: TakeNumber): Ingested;
  /** Returns records and facts from seq on up to sendable_seq, in seq order, at most `limit`. A hole in the seqs was deleted from a full store. */
  read(stream: StreamId, from: Seq, limit: number): readonly Placed[];
  /**
   * As read, up to newest_seq. Records after sendable_seq wait for a confirmed clock: their `time` is the gateway's own, and changes once
   * the clock is confirmed. Their seqs don't change.
   */
  readCommitted(stream: StreamId, from: Seq, limit: number): readonly Placed[];
  /**
   * Returns the first parameter and clock records from seq on up to `end`, without those that wait for a sync, and the seq up to which it
   * searched: some hundred rows at most.
   */
  contextRecords(stream: StreamId, from: Seq, end: Seq): ContextRecords;
  /**
   * Returns up to eight consecutive chunks from seq on, up to `end`, which can be sent without unpacking. The last one is null if its range
   * must be read record by record.
   */
  chunks(stream: StreamId, from: Seq, end: Seq): NextChunks;
  /**
   * Moves the acked cursor forward, never back. It is stored with the next commit or the close, because a lost ack costs only a resend,
   * and each commit wears the flash.
   */
  ack(stream: StreamId, upTo: Seq): StreamInfo;
  /** Moves the acked cursor back before `from`, so that those records are sent again. */
  resend(stream: StreamId, from: Seq): StreamInfo;
  /** Sets records aside that the service will never take, with its reasons. Repeating it changes nothing. */
  setAside(stream: StreamId, refusals: readonly Refusal[]): RefusedRecords;
  /** Returns the records of the stream that were set aside. */
  refused(stream: StreamId): RefusedRecords;
  info(stream: StreamId): StreamInfo;
  /** Returns the fold's present state. */
  state(stream: StreamId): DeriveState;
}

export interface Store extends Remote<StoreCalls> {
  close(): Promise<void>;
}

/** Folds a stream's kept log again and replaces the stored facts by the result, while ingest continues. */
export interface RebuildCalls {
  /** Starts a rebuild, unless one is running. `current`: with today's parameters. Throws with the reason if it can't be done. */
  start(stream: StreamId, current: boolean): RebuildProgress;
  /** Returns the progress; null: no rebuild since the agent's start. */
  progress(stream: StreamId): RebuildProgress | null;
}

export type Rebuilds = Remote<RebuildCalls>;

/** A report from its thread. The body is UTF-8, in parts that are made on demand. A part is valid until the next one is requested. */
export interface ReportParts {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AsyncIterable<Uint8Array>;
}

/** A stage of the booth, with the fields that reports need. */
export type BoothStage = Omit<StageSpan, "raw">;

/** Read-only access to durable records, for reports. Synchronous: reports run on a thread of their own. */
export interface StoreReader {
  streams(): readonly StreamInfo[];
  /** Facts of a kind whose [start, end] touches the window, by start, without replaced ones; last those of a boot that waits for a sync. */
  facts<K extends Fact["kind"]>(
    stream: StreamId,
    kind: K,
    window: Window,
  ): readonly Stored<Extract<Fact, { kind: K }>>[];
  /** Closed stages of the booth (bay 0) that overlap or touch the window, by start. */
  stages(stream: StreamId, window: Window): readonly BoothStage[];
  /** Log records by seq whose corrected time is in the window. Those that wait for a sync have a provisional time and are uncertain. */
  log(stream: StreamId, window: Window): Iterable<Placed<LogRecord>>;
  /** The readings among them, of these tags or of all. With few tags this costs a small part of reading the log. */
  readings(stream: StreamId, window: Window, tags?: ReadonlySet<TagName>): Iterable<Placed<Reading>>;
  /** The fold's state after the newest record, including those that wait for a sync; undefined before the first. */
  state(stream: StreamId): DeriveState | undefined;
}

/** Half-open [start, end), corrected time. */
export interface Window {
  readonly start: EpochMs;
  readonly end: EpochMs;
}

/** Identity and small secrets, in a database of their own (mode 0600) with a second copy. Durable and copied when a call returns. */
export interface IdentityCalls {
  /** `is_lost`: an earlier identity was lost with its key, and no booth is bound under this one yet. */
  gateway(): { readonly gateway_id: string; readonly credential: string | null; readonly is_lost?: boolean };
  setCredential(credential: string | null): void;
  /** Returns the provisioning row of a booth, as its state machine wrote it; undefined: none yet. */
  provisioning(booth: BoothId): unknown;
  setProvisioning(booth: BoothId, row: unknown): void;
  /** Returns facts about the booth's device that drivers stored; undefined: none yet. Losing them costs a request or two. */
  learned(booth: BoothId): unknown;
  /** Copied only with the next other write. */
  setLearned(booth: BoothId, what: unknown): void;
  /** Returns a value stored by name; undefined: none yet. */
  kept(name: string): unknown;
  keep(name: string, what: unknown): void;
  /** Replaces the credential and the value under the name in one transaction. */
  promote(credential: string, name: string, what: unknown): void;
}

export type Identity = Remote<IdentityCalls>;

/** Records without which later ones can't be interpreted. */
export interface ContextRecords {
  /** Consecutive records; empty: none up to `looked_to`. */
  readonly records: readonly Placed[];
  readonly looked_to: Seq;
}

/** The next part of a log. */
export interface NextChunk {
  /** null: the part up to `to` must be read record by record. */
  readonly chunk: LogChunk | null;
  readonly to: Seq;
}

export type NextChunks = readonly [NextChunk, ...NextChunk[]];

/** A record that the service will never take. */
export interface Refusal {
  readonly seq: Seq;
  /** The service's reason, in its words. */
  readonly reason: string;
  /** The service doesn't know that it refused this record: the stream's next commit logs a gap record for it. */
  readonly declare: boolean;
}
