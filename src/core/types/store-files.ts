import type { BoothId, Seq, StreamId } from "./units.ts";

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
    readonly missing: number;
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
