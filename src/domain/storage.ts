import { message, type Text } from "./message.ts";
import type { Milliseconds } from "./units.ts";
import { HOUR_MS, DAY_MS } from "./time.ts";

/** The limits of one booth's data on the disk. */
export interface StoreBudget {
  /** The booth's share of the store: database and write-ahead log together. */
  readonly max_bytes: number;
  /** Acked log records older than this are dropped; others stay until the bytes run out. */
  readonly max_age_ms: Milliseconds;
}

/** 64 MB and 30 days. */
export const DEFAULT_BUDGET: StoreBudget = { max_bytes: 64_000_000, max_age_ms: 30 * DAY_MS };

/** How many of a log's records go together. */
export interface RowSizes {
  /** Put into one row, as soon as there are so many. */
  readonly closed_records: number;
  /** Sent as a chunk: shorter rows go together with others in a batch, which is less work for everybody. */
  readonly least_chunk_records: number;
}

/** A row of 4,000 takes half the bytes per change of one of 500: a quarter of an hour of a busy booth, a night of a quiet one. */
export const ROW_SIZES: RowSizes = { closed_records: 4_000, least_chunk_records: 1_000 };
/** The rate over a shorter time says nothing about the next days. */
const LEAST_SPAN_MS = HOUR_MS;

/** The fill level of a store, as far as the estimate needs it. */
interface Fill {
  readonly max_bytes: number;
  readonly used_bytes: number;
  /** Records kept, and those among them that the service hasn't acked. */
  readonly kept: number;
  readonly unacked: number;
  /** From the oldest kept record to the newest. */
  readonly kept_ms: Milliseconds;
}

/**
 * Returns the hours until unacknowledged records would have to be dropped if none were acknowledged, at the rate of the kept
 * records. Never negative; null if too little is kept for a rate.
 */
export function hoursToFull({ max_bytes, used_bytes, kept, unacked, kept_ms }: Fill): number | null {
  if (kept <= 0 || used_bytes <= 0 || kept_ms < LEAST_SPAN_MS) return null;
  const unacked_bytes = (used_bytes * Math.min(unacked, kept)) / kept;
  const bytes_per_hour = (used_bytes * HOUR_MS) / kept_ms;
  return Math.max(0, max_bytes - unacked_bytes) / bytes_per_hour;
}

/** Faults between the store and its disk that need more than a retry. */
export type StoreFault =
  /** The file is wrong: it is salvaged into a new one. */
  | "damaged"
  /** Written data may not be on the disk, whatever it reports now: the file is written again. */
  | "fsync"
  /** No space is left. */
  | "full"
  /** The file system rejects writes: the file is opened again before the next try. */
  | "refused"
  /** A fault that the store cannot repair. */
  | "other";

const KINDS: readonly (readonly [RegExp, StoreFault])[] = [
  [/^(DAMAGED|SQLITE_CORRUPT|SQLITE_NOTADB|SQLITE_IOERR_SHORT_READ)/, "damaged"],
  [/^SQLITE_IOERR_(DIR_)?FSYNC/, "fsync"],
  [/^(SQLITE_FULL|ENOSPC|EDQUOT)/, "full"],
  [/^(SQLITE_READONLY|SQLITE_CANTOPEN|SQLITE_IOERR|EROFS|EIO|EACCES)/, "refused"],
];

/** By SQLite's or the system's code. */
export function faultOf(code: string): StoreFault {
  return KINDS.find(([pattern]) => pattern.test(code))?.[1] ?? "other";
}

/** Returns the text for people, with advice. `detail` is the error's own text. */
export function faultText(fault: StoreFault, detail: string): Text {
  switch (fault) {
    case "damaged":
      return message("disk.damaged", { detail });
    case "fsync":
      return message("disk.unsure", { detail });
    case "full":
      return message("disk.full", { detail });
    case "refused":
      return message("disk.read_only", { detail });
    case "other":
      return detail;
  }
}
