import type { Mode } from "../domain/booth.ts";
import type { Milliseconds } from "../domain/units.ts";
import type { Window } from "../store/port.ts";
import { localBuckets, type BucketUnit } from "./buckets.ts";
import { msIn, timeIn, zoneOf } from "./rules.ts";
import { stateOf, timeLineOf, type FigureCoverage, type Source } from "./source.ts";

export interface RuntimePeriods {
  readonly current_ms: Milliseconds;
  /** Of the period just before, of the same length. */
  readonly previous_ms: Milliseconds;
  /** current - previous; may be negative. */
  readonly delta_ms: Milliseconds;
  readonly coverage: { readonly current: FigureCoverage; readonly previous: FigureCoverage };
}

/** Time in the runtime set in a period and in the one before it. */
export function runtimePeriods(source: Source, current: Window): RuntimePeriods {
  const previous = { start: current.start - (current.end - current.start), end: current.start };
  const [now, before] = [timeLineOf(source, current), timeLineOf(source, previous)];
  const [current_ms, previous_ms] = [msIn(now, "runtime"), msIn(before, "runtime")];
  const coverage = { current: now.coverage, previous: before.coverage };
  return { current_ms, previous_ms, delta_ms: current_ms - previous_ms, coverage };
}

export interface RuntimeBucket extends Window {
  readonly ms: Milliseconds;
}

/**
 * Time in the runtime set, or in the modes named, by local hours, days, weeks or months of the zone now in force. Law: adds up to
 * `runtime`.
 */
export function runtimeSeries(
  source: Source,
  window: Window,
  { unit, modes }: { readonly unit: BucketUnit; readonly modes?: readonly Mode[] | undefined },
): { readonly buckets: readonly RuntimeBucket[]; readonly coverage: FigureCoverage } {
  const line = timeLineOf(source, window);
  const running: readonly Window[] =
    modes === undefined ? timeIn(line, "runtime") : line.spans.filter(({ mode }) => modes.includes(mode));
  let first = 0;
  const buckets = localBuckets(zoneOf(stateOf(source)), line.window, unit).map(({ start, end }): RuntimeBucket => {
    let ms = 0;
    while ((running[first]?.end ?? Infinity) <= start) first += 1;
    for (let at = first; at < running.length; at += 1) {
      const span = running[at];
      if (span === undefined || span.start >= end) break;
      ms += Math.min(span.end, end) - Math.max(span.start, start);
    }
    return { start, end, ms };
  });
  return { buckets, coverage: line.coverage };
}
