import { tagWithRole } from "../derivation/parameters.ts";
import { KIND, type CycleFact } from "../domain/record.ts";
import { type Count, sumOf } from "../derivation/filters/overuse.ts";
import type { EpochMs, TagName } from "../domain/units.ts";
import type { Interval } from "../domain/time-zone.ts";
import type { Window } from "../store/port.ts";
import { HOUR_MS } from "../domain/time.ts";
import { type HourFigures, hoursIn, isInLog, risesIn } from "./hours.ts";
import { timeLineOf, type Source, type TimeLine } from "./source.ts";

/** Returns the closed cycles of all bays that END in the window, by END. */
export function cyclesIn(source: Source, line: TimeLine): CycleFact["value"][] {
  const { window } = line;
  // Starts the query one millisecond earlier, because a cycle that ends at the window's start only touches the window.
  const facts = source.reader.facts(source.stream, KIND.cycle, { start: window.start - 1, end: window.end });
  const written = facts.map(({ value }) => value);
  const provisional = line.open_end.facts.filter((fact) => fact.kind === KIND.cycle).map(({ value }) => value);
  return [...written, ...provisional]
    .filter(({ end }) => end >= window.start && end < window.end)
    .sort((a, b) => a.end - b.end);
}

/**
 * Returns the cycles of the window. If the PLC has a counter, its increments count at the instant of the reading that shows them.
 * `derived`: the counted derived cycles, even if the PLC has a counter.
 */
export function cycleCount(source: Source, window: Window) {
  const line = timeLineOf(source, window);
  const derived = cyclesIn(source, line).filter(({ counted }) => counted).length;
  return { ...countedWithin(source, line, [line.window]), derived, coverage: line.coverage };
}

/**
 * Returns the cycles within the given spans of the timeline's window, which must not overlap. These are increments of the PLC's counter, or
 * else complete cycles that ended in a span.
 */
export function countedWithin(
  source: Source,
  line: TimeLine,
  spans: readonly Interval[],
): {
  readonly cycle_count: number;
  readonly source: "plc" | "derived";
  /** Whether a span includes only part of an hour whose readings are no longer in the log. The hour's cycles are then spread evenly. */
  readonly approximate: boolean;
} {
  const isInside = (at: EpochMs): boolean => spans.some(({ start, end }) => at >= start && at < end);
  const meter = tagWithRole(line.state.parameters, "cycle_counter");
  if (meter === undefined) {
    const ended = cyclesIn(source, line).filter(({ counted, end }) => counted && isInside(end));
    return { cycle_count: ended.length, source: "derived", approximate: false };
  }
  let cycle_count = 0;
  let approximate = false;
  for (const hour of hoursIn(source, line)) {
    const end = hour.hour + HOUR_MS;
    if (hour.cycles === 0) continue;
    if (spans.some((span) => span.start <= hour.hour && end <= span.end)) cycle_count += hour.cycles;
    else if (spans.some((span) => span.start < end && hour.hour < span.end)) {
      const counts = countsOf(source, line, { ...hour, meter });
      cycle_count += counts.reduce((sum, [at, cycles]) => sum + (isInside(at) ? cycles : 0), 0);
      if (!isInLog(source, hour.hour)) approximate = true;
    }
  }
  return { cycle_count, source: "plc", approximate };
}

/**
 * Returns the increments of the counter within an hour, from the fold's memory, or else from the readings in the log. If these are deleted,
 * spreads the hour's cycles evenly.
 */
function countsOf(
  source: Source,
  { open_end }: TimeLine,
  { hour, cycles, meter }: HourFigures & { readonly meter: TagName },
): readonly Count[] {
  const { increments } = open_end.state.recent;
  const known = increments.filter(([at]) => at >= hour && at < hour + HOUR_MS);
  const earlier = cycles - sumOf(known);
  if (earlier <= 0) return known;
  const end = Math.min(hour + HOUR_MS, increments[0]?.[0] ?? source.now_ms);
  const rises = risesIn(source, meter, { start: hour, end }).map(({ at, rise }): Count => [at, rise]);
  const whole = rises.map(([at, rise]): Count => [at, Math.round(rise)]).filter(([, rise]) => rise > 0);
  if (sumOf(whole) === earlier) return [...whole, ...known];
  const spread = Array.from({ length: earlier }, (_, index): Count => {
    return [hour + Math.ceil(((index + 1) * (end - hour)) / earlier) - 1, 1];
  });
  return [...spread, ...known];
}
