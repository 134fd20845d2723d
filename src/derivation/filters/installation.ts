import type { FilterLimits } from "../../domain/booth.ts";
import { DAY_MS, MINUTE_MS } from "../../domain/time.ts";
import type { EpochMs, Milliseconds } from "../../domain/units.ts";
import type { FilterState, Installation } from "../state.ts";

/** Creates a filter that goes in at `installed_at`. */
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

/** Returns the in-use minutes since installation: the PLC's if it counts them, else the box's; null if unknown. */
export function usedMinutes({ plc, known, in_use_ms }: Installation): number | null {
  if (plc !== null) return plc.offset + plc.value;
  return known ? in_use_ms / MINUTE_MS : null;
}

/** Returns the position as it is, then without its last entry, then without the last two, and so on. */
export function withAndWithout(filter: FilterState | undefined): FilterState[] {
  const all: FilterState[] = [];
  for (let one = filter ?? null; one !== null; one = one.without_entry) all.push(one);
  return all;
}

/** How long an entry can be undone. */
export const UNDO_MS: Milliseconds = DAY_MS;

/** Consecutive entries that can be undone, the last one first. More errors in a day are unlikely. */
const MAX_KEPT = 4;

/** Copies the position as it stays without the entry that is made at `now`. */
export function withoutEntry(filter: FilterState, now: EpochMs): FilterState {
  const copy = JSON.parse(JSON.stringify(filter)) as FilterState;
  if (copy.entry === null || now - copy.entry.at > UNDO_MS) copy.without_entry = null;
  const deepest = withAndWithout(copy)[MAX_KEPT - 1];
  if (deepest !== undefined) deepest.without_entry = null;
  // The position with the entry writes the record of the filter before, if that is still to be done.
  copy.reported = true;
  return copy;
}

/** Replaces the position by the one without its last entry. Returns false if that one is not kept. */
export function restoreWithoutEntry(filter: FilterState): boolean {
  const { without_entry } = filter;
  if (without_entry === null) return false;
  Object.assign(filter, { without_entry: null }, without_entry);
  return true;
}
