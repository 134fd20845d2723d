import type { Milliseconds } from "../domain/units.ts";
import { isKnownZone } from "../domain/time-zone.ts";
import { lengthOf, overlapOf } from "../domain/working-hours.ts";
import type { Window } from "../store/port.ts";
import { epochsIn, timeIn, workingTime } from "./rules.ts";
import { timeLineOf, type FigureCoverage, type Source } from "./source.ts";

export interface Utilization {
  /** In use in the window, all hours. */
  readonly in_use_ms: Milliseconds;
  /** Length of the facility's working hours in the window, clipped to now. */
  readonly working_ms: Milliseconds;
  /** In use within working hours. */
  readonly in_use_working_ms: Milliseconds;
  /** In use outside of them. */
  readonly overtime_ms: Milliseconds;
  /** 0..100; null where the window has no working time. */
  readonly utilization_pct: number | null;
  /** False: the zone isn't known and UTC was taken. */
  readonly tz_known: boolean;
  readonly coverage: FigureCoverage;
}

/** In-use time against the facility's working hours, each moment by the mode sets, hours and zone that held then. */
export function utilization(source: Source, window: Window): Utilization {
  const line = timeLineOf(source, window);
  const in_use = timeIn(line, "in_use");
  const shifts = workingTime(line.state, line.window);
  const [in_use_ms, working_ms] = [lengthOf(in_use), lengthOf(shifts)];
  const in_use_working_ms = overlapOf(in_use, shifts);
  return {
    in_use_ms,
    working_ms,
    in_use_working_ms,
    overtime_ms: in_use_ms - in_use_working_ms,
    utilization_pct: working_ms === 0 ? null : (in_use_working_ms / working_ms) * 100,
    tz_known: epochsIn(line.state, line.window).every(({ tz }) => isKnownZone(tz)),
    coverage: line.coverage,
  };
}
