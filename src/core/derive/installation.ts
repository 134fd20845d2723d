import type { FilterLimits } from "../types/booth.ts";
import type { FilterService } from "../types/record.ts";
import type { EpochMs, Milliseconds } from "../types/units.ts";

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
  /** The PLC's own minutes: usage = offset + value. */
  plc: { offset: number; value: number } | null;
  overuse: Episode[];
  overuse_in_use_ms: Milliseconds;
  overuse_cycles: number;
  pressure: PressureState;
}
