import type { Mode } from "../domain/booth.ts";
import type { EpochMs, Milliseconds } from "../domain/units.ts";
import { MODES_LISTED, wireNameOf } from "../domain/wire-names.ts";
import { answerTime, minutesOf } from "./time.ts";
import type { Paging } from "./reports-query.ts";

/** Shapes of a booth's figures over a window: rows 28, 29, 34, 36-40 of the table of operations. Pure: figure to JSON. */

const DAY_MS: Milliseconds = 86_400_000;

interface Span {
  readonly start: EpochMs;
  readonly end: EpochMs;
}

type ByMode = Readonly<Partial<Record<Mode, number>>>;

export interface Envelope<T> {
  readonly data: T;
  readonly page: number;
  readonly limit: number;
  readonly pages: number;
  readonly total: number;
}

/** One page of a collection. */
export function envelopeOf<T>(items: readonly T[], { page, limit }: Paging): Envelope<readonly T[]> {
  const total = items.length;
  if (limit === -1) return { data: items, page: 1, limit, pages: 1, total };
  const data = items.slice((page - 1) * limit, page * limit);
  return { data, page, limit, pages: pagesOf(total, limit), total };
}

export function pagesOf(total: number, limit: number): number {
  return Math.max(1, Math.ceil(total / limit));
}

/** Rounded to what figures of energy and percentages are written with. */
export function fourDecimals(value: number): number {
  return Math.round(value * 10_000) / 10_000;
}

/** Days to 4 decimals. */
export function daysOf(ms: Milliseconds): number {
  return fourDecimals(ms / DAY_MS);
}

function named<T>(by_mode: ByMode, shape: (mode: string, value: number) => T): T[] {
  return MODES_LISTED.flatMap((mode) => {
    const value = by_mode[mode] ?? 0;
    return value > 0 ? [shape(wireNameOf(mode), value)] : [];
  });
}

const inMinutes = (mode: string, ms: number) => ({ mode, duration: minutesOf(ms) });

export function durationBody(booth_id: string, window: Span, by_mode: ByMode) {
  return { ...headOf(booth_id, window), modes: named(by_mode, inMinutes) };
}

export function frequencyBody(booth_id: string, window: Span, by_mode: ByMode) {
  return { ...headOf(booth_id, window), modes: named(by_mode, (mode, count) => ({ mode, count })) };
}

function headOf(booth_id: string, { start, end }: Span) {
  return { booth_id, start: answerTime(start), end: answerTime(end) };
}

/** A length of time in days, seconds and microseconds, all of one sign; months are never used. */
export function intervalBody(ms: Milliseconds) {
  const days = Math.trunc(ms / DAY_MS);
  const rest = ms - days * DAY_MS;
  const secs = Math.trunc(rest / 1000);
  // Adding 0 turns a negative zero into a plain one.
  return { months: 0, days: days + 0, secs: secs + 0, microsecs: (rest - secs * 1000) * 1000 + 0 };
}

export function runtimeBody(periods: Readonly<Record<"current_ms" | "previous_ms" | "delta_ms", Milliseconds>>) {
  return {
    current_period: intervalBody(periods.current_ms),
    previous_period: intervalBody(periods.previous_ms),
    delta: intervalBody(periods.delta_ms),
  };
}

export function runtimeSeriesItem({ start, ms }: { readonly start: EpochMs; readonly ms: Milliseconds }) {
  return { time: answerTime(start), value: minutesOf(ms) };
}

export function utilizationBody(figures: {
  readonly in_use_ms: Milliseconds;
  readonly working_ms: Milliseconds;
  readonly utilization_pct: number | null;
  readonly overtime_ms: Milliseconds;
  readonly cycle_count: number;
  /** null: no meter; written as 0, as the service does. */
  readonly gas_therm: number | null;
  readonly energy_kwh: number | null;
}) {
  const { utilization_pct } = figures;
  return {
    utilization_minutes: minutesOf(figures.in_use_ms),
    working_minutes: minutesOf(figures.working_ms),
    utilization_pct: utilization_pct === null ? null : fourDecimals(utilization_pct),
    overtime_minutes: minutesOf(figures.overtime_ms),
    cycle_count: figures.cycle_count,
    gas_usage: fourDecimals(figures.gas_therm ?? 0),
    kwh_usage: fourDecimals(figures.energy_kwh ?? 0),
  };
}

export function utilizationSummaryBody(figures: {
  readonly all_active_ms: Milliseconds;
  readonly in_use_ms: Milliseconds;
  readonly idle_ms: Milliseconds;
  readonly bake_ms: Milliseconds;
  readonly by_mode: ByMode;
}) {
  return {
    all_active_modes: minutesOf(figures.all_active_ms),
    in_use: minutesOf(figures.in_use_ms),
    idle: minutesOf(figures.idle_ms),
    bake: minutesOf(figures.bake_ms),
    modes: named(figures.by_mode, inMinutes),
  };
}

export function timelineItem({ start, end, by_mode }: Span & { readonly by_mode: ByMode }) {
  return { timestamp: answerTime(start), duration: minutesOf(end - start), modes: named(by_mode, inMinutes) };
}

export function stageItem({ mode, start, end }: Span & { readonly mode: Mode }) {
  return { mode: wireNameOf(mode), start_time: answerTime(start), end_time: answerTime(end) };
}

/** What a figure stands on, minutes; given beside the stated shape where it is asked for. */
export function coverageBody(coverage: Readonly<Record<"observed_ms" | "inferred_ms" | "missing_ms", Milliseconds>>) {
  return {
    observed: minutesOf(coverage.observed_ms),
    inferred: minutesOf(coverage.inferred_ms),
    missing: minutesOf(coverage.missing_ms),
  };
}
