import type { DeriveState } from "../derivation/state.ts";
import type { ModeSets, WorkingHours } from "../domain/booth.ts";
import { lengthOf, united, workingIntervals, type Interval } from "../domain/time-zone.ts";
import type { ReportRules } from "../domain/parameters.ts";
import type { Milliseconds } from "../domain/units.ts";
import type { Window } from "../store/port.ts";
import type { TimeLine } from "./source.ts";

/** A part of a window in which the rules of reports stayed the same. */
export interface Epoch extends Window {
  readonly mode_sets: ModeSets | null;
  readonly tz: string;
  readonly working_hours: readonly WorkingHours[];
}

/**
 * The window cut where mode sets, zone or working hours changed. Before the first known rules these hold too; and before a
 * facility's hours were first told, its first ones do: the box was installed without them, the facility had them.
 */
export function epochsIn(state: DeriveState, window: Window): Epoch[] {
  const { parameters } = state;
  const now = {
    mode_sets: parameters?.mode_sets ?? null,
    tz: zoneOf(state),
    working_hours: parameters?.working_hours ?? [],
  };
  const changes = withFirstHours(state.rules ?? []);
  if (changes.length === 0) return [{ ...window, ...now }];
  return changes.flatMap(({ from, mode_sets, tz, working_hours }, index) => {
    const start = index === 0 ? window.start : Math.max(window.start, from);
    const end = Math.min(window.end, changes[index + 1]?.from ?? Infinity);
    return end > start ? [{ start, end, mode_sets, tz, working_hours }] : [];
  });
}

function withFirstHours(changes: readonly ReportRules[]): readonly ReportRules[] {
  const told = changes.findIndex(({ working_hours }) => working_hours.length > 0);
  const first = changes[told];
  if (first === undefined) return changes;
  const { tz, working_hours } = first;
  return changes.map((rules, index) => (index < told ? { ...rules, tz, working_hours } : rules));
}

/** The zone now in force; UTC before anything is known. */
export function zoneOf({ parameters }: DeriveState): string {
  return parameters?.tz ?? "UTC";
}

/** The booth's time in a named set of modes, each moment by the set that held then. */
export function timeIn({ spans, state, window }: TimeLine, set: keyof ModeSets): Interval[] {
  const inside: Interval[] = [];
  eachOverlap(spans, epochsIn(state, window), ({ mode, start, end }, epoch) => {
    if (epoch.mode_sets?.[set].includes(mode) !== true) return;
    inside.push({ start: Math.max(start, epoch.start), end: Math.min(end, epoch.end) });
  });
  return inside;
}

/** Calls back for each pair of one of either list that overlap. Both lists are in order, and none in them overlaps the next. */
export function eachOverlap<A extends Interval, B extends Interval>(
  ones: readonly A[],
  others: readonly B[],
  act: (one: A, other: B) => void,
): void {
  let first = 0;
  for (const one of ones) {
    while ((others[first]?.end ?? Infinity) <= one.start) first += 1;
    for (let at = first; at < others.length; at += 1) {
      const other = others[at];
      if (other === undefined || other.start >= one.end) break;
      act(one, other);
    }
  }
}

/** Length of the booth's time in a named set. */
export function msIn(line: TimeLine, set: keyof ModeSets): Milliseconds {
  return lengthOf(timeIn(line, set));
}

/** The facility's working time in the window, each day by the hours and the zone that held then. */
export function workingTime(state: DeriveState, window: Window): Interval[] {
  return united(
    epochsIn(state, window).flatMap(({ start, end, tz, working_hours }) =>
      workingIntervals(working_hours, tz, { start, end }),
    ),
  );
}
