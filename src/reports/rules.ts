import type { DeriveState } from "../derivation/state.ts";
import type { ModeSets } from "../domain/booth.ts";
import type { ReportRules } from "../domain/parameters.ts";
import { type Interval, lengthOf, united, workingIntervals } from "../domain/time-zone.ts";
import type { Milliseconds } from "../domain/units.ts";
import type { Window } from "../store/port.ts";
import type { TimeLine } from "./source.ts";

/** A part of a window in which the rules of reports don't change. */
export interface Epoch extends Window, Pick<ReportRules, "tz" | "working_hours"> {
  readonly mode_sets: ModeSets | null;
}

/**
 * Splits the window at each change of mode sets, zone or working hours. The first known rules also apply to earlier time. The same is true
 * of the first working hours, because the facility had them before the box knew them.
 */
export function epochsIn(state: DeriveState, window: Window): Epoch[] {
  const { parameters, rules = [] } = state;
  if (rules.length === 0) {
    const { mode_sets = null, working_hours = [] } = parameters ?? {};
    return [{ ...window, mode_sets, tz: zoneOf(state), working_hours }];
  }
  const known = rules.findIndex(({ working_hours }) => working_hours.length > 0);
  return rules.flatMap(({ from, mode_sets, ...own }, index) => {
    const start = index === 0 ? window.start : Math.max(window.start, from);
    const end = Math.min(window.end, rules[index + 1]?.from ?? Infinity);
    const { tz, working_hours } = (index < known ? rules[known] : undefined) ?? own;
    return end > start ? [{ start, end, mode_sets, tz, working_hours }] : [];
  });
}

/** Returns the present time zone; UTC before the first parameters. */
export function zoneOf({ parameters }: DeriveState): string {
  return parameters?.tz ?? "UTC";
}

/** Returns the booth's time in a named set of modes. Each moment is judged by the set in force at that time. */
export function timeIn({ spans, state, window }: TimeLine, set: keyof ModeSets): Interval[] {
  const inside: Interval[] = [];
  eachOverlap(spans, epochsIn(state, window), ({ mode, start, end }, epoch) => {
    if (epoch.mode_sets?.[set].includes(mode) !== true) return;
    inside.push({ start: Math.max(start, epoch.start), end: Math.min(end, epoch.end) });
  });
  return inside;
}

/** Calls a function for each pair of overlapping intervals. Both lists must be in order and without overlaps within themselves. */
export function eachOverlap<A extends Interval, B extends Interval>(
  ones: readonly A[],
  others: readonly B[],
  callback: (one: A, other: B) => void,
): void {
  let first = 0;
  for (const one of ones) {
    while ((others[first]?.end ?? Infinity) <= one.start) first += 1;
    for (let at = first; at < others.length; at += 1) {
      const other = others[at];
      if (other === undefined || other.start >= one.end) break;
      callback(one, other);
    }
  }
}

/** Returns the length of the booth's time in a named set of modes. */
export function msIn(line: TimeLine, set: keyof ModeSets): Milliseconds {
  return lengthOf(timeIn(line, set));
}

/** Returns the facility's working time in the window. Each day is judged by the hours and the zone in force at that time. */
export function workingTime(state: DeriveState, window: Window): Interval[] {
  return united(
    epochsIn(state, window).flatMap(({ start, end, tz, working_hours }) =>
      workingIntervals(working_hours, tz, { start, end }),
    ),
  );
}
