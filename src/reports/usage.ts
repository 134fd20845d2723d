import type { Mode } from "../domain/booth.ts";
import { isKnownZone, lengthOf, overlapOf } from "../domain/time-zone.ts";
import type { Milliseconds } from "../domain/units.ts";
import type { BoothStage, Window } from "../store/port.ts";
import { type BucketUnit, localBuckets } from "./buckets.ts";
import { eachOverlap, epochsIn, msIn, timeIn, workingTime, zoneOf } from "./rules.ts";
import { type Source, stateOf, timeLineOf, watchedWindow } from "./source.ts";

type ByMode = Partial<Record<Mode, number>>;

/** Returns the milliseconds in each mode. The sum over all modes, including no_data, is exactly the length of the clipped window. */
export function durationByMode(source: Source, window: Window) {
  const { spans, coverage } = timeLineOf(source, window);
  // Uses a map, which is faster than an object with one key per mode. A year has 73,000 stages.
  const sums = new Map<Mode, { ms: Milliseconds }>();
  for (const { mode, start, end } of spans) {
    const sum = sums.get(mode);
    if (sum === undefined) sums.set(mode, { ms: end - start });
    else sum.ms += end - start;
  }
  const by_mode: ByMode = Object.fromEntries([...sums].map(([mode, { ms }]) => [mode, ms]));
  return { by_mode, coverage };
}

/** Counts the stages that start in the window, by mode. The counts of adjacent windows add up to the count of the joined window. */
export function frequencyByMode(source: Source, window: Window) {
  const { spans, coverage } = timeLineOf(source, window);
  const by_mode: ByMode = {};
  for (const { mode, is_new_start } of spans) if (is_new_start) by_mode[mode] = (by_mode[mode] ?? 0) + 1;
  return { by_mode, coverage };
}

/** Returns the milliseconds in the runtime set (the modes that count as runtime), by the set in force at each moment. */
export function runtime(source: Source, window: Window) {
  const line = timeLineOf(source, window);
  return { runtime_ms: msIn(line, "runtime"), coverage: line.coverage };
}

/**
 * Returns the time in the runtime set in a period and in the previous period of the same length. `delta_ms` is negative if the time fell.
 */
export function runtimePeriods(source: Source, current: Window) {
  const now = runtime(source, current);
  const before = runtime(source, { start: current.start - (current.end - current.start), end: current.start });
  return {
    current_ms: now.runtime_ms,
    previous_ms: before.runtime_ms,
    delta_ms: now.runtime_ms - before.runtime_ms,
    coverage: { current: now.coverage, previous: before.coverage },
  };
}

/**
 * Returns the time in the runtime set, or in the given modes, by local hours, days, weeks or months of the present zone. The values add up
 * to `runtime`.
 */
export function runtimeSeries(
  source: Source,
  window: Window,
  { unit, modes }: { readonly unit: BucketUnit; readonly modes?: readonly Mode[] | undefined },
) {
  const line = timeLineOf(source, window);
  const running: readonly Window[] =
    modes === undefined ? timeIn(line, "runtime") : line.spans.filter(({ mode }) => modes.includes(mode));
  const buckets = localBuckets(zoneOf(stateOf(source)), line.window, unit).map((bucket) => ({ ...bucket, ms: 0 }));
  eachOverlap(buckets, running, (bucket, span) => {
    bucket.ms += sharedMs(span, bucket);
  });
  return { buckets, coverage: line.coverage };
}

function sharedMs(span: Window, slot: Window): Milliseconds {
  return Math.min(span.end, slot.end) - Math.max(span.start, slot.start);
}

/** Compares time in use with the facility's working hours, by the mode sets, hours and zone in force at each moment. */
export function utilization(source: Source, window: Window) {
  const line = timeLineOf(source, window);
  const in_use = timeIn(line, "in_use");
  const shifts = workingTime(line.state, watchedWindow(source, line));
  const in_use_ms = lengthOf(in_use);
  const working_ms = lengthOf(shifts);
  const in_use_working_ms = overlapOf(in_use, shifts);
  return {
    /** Time in use in the window, at all hours. */
    in_use_ms,
    /** Length of the facility's working hours in the window, from the booth's first reading up to now. */
    working_ms,
    in_use_working_ms,
    /** Time in use outside of working hours. */
    overtime_ms: in_use_ms - in_use_working_ms,
    /** Utilization in percent, 0..100; null: no working time. */
    utilization_pct: working_ms === 0 ? null : (in_use_working_ms / working_ms) * 100,
    /** Whether the time zone is known. Otherwise UTC is used. */
    tz_known: epochsIn(line.state, line.window).every(({ tz }) => isKnownZone(tz)),
    coverage: line.coverage,
  };
}

/** Maximum number of slots in one answer: three days at one minute, a year at two hours. */
const MAX_SLOTS = 5_000;

/**
 * Returns the time by mode in slots of `interval_ms`, beginning with the window's start. The last slot may be shorter. The modes of a slot
 * add up exactly to its length. Throws a RangeError if there are too many slots.
 */
export function utilizationTimeline(source: Source, window: Window, interval_ms: Milliseconds) {
  const { window: clipped, spans, coverage } = timeLineOf(source, window);
  const { start, end } = clipped;
  if ((end - start) / interval_ms > MAX_SLOTS) throw new RangeError("too many intervals in the window");
  const slots: Slot[] = [];
  for (let at = start; at < end; at += interval_ms) {
    slots.push({ start: at, end: Math.min(at + interval_ms, end), by_mode: {} });
  }
  return { slots: filled(slots, spans), coverage };
}

interface Slot extends Window {
  readonly by_mode: ByMode;
}

/** Adds the time by mode of the spans to the slots that they overlap. */
export function filled(slots: readonly Slot[], spans: readonly BoothStage[]): readonly Slot[] {
  eachOverlap(slots, spans, (slot, span) => {
    const ms = sharedMs(span, slot);
    if (ms > 0) slot.by_mode[span.mode] = (slot.by_mode[span.mode] ?? 0) + ms;
  });
  return slots;
}

/**
 * Returns the use of the window, including older figures of the service: `idle_ms` is time without data, `all_active_ms` is all other time.
 */
export function utilizationSummary(source: Source, window: Window) {
  const line = timeLineOf(source, window);
  const by_mode: ByMode = {};
  filled([{ ...line.window, by_mode }], line.spans);
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
 * Returns the stages of the window, newest first, clipped to it. The open stage ends at the last instant at which it is known. The time
 * before the first reading is one stage.
 */
export function recentStages(source: Source, window: Window) {
  const { spans, coverage } = timeLineOf(source, window);
  const [first, second] = spans;
  const isOne = first?.mode === "no_data" && second?.mode === "no_data";
  const stages = isOne ? [{ ...second, start: first.start }, ...spans.slice(2)] : [...spans];
  return { stages: stages.reverse(), coverage };
}
