import type { FilterLimits, FilterType } from "../../domain/booth.ts";
import type { FilterEntry } from "../../domain/entry.ts";
import type { FilterService } from "../../domain/record.ts";
import type { EpochMs, Milliseconds, Seq, TagName } from "../../domain/units.ts";
import type { RecentState } from "../hours.ts";
import type { SliceFold } from "../timeline/events.ts";
import type { DeepReadonly } from "../timeline/state.ts";
import { MINUTE_MS } from "../../domain/time.ts";

/** What is remembered of the filters that are fitted. */
export interface FiltersState {
  filters: Partial<Record<FilterType, FilterState>>;
  /** Pressure drops and fan speeds by tag, as far back as the open spray stage needs them. */
  samples: Record<TagName, Sampled[]>;
  /** The scales by which pressure drops were converted to Pa; absent: 1. */
  pressure_scales?: Partial<Record<FilterType, number>>;
  /** The last entries of people, oldest first; absent: there was none yet. */
  entries?: EntryState[];
}

/** What the filters' slice works on: it looks at the last day and a half too. */
export type FiltersFold = SliceFold<FiltersState, RecentState>;

/** What a tag said from an instant on; null: nothing good. */
export type Sampled = [at: EpochMs, value: number | null];

/** A technician's entry, with what became of it. */
export interface EntryState {
  id: string;
  seq: Seq;
  filter: FilterType;
  by: string;
  entered_at: EpochMs;
  installed_at: EpochMs;
  outcome: FilterEntry["outcome"];
}

/** A time over a limit. */
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

/** A filter that goes in at `installed_at`. */
export function newInstallation(
  installed_at: EpochMs,
  source: Installation["source"],
  { limits, flagged }: { limits: FilterLimits; flagged: boolean },
): Installation {
  return {
    installed_at,
    removed_at: null,
    source,
    flagged,
    known: source !== "assumed",
    in_use_ms: 0,
    spray_ms: 0,
    cycles: 0,
    limits,
    plc: null,
    overuse: [],
    overuse_in_use_ms: 0,
    overuse_cycles: 0,
    pressure: { baseline: null, drops: [] },
  };
}

/** In-use minutes since installation: the PLC's where it counts them, else ours; null: not known. */
export function usedMinutes(filter: DeepReadonly<Installation>): number | null {
  if (filter.plc !== null) return filter.plc.offset + filter.plc.value;
  return filter.known ? filter.in_use_ms / MINUTE_MS : null;
}

/** The filter as it is, then as it would be had its last entry not been made, then without the last two: all go on side by side. */
export function withAndWithout(filter: FilterState | undefined): FilterState[] {
  const all: FilterState[] = [];
  for (let one = filter ?? null; one !== null; one = one.without_entry) all.push(one);
  return all;
}

/** A technician's entry can be undone this long. */
export const UNDO_MS: Milliseconds = 24 * 3_600_000;

/** Entries in a row that can be taken back, the last one first: nobody errs more often in a day. */
const MAX_KEPT = 4;

/** What the filter would be without the entry that is about to be made at `now`. */
export function withoutEntry(filter: FilterState, now: EpochMs): FilterState {
  const copy = JSON.parse(JSON.stringify(filter)) as FilterState;
  if (copy.entry === null || now - copy.entry.at > UNDO_MS) copy.without_entry = null;
  const deepest = withAndWithout(copy)[MAX_KEPT - 1];
  if (deepest !== undefined) deepest.without_entry = null;
  // The entry has the filter before reported, if that is still to be done.
  copy.reported = true;
  return copy;
}

/** The entry that put the present filter in never was. False: what would be without it isn't kept. */
export function takeBack(filter: FilterState): boolean {
  const { without_entry } = filter;
  if (without_entry === null) return false;
  Object.assign(filter, { without_entry: null }, without_entry);
  return true;
}
