import type { Mode } from "../domain/booth.ts";
import type { Milliseconds } from "../domain/units.ts";
import type { Window } from "../store/port.ts";
import { msIn } from "./rules.ts";
import { timeLineOf, type FigureCoverage, type Source } from "./source.ts";

export interface ByMode<N> {
  readonly by_mode: Readonly<Partial<Record<Mode, N>>>;
  readonly coverage: FigureCoverage;
}

/** Milliseconds in each mode. Law: the sum over all modes, no_data included, is the clipped window exactly. */
export function durationByMode(source: Source, window: Window): ByMode<Milliseconds> {
  const { spans, coverage } = timeLineOf(source, window);
  const sums = new Map<Mode, Milliseconds>();
  for (const { mode, start, end } of spans) sums.set(mode, (sums.get(mode) ?? 0) + (end - start));
  return { by_mode: Object.fromEntries(sums), coverage };
}

/** Stages whose start lies in the window, by mode. Law: counts over adjacent windows add up. */
export function frequencyByMode(source: Source, window: Window): ByMode<number> {
  const { spans, coverage } = timeLineOf(source, window);
  const by_mode: Partial<Record<Mode, number>> = {};
  for (const { mode, is_new_start } of spans) if (is_new_start) by_mode[mode] = (by_mode[mode] ?? 0) + 1;
  return { by_mode, coverage };
}

/** Milliseconds in the runtime set of modes, by the set that held at the time. */
export function runtime(
  source: Source,
  window: Window,
): { readonly runtime_ms: Milliseconds; readonly coverage: FigureCoverage } {
  const line = timeLineOf(source, window);
  return { runtime_ms: msIn(line, "runtime"), coverage: line.coverage };
}
