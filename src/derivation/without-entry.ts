import type { EpochMs, Milliseconds } from "../domain/units.ts";
import type { FilterState } from "./installation.ts";

/** A technician's entry can be undone this long. */
export const UNDO_MS: Milliseconds = 24 * 3_600_000;
/** Entries in a row that can be taken back, the last one first: nobody errs more often in a day. */
const MAX_KEPT = 4;

/** The filter as it is, then as it would be had its last entry not been made, then without the last two: all go on side by side. */
export function withAndWithout(filter: FilterState | undefined): FilterState[] {
  const all: FilterState[] = [];
  for (let one = filter ?? null; one !== null; one = one.without_entry) all.push(one);
  return all;
}

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
