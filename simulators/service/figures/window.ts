import type { Mode } from "../../../src/domain/booth.ts";
import { firstAfter } from "../base/search.ts";
import type { Stage } from "./stage.ts";
import { type Span, union } from "../base/span.ts";

/** Milliseconds in each mode inside the window; what no stage covers is no_data, so that the sum is the window exactly. */
export function msByMode(stages: readonly Stage[], window: Span): Map<Mode, number> {
  const sums = new Map<Mode, number>();
  let covered = 0;
  for (let i = firstAfter(stages, window.start, (stage) => stage.end); i < stages.length; i += 1) {
    const stage = stages[i];
    if (stage === undefined || stage.start >= window.end) break;
    const ms = Math.min(stage.end, window.end) - Math.max(stage.start, window.start);
    if (ms <= 0) continue;
    sums.set(stage.mode, (sums.get(stage.mode) ?? 0) + ms);
    covered += ms;
  }
  const rest = window.end - window.start - covered;
  if (rest > 0) sums.set("no_data", (sums.get("no_data") ?? 0) + rest);
  return sums;
}

/** New starts inside [start, end), by mode. */
export function startsByMode(stages: readonly Stage[], window: Span): Map<Mode, number> {
  const counts = new Map<Mode, number>();
  for (let i = firstAfter(stages, window.start - 1, (stage) => stage.start); i < stages.length; i += 1) {
    const stage = stages[i];
    if (stage === undefined || stage.start >= window.end) break;
    if (!stage.is_new_start || stage.start < window.start) continue;
    counts.set(stage.mode, (counts.get(stage.mode) ?? 0) + 1);
  }
  return counts;
}

const known = new WeakMap<readonly Stage[], Map<string, readonly Span[]>>();

/**
 * Returns the time in a set of modes as ordered spans. Cached per list of stages, because a report asks once per day.
 */
export function spansIn(stages: readonly Stage[], modes: readonly Mode[]): readonly Span[] {
  const sets = known.get(stages) ?? new Map<string, readonly Span[]>();
  known.set(stages, sets);
  const key = modes.join();
  const found = sets.get(key) ?? union(stages.filter((stage) => modes.includes(stage.mode)));
  sets.set(key, found);
  return found;
}

/** Milliseconds inside the window, of ordered spans without overlap. */
export function msWithin(spans: readonly Span[], window: Span): number {
  let ms = 0;
  for (let i = firstAfter(spans, window.start, (span) => span.end); i < spans.length; i += 1) {
    const span = spans[i];
    if (span === undefined || span.start >= window.end) break;
    ms += Math.min(span.end, window.end) - Math.max(span.start, window.start);
  }
  return ms;
}
