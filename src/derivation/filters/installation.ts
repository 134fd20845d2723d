import type { FilterLimits } from "../../domain/booth.ts";
import { DAY_MS, MINUTE_MS } from "../../domain/time.ts";
import type { EpochMs, Milliseconds } from "../../domain/units.ts";
import type { FilterState, Installation } from "../state.ts";

/** Creates a filter that is installed at `installed_at`. */
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

/** Returns the minutes in use since installation, by the PLC's counter or else by the box; null: unknown. */
export function usedMinutes({ plc, known, in_use_ms }: Installation): number | null {
  if (plc !== null) return plc.offset + plc.value;
  return known ? in_use_ms / MINUTE_MS : null;
}

/** Returns the filter position as it is, then without its last entry, then without its last two entries, and so on. */
export function withAndWithout(filter: FilterState | undefined): FilterState[] {
  const all: FilterState[] = [];
  for (let one = filter ?? null; one !== null; one = one.without_entry) all.push(one);
  return all;
}

/** Time for which a person's entry can be undone. */
export const UNDO_MS: Milliseconds = DAY_MS;

/** Maximum number of consecutive entries that can be undone, starting with the last. More mistakes in a day are unlikely. */
const MAX_KEPT = 4;

/** Copies the position as it would be without the entry that is made at `now`. */
export function withoutEntry(filter: FilterState, now: EpochMs): FilterState {
  const copy = JSON.parse(JSON.stringify(filter)) as FilterState;
  if (copy.entry === null || now - copy.entry.at > UNDO_MS) copy.without_entry = null;
  const deepest = withAndWithout(copy)[MAX_KEPT - 1];
  if (deepest !== undefined) deepest.without_entry = null;
  // Marks this copy as reported, because the position with the entry writes the removed filter's record.
  copy.reported = true;
  return copy;
}

/** Replaces the position by its copy without the last entry. Returns false if no such copy exists. */
export function restoreWithoutEntry(filter: FilterState): boolean {
  const { without_entry } = filter;
  if (without_entry === null) return false;
  Object.assign(filter, { without_entry: null }, without_entry);
  return true;
}
