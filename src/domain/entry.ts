import type { Text } from "./message.ts";
import type { FilterType } from "./booth.ts";
import type { EpochMs, Milliseconds } from "./units.ts";

/** A person's statement that a filter was changed. */
export interface FilterChange {
  /** Id that the caller makes, e.g. a UUID. A repeated id is the same entry, even if the first answer was lost. */
  readonly id: string;
  readonly filter: FilterType;
  /** Time between the change and its entry, at most 36 h. The booth's use since the change counts for the new filter. */
  readonly ago_ms: Milliseconds;
  /** The person who entered it; "": not stated. */
  readonly by: string;
}

/** The outcome of an entry. */
export interface FilterEntry {
  readonly id: string;
  readonly filter: FilterType;
  readonly by: string;
  /** Time of the entry, in corrected time. */
  readonly entered_at: EpochMs;
  readonly installed_at: EpochMs;
  /**
   * - entered: the new filter counts as installed.
   * - same_change: another entry or the PLC's reset already reported this change.
   * - older: the present filter was installed after this change.
   * - not_fitted: the booth has no such filter.
   * - undone: the entry was withdrawn.
   */
  readonly outcome: "entered" | "same_change" | "older" | "not_fitted" | "undone";
  /** Time until which the entry can be withdrawn; null: it can't be withdrawn. */
  readonly undo_until: EpochMs | null;
}

/**
 * The answer to an entry. refused: nothing was written, because the entry is invalid. waiting: the entry is in the tail file, but the store
 * can't commit at the moment.
 */
export type EntryAnswer =
  | { readonly kind: "done"; readonly entry: FilterEntry }
  | { readonly kind: "refused"; readonly reason: Text }
  | { readonly kind: "waiting" };

/** A text about the new filter. The person's name stays on this gateway, where it can be erased; the rest is also logged. */
export interface FilterLabel {
  /** Id of the entry that reported the filter change. */
  readonly id: string;
  readonly filter: FilterType;
  readonly installed_at: EpochMs;
  readonly by: string;
  /** Part number of the filter; "": not entered. */
  readonly part_number: string;
  readonly note: string;
}
