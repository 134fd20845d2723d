import { tagWithRole } from "../core/derive/roles.ts";
import type { CycleFact } from "../core/types/record.ts";
import type { EpochMs } from "../core/types/units.ts";
import type { Window } from "../ports.ts";
import { hoursIn } from "./hours.ts";
import { timeLineOf, type FigureCoverage, type Source, type TimeLine } from "./source.ts";

const HOUR_MS = 3_600_000;

export type Cycle = CycleFact["value"];

/** Closed cycles whose END lies in the window, of all bays, by END. */
export function cyclesIn(source: Source, line: TimeLine): Cycle[] {
  const { window } = line;
  // A cycle's END may be the very end of its own [start, end): ask one millisecond earlier.
  const facts = source.reader.facts(source.stream, "c", { start: window.start - 1, end: window.end });
  const written = facts.map(({ value }) => value);
  const provisional = line.tail.facts.filter((fact) => fact.kind === "c").map(({ value }) => value);
  return [...written, ...provisional]
    .filter(({ end }) => end >= window.start && end < window.end)
    .sort((a, b) => a.end - b.end);
}

export interface CycleCount {
  readonly cycle_count: number;
  /** plc: the increments of its counter; derived: complete cycles that ended in the window. */
  readonly source: "plc" | "derived";
  /** Derived cycles that count, whatever the source. */
  readonly derived: number;
  readonly coverage: FigureCoverage;
}

/**
 * Cycles of the window. Where the PLC has a counter its booked increments are the figure, by the instant of the reading
 * that showed them; an hour that the window cuts and that is no longer remembered increment by increment is taken
 * pro rata, in whole cycles that add up over adjacent windows.
 */
export function cycleCount(source: Source, window: Window): CycleCount {
  const line = timeLineOf(source, window);
  const derived = cyclesIn(source, line).filter(({ counted }) => counted).length;
  const { coverage, state } = line;
  if (tagWithRole(state.parameters, "cycle_counter") === undefined) {
    return { cycle_count: derived, source: "derived", derived, coverage };
  }
  return { cycle_count: bookedIncrements(source, line), source: "plc", derived, coverage };
}

function bookedIncrements(source: Source, line: TimeLine): number {
  const { window, tail } = line;
  const { increments } = tail.state.recent;
  const remembered = increments[0]?.[0] ?? source.now_ms;
  let sum = 0;
  for (const [at, steps] of increments) if (at >= window.start && at < window.end) sum += steps;
  for (const { hour, cycles } of hoursIn(source, line)) {
    const until = Math.min(hour + HOUR_MS, remembered);
    const earlier = cycles - since(increments, hour);
    if (until <= hour || earlier <= 0) continue;
    const share = (at: EpochMs): number => Math.floor((earlier * clamp(at, hour, until)) / (until - hour));
    sum += share(window.end) - share(window.start);
  }
  return sum;
}

/** Remembered increments within the hour. */
function since(increments: readonly (readonly [EpochMs, number])[], hour: EpochMs): number {
  return increments.reduce((sum, [at, steps]) => sum + (at >= hour && at < hour + HOUR_MS ? steps : 0), 0);
}

/** How far `at` is into [from, to]. */
function clamp(at: EpochMs, from: EpochMs, to: EpochMs): number {
  return Math.max(from, Math.min(to, at)) - from;
}
