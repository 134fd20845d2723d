import type { Text } from "./message.ts";
import type { FilterType } from "./booth.ts";
import type { EpochMs, Milliseconds } from "./units.ts";

/** A person's word that a filter was changed. */
export interface FilterChange {
  /** Made by the caller, e.g. a UUID. A repeated id is the same entry, whether or not the first answer arrived. */
  readonly id: string;
  readonly filter: FilterType;
  /** Time between the change and the entry, at most 36 h. The booth's use since the change counts for the new filter. */
  readonly ago_ms: Milliseconds;
  /** The person who entered it; "": not stated. */
  readonly by: string;
}

/** The outcome of an entry. */
export interface FilterEntry {
  readonly id: string;
  readonly filter: FilterType;
  readonly by: string;
  /** Corrected time. */
  readonly entered_at: EpochMs;
  readonly installed_at: EpochMs;
  /**
   * entered: a new filter is in; same_change: it is one with another entry or with the PLC's reset; older: the filter that is in
   * went in after it; not_fitted: the booth has no such filter; undone: withdrawn.
   */
  readonly outcome: "entered" | "same_change" | "older" | "not_fitted" | "undone";
  /** Until then it can be withdrawn; null: it can't, or not any more. */
  readonly undo_until: EpochMs | null;
}

/** refused: nothing was written, as it would be wrong. waiting: taken, but the store can't commit at the moment. */
export type EntryAnswer =
  | { readonly kind: "done"; readonly entry: FilterEntry }
  | { readonly kind: "refused"; readonly reason: Text }
  | { readonly kind: "waiting" };

/** A note about the new filter. It stays on this gateway, because the interface has no field for it. */
export interface FilterLabel {
  /** The entry's, which the change was made with. */
  readonly id: string;
  readonly filter: FilterType;
  readonly installed_at: EpochMs;
  readonly by: string;
  /** "": nothing was written. */
  readonly part_number: string;
  readonly note: string;
}
