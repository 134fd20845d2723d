import type { Mode } from "../domain/booth.ts";
import type { Milliseconds } from "../domain/units.ts";
import type { BoothStage, Window } from "../store/port.ts";
import { msIn } from "./rules.ts";
import { timeLineOf, type FigureCoverage, type Source } from "./source.ts";

/** Slots of one answer: three days at one minute, a year at two hours. */
const MAX_SLOTS = 5_000;

export interface Slot extends Window {
  readonly by_mode: Readonly<Partial<Record<Mode, Milliseconds>>>;
}

/**
 * Time by mode in slots of `interval_ms` from the window's start on; the last as the window cuts it. Each slot's modes add up
 * to it exactly. Throws a RangeError for more slots than one answer may have.
 */
export function utilizationTimeline(
  source: Source,
  window: Window,
  interval_ms: Milliseconds,
): { readonly slots: readonly Slot[]; readonly coverage: FigureCoverage } {
  const line = timeLineOf(source, window);
  const { start, end } = line.window;
  if ((end - start) / interval_ms > MAX_SLOTS) throw new RangeError("too many intervals in the window");
  const slots: Slot[] = [];
  let first = 0;
  for (let at = start; at < end; at += interval_ms) {
    const slot = { start: at, end: Math.min(at + interval_ms, end) };
    while ((line.spans[first]?.end ?? Infinity) <= slot.start) first += 1;
    slots.push({ ...slot, by_mode: byMode(line.spans, first, slot) });
  }
  return { slots, coverage: line.coverage };
}

function byMode(spans: readonly BoothStage[], first: number, slot: Window): Slot["by_mode"] {
  const by_mode: Partial<Record<Mode, Milliseconds>> = {};
  for (let at = first; at < spans.length; at += 1) {
    const span = spans[at];
    if (span === undefined || span.start >= slot.end) break;
    const ms = Math.min(span.end, slot.end) - Math.max(span.start, slot.start);
    if (ms > 0) by_mode[span.mode] = (by_mode[span.mode] ?? 0) + ms;
  }
  return by_mode;
}

export interface UtilizationSummary {
  /** The service's older view: the window minus its time without data. */
  readonly all_active_ms: Milliseconds;
  readonly in_use_ms: Milliseconds;
  /** The service's older view: time without data. */
  readonly idle_ms: Milliseconds;
  readonly bake_ms: Milliseconds;
  readonly by_mode: Readonly<Partial<Record<Mode, Milliseconds>>>;
  readonly coverage: FigureCoverage;
}

/** How the window was used, beside the service's older view of it. */
export function utilizationSummary(source: Source, window: Window): UtilizationSummary {
  const line = timeLineOf(source, window);
  const by_mode = byMode(line.spans, 0, line.window);
  const idle_ms = by_mode.no_data ?? 0;
  return {
    all_active_ms: line.window.end - line.window.start - idle_ms,
    in_use_ms: msIn(line, "in_use"),
    idle_ms,
    bake_ms: by_mode.bake ?? 0,
    by_mode,
    coverage: line.coverage,
  };
}

/**
 * Stages of the window, newest first, as the window cuts them; the open one ends where it still counts. The time before the first
 * reading is one, however much of it this box saw pass.
 */
export function recentStages(
  source: Source,
  window: Window,
): { readonly stages: readonly BoothStage[]; readonly coverage: FigureCoverage } {
  const { spans, coverage } = timeLineOf(source, window);
  const [first, second] = spans;
  const isOne = first?.mode === "no_data" && second?.mode === "no_data";
  const stages = isOne ? [{ ...second, start: first.start }, ...spans.slice(2)] : [...spans];
  return { stages: stages.reverse(), coverage };
}
