import { lengthOf, workingIntervals } from "../domain/working-hours.ts";
import type { Milliseconds } from "../domain/units.ts";
import { isOpenSince, report } from "./incidents.ts";
import type { BayState, DeriveState, Fold } from "./state.ts";

/** This much of the working hours may pass unseen. */
const GAP_MS: Milliseconds = 300_000;
/** Longer ones are looked at from their end only, as working hours are dear to compute; shifts come again every week. */
const LOOK_BACK_MS: Milliseconds = 8 * 24 * 3_600_000;

/** Whether the bay hasn't been seen for over 5 min of working hours up to now. */
function gapIsWrong(state: DeriveState, { tag, open, live, good_until }: BayState): boolean {
  const { clock, parameters } = state;
  if (live || open === null || parameters === null || clock.now - good_until <= GAP_MS) return false;
  // The same silence gets no shorter.
  if (isOpenSince(state, { check: "gap", tag_name: tag }, good_until)) return true;
  const window = { start: Math.max(good_until, clock.now - LOOK_BACK_MS), end: clock.now };
  return lengthOf(workingIntervals(parameters.working_hours, parameters.tz, window)) > GAP_MS;
}

/** Time has passed, or the mode is about to be known again. */
export function checkGap(fold: Fold, bay: BayState): void {
  if (!gapIsWrong(fold.state, bay)) return;
  const minutes = GAP_MS / 60_000;
  const logic = { op: "gap", duration_minutes: minutes, working_hours_only: true };
  const reason = `the booth wasn't read for over ${minutes} min of its working hours`;
  report(fold, { tag_name: bay.tag, check: "gap", logic, reason, severity: "warning" });
}
