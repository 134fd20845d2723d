import type { BootId, EpochMs, Milliseconds } from "../domain/units.ts";
import type { TakenBack } from "./taken-back.ts";
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
  /** Where the boot stands in time is inferred: it was never synced, or nobody vouches for its first time yet. */
  unsure: boolean;
  /** Mono at which time last moved on by a day at once, less than a day of mono ago; absent: it didn't. */
  leapt?: Milliseconds;
  /** Clock records to come that later ones take back; absent: none. */
  taken_back?: TakenBack[];
  /** Boots that waited for their place and whose records come next. */
  places: BootPlace[];
}
