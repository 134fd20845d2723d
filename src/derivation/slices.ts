import type { Mode } from "../domain/booth.ts";
import type { EpochMs } from "../domain/units.ts";
import { addCheckedTime } from "./checks.ts";
import { unitedSlices } from "./combine.ts";
import { useFilters } from "./filters.ts";
import { addTime } from "./hours.ts";
import { isIn } from "./modes.ts";
import { remember } from "./recent.ts";
import type { BayState, Fold, Slice } from "./state.ts";

/** The bay was in `mode` from where it was settled to `to`, for good. */
export function settle(fold: Fold, bay: BayState, { mode, to }: { mode: Mode; to: EpochMs }): void {
  while (bay.settled < to) {
    const slice = nextSlice(bay, mode, to);
    bay.settled = slice.to;
    if (fold.state.booth === null) accrue(fold, slice);
    else {
      bay.slices.push(slice);
      for (const united of unitedSlices(fold)) accrue(fold, united);
    }
  }
}

/** Up to `to`, but not across the border of an inferred span. */
function nextSlice(bay: BayState, mode: Mode, to: EpochMs): Slice {
  const { settled: from, inferred } = bay;
  if (inferred === null || to <= inferred.from) return { mode, from, to, inferred: false };
  if (from < inferred.from) return { mode, from, to: inferred.from, inferred: false };
  bay.inferred = null;
  if (from >= inferred.to) return { mode, from, to, inferred: false };
  if (to < inferred.to) bay.inferred = inferred;
  return { mode, from, to: Math.min(to, inferred.to), inferred: true };
}

/** Everything that grows with the booth's time in a mode. */
function accrue(fold: Fold, slice: Slice): void {
  const in_use = isIn(fold.state.parameters?.mode_sets.in_use, slice.mode);
  useFilters(fold, slice, in_use);
  addTime(fold, slice);
  remember(fold.state, slice);
  addCheckedTime(fold.state, slice.mode, slice.to - slice.from);
}
