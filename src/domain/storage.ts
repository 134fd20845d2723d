import { message, type Text } from "./message.ts";
import type { Milliseconds } from "./units.ts";
import { HOUR_MS, DAY_MS, YEAR_MS } from "./time.ts";

/** The limits of one booth's data on the disk. */
export interface StoreBudget {
  /** The booth's share of the store, for the database and the write-ahead log together. */
  readonly max_bytes: number;
  /** Age at which acked log records are deleted. Other records are kept until the space runs out. */
  readonly max_age_ms: Milliseconds;
  /** Age at which filter days, bakes and filter changes are deleted; absent: RECORDS_AGE_MS. */
  readonly records_age_ms?: Milliseconds;
}

/** Five years, the longest time for which the rules of a country require such records (40 CFR 63.11177, COSHH regulation 9). */
export const RECORDS_AGE_MS: Milliseconds = 5 * YEAR_MS;

/** The default limits: 64 MB and 30 days. */
export const DEFAULT_BUDGET: StoreBudget = { max_bytes: 64_000_000, max_age_ms: 30 * DAY_MS };

/** Numbers of log records that are stored or sent together. */
export interface RowSizes {
  /** Number of records at which rows are merged into one row. */
  readonly closed_records: number;
  /**
   * Smallest number of records in a row that is sent as a chunk. Shorter rows are combined into batches, which is less work for both sides.
   */
  readonly least_chunk_records: number;
}

/**
 * Default sizes. A row of 4,000 records needs half as many bytes per record as a row of 500. It covers a quarter of an hour of a busy
 * booth, or a night of a quiet booth.
 */
export const ROW_SIZES: RowSizes = { closed_records: 4_000, least_chunk_records: 1_000 };
/** Shortest time span for estimating a rate. The rate over a shorter time doesn't predict the next days. */
const LEAST_SPAN_MS = HOUR_MS;

/** The fill level of a store, as the estimate of the remaining time needs it. */
interface Fill {
  readonly max_bytes: number;
  readonly used_bytes: number;
  /** Number of records kept, and the number of these that the service hasn't acked. */
  readonly kept: number;
  readonly unacked: number;
  /** Time between the oldest and the newest kept record. */
  readonly kept_ms: Milliseconds;
}

/**
 * Returns the hours until unacked records must be deleted if the service acks none, at the rate of the kept records. Never negative; null:
 * too few records are kept for a rate.
 */
export function hoursToFull({ max_bytes, used_bytes, kept, unacked, kept_ms }: Fill): number | null {
  if (kept <= 0 || used_bytes <= 0 || kept_ms < LEAST_SPAN_MS) return null;
  const unacked_bytes = (used_bytes * Math.min(unacked, kept)) / kept;
  const bytes_per_hour = (used_bytes * HOUR_MS) / kept_ms;
  return Math.max(0, max_bytes - unacked_bytes) / bytes_per_hour;
}

/** Faults between the store and its disk that a retry alone doesn't fix. */
export type StoreFault =
  /** Damage of the file, which must be salvaged into a new one. */
  | "damaged"
  /** Written data may be missing on the disk, even if later syncs succeed. The file must be written again. */
  | "fsync"
  /** The disk is full. */
  | "full"
  /** The file system rejects writes. The file is opened again before the next attempt. */
  | "refused"
  /** A fault that the store cannot repair. */
  | "other";

const KINDS: readonly (readonly [RegExp, StoreFault])[] = [
  [/^(DAMAGED|SQLITE_CORRUPT|SQLITE_NOTADB|SQLITE_IOERR_SHORT_READ)/, "damaged"],
  [/^SQLITE_IOERR_(DIR_)?FSYNC/, "fsync"],
  [/^(SQLITE_FULL|ENOSPC|EDQUOT)/, "full"],
  [/^(SQLITE_READONLY|SQLITE_CANTOPEN|SQLITE_IOERR|EROFS|EIO|EACCES)/, "refused"],
];

/** Returns the fault for an error code of SQLite or the system. */
export function faultOf(code: string): StoreFault {
  return KINDS.find(([pattern]) => pattern.test(code))?.[1] ?? "other";
}

/** Returns a text for people about the fault, with advice. `detail` is the text of the error. */
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
