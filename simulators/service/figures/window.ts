import type { Mode } from "../../../src/core/types/booth.ts";
import type { Stage } from "./stage.ts";
import { clip, length, union } from "./span.ts";
import type { Span } from "./span.ts";

/** Milliseconds in each mode inside the window; what no stage covers is no_data, so that the sum is the window exactly. */
export function msByMode(stages: readonly Stage[], window: Span): Map<Mode, number> {
  const sums = new Map<Mode, number>();
  let covered = 0;
  for (const stage of stages) {
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
  for (const stage of stages) {
    if (!stage.is_new_start || stage.start < window.start || stage.start >= window.end) continue;
    counts.set(stage.mode, (counts.get(stage.mode) ?? 0) + 1);
  }
  return counts;
}

/** The time in a set of modes, as ordered spans. */
export function spansIn(stages: readonly Stage[], modes: readonly Mode[]): Span[] {
  return union(stages.filter((stage) => modes.includes(stage.mode)));
}

/** Milliseconds of the spans inside the window. */
export function msWithin(spans: readonly Span[], window: Span): number {
  return length(clip(spans, window));
}
