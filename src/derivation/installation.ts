import type { FilterLimits } from "../domain/booth.ts";
import type { FilterService } from "../domain/record.ts";
import type { EpochMs, Milliseconds, Seq } from "../domain/units.ts";

export interface Episode {
  since: EpochMs;
  /** null: running. */
  until: EpochMs | null;
  /** It began while nothing was seen: `since` is the first good reading after that. */
  flagged: boolean;
}

/** Pressure drops of a filter's spray stages. */
export interface PressureState {
  /** Clean drop, Pa; null: not known yet. */
  baseline: number | null;
  /** The last three. */
  drops: { end: EpochMs; pascal: number }[];
}

export interface Installation {
  installed_at: EpochMs;
  removed_at: EpochMs | null;
  source: FilterService["value"]["source"];
  flagged: boolean;
  /** False: it was there at first contact, so what the booth did before is not known. */
  known: boolean;
  in_use_ms: Milliseconds;
  spray_ms: Milliseconds;
  cycles: number;
  limits: FilterLimits;
  /** When these came into force; absent: with the filter. */
  limits_from?: EpochMs;
  /** The PLC's own minutes: usage = offset + value. */
  plc: { offset: number; value: number } | null;
  /**
   * The counter was first read then, and `offset` holds our own time in use up to then, as far as that is settled: the rest is added as
   * it settles. Absent: it counts from its own beginning.
   */
  own_until?: EpochMs;
  /**
   * Its removal was entered by hand: what the PLC's counter showed between the removal and then, when it had last been polled, belongs to
   * the next filter. Absent: the counter was reset with it.
   */
  counted_until?: EpochMs;
  overuse: Episode[];
  overuse_in_use_ms: Milliseconds;
  overuse_cycles: number;
  pressure: PressureState;
}

/** A filter type's place: what is in it, and what was before. */
export interface FilterState {
  current: Installation;
  /** The one before, while its record may still change. */
  former: Installation | null;
  /** The former's maintenance record has been written. */
  reported: boolean;
  /** When the PLC last reported a change. */
  last_reset: EpochMs | null;
  /** The reset button was seen; its counter hasn't fallen yet. */
  awaits_fall: boolean;
  /** The technician's entry that made `current`; it can be undone. */
  entry: { seq: Seq; at: EpochMs } | null;
  /**
   * What all of this would be had that entry not been made; it takes in whatever comes, as this does. null: the entry can't be
   * taken back.
   */
  without_entry: FilterState | null;
}
