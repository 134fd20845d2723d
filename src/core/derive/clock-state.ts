import type { BootId, EpochMs, Milliseconds } from "../types/units.ts";
import type { BootPlace } from "./placing.ts";

/** Where the fold stands in time. */
export interface ClockState {
  /** "": no record yet. */
  boot: BootId;
  mono: Milliseconds;
  /** Corrected time of the present instant; never runs back. */
  now: EpochMs;
  /** Corrected time = mono + offset in this boot, unless that would run back. */
  offset: Milliseconds;
  /** Whether a clock record of this boot has given the offset; else it comes from the first record's raw time. */
  placed: boolean;
  /** A witness vouched for the offset. */
  synced: boolean;
  /** The boot was never synced: where it stands in time is inferred. */
  unsure: boolean;
  /** Boots that waited for their place and whose records come next. */
  places: BootPlace[];
}
