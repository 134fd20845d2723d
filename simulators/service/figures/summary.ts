import type { WorkingHours } from "../../../src/domain/booth.ts";
import { minutes } from "../base/time.ts";
import { type FormerHours, workingTime } from "./working-hours.ts";
import type { BoothFigures } from "./booth.ts";
import { booked } from "./counters.ts";
import { estimated } from "./estimates.ts";
import { boothOveruse } from "./filters.ts";
import { firstAfter } from "../base/search.ts";
import { timeIn } from "./mode-sets.ts";
import { intersection, length, type Span } from "../base/span.ts";
import { msByMode, msWithin } from "./window.ts";

/** The facility's time: tz by IANA name, shifts in local wall-clock time. */
export interface Calendar {
  readonly tz: string;
  readonly working_hours: readonly WorkingHours[];
  /** Earlier working hours, oldest first. */
  readonly before?: readonly FormerHours[];
}

/** Counted cycles of a window: the PLC's where it counts, else those derived, by their end. */
export function cycleCount(figures: BoothFigures, window: Span): number {
  if (figures.plc_cycles !== undefined) return booked(figures.plc_cycles, window);
  const first = firstAfter(figures.cycles, window.start - 1, (cycle) => cycle.end);
  const last = firstAfter(figures.cycles, window.end, (cycle) => cycle.end);
  const near = figures.cycles.slice(first, last);
  return near.filter((cycle) => cycle.counted && cycle.end >= window.start && cycle.end < window.end).length;
}

/** Time in the runtime set. */
export function runtimeMs(figures: BoothFigures, window: Span): number {
  return msWithin(timeIn(figures, "runtime"), window);
}

/** The shape of utilization_stats; energy in therm and kWh to 4 decimals. */
export function utilization(figures: BoothFigures, calendar: Calendar, window: Span): Record<string, number | null> {
  const inUse = timeIn(figures, "in_use");
  const working = workingTime(calendar, watched(figures, window));
  const used = msWithin(inUse, window);
  const usedInHours = length(intersection(working, inUse));
  const workingMs = length(working);
  return {
    utilization_minutes: minutes(used),
    working_minutes: minutes(workingMs),
    utilization_pct: workingMs === 0 ? null : fourDecimals((usedInHours / workingMs) * 100),
    overtime_minutes: minutes(used - usedInHours),
    cycle_count: cycleCount(figures, window),
    gas_usage: fourDecimals(booked(figures.gas, window) + estimated(figures.estimates.gas, window)),
    kwh_usage: fourDecimals(booked(figures.kwh, window) + estimated(figures.estimates.kwh, window)),
  };
}

/** The window from the booth's first reading on: a share of working hours doesn't count days before the booth was installed. */
function watched({ stages }: BoothFigures, { start, end }: Span): Span {
  const first = stages.find(({ mode }) => mode !== "no_data")?.start ?? end;
  return { start: Math.min(Math.max(start, first), end), end };
}

export function bakeMinutes(figures: BoothFigures, window: Span): number {
  return minutes(msByMode(figures.stages, window).get("bake") ?? 0);
}

export function overuse(figures: BoothFigures, window: Span): { overuse_minutes: number; overuse_cycles: number } {
  const { ms, cycles } = boothOveruse(figures.filter_input, figures.installations, window);
  return { overuse_minutes: minutes(ms), overuse_cycles: cycles };
}

function fourDecimals(value: number): number {
  return Math.round(value * 10_000) / 10_000;
}
