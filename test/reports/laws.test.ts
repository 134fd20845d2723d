import fc from "fast-check";
import { cycleCount } from "../../src/reports/cycles.ts";
import { episodesIn, overuse } from "../../src/reports/overuse.ts";
import {
  durationByMode,
  frequencyByMode,
  runtime,
  runtimePeriods,
  runtimeSeries,
  utilization,
  utilizationSummary,
  utilizationTimeline,
} from "../../src/reports/usage.ts";
import { timeLineOf, type Source } from "../../src/reports/source.ts";
import type { Window } from "../../src/store/port.ts";
import { foldRecords } from "../support/booth.ts";
import { logOf } from "../derivation/folds.ts";
import { law, testLaws } from "../derivation/law.ts";
import { readerOf } from "../support/reader.ts";
import { seedOf } from "../support/seed.ts";
import { steppedWalks, WALK_T0, type Happening } from "../derivation/streams.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

const DAY = 24 * 60 * MINUTE_MS;
const MODES = ["spray", "idle", "bake", "no_data", "fault"] as const;

/** The reports that the laws test. */
const REPORTS = {
  durationByMode,
  frequencyByMode,
  runtime,
  runtimePeriods,
  runtimeSeries,
  utilizationTimeline,
  utilizationSummary,
  cycleCount,
  overuse,
};
type Reports = typeof REPORTS;

interface Asked {
  readonly life: readonly Happening[];
  /** Offsets from the life's start, ms, ascending. */
  readonly at: readonly number[];
}
const offset = fc.oneof(
  fc.integer({ min: -3_600_000, max: 10_000_000 }),
  fc.integer({ min: -3_600_000, max: 60_000_000 }),
);
const asked = fc.record({
  life: steppedWalks,
  at: fc.array(offset, { minLength: 3, maxLength: 3 }).map((all) => all.toSorted((a, b) => a - b)),
});

/** Returns the source of reports half a minute after the last record. */
function sourceOf(life: readonly Happening[]): Source {
  const folded = foldRecords(logOf(life, [11]));
  return { reader: readerOf(folded), stream: "s", now_ms: folded.state.clock.now + 30_000 };
}

function windowsOf({ at }: Asked): { first: Window; second: Window; whole: Window } {
  const [start = 0, cut = 0, end = 0] = at.map((ms) => WALK_T0 + ms);
  return { first: { start, end: cut }, second: { start: cut, end }, whole: { start, end } };
}

function sumOf(by_mode: Readonly<Record<string, number>>): number {
  return Object.values(by_mode).reduce((total, ms) => total + ms, 0);
}

/** The times of all modes, and the coverage, add up to the window clipped to now. */
function conserves(reports: Reports, one: Asked): boolean {
  const source = sourceOf(one.life);
  const { whole } = windowsOf(one);
  const { by_mode, coverage } = reports.durationByMode(source, whole);
  const length = Math.max(0, Math.min(whole.end, source.now_ms) - whole.start);
  const known = coverage.observed_ms + coverage.inferred_ms + coverage.missing_ms;
  return sumOf(by_mode) === length && known === length && coverage.missing_ms === (by_mode.no_data ?? 0);
}

/** The figures of two adjacent windows add up to those of both together. */
function addsUp(reports: Reports, one: Asked): boolean {
  const source = sourceOf(one.life);
  const { first, second, whole } = windowsOf(one);
  const figures = (window: Window): number[] => {
    const starts = reports.frequencyByMode(source, window).by_mode;
    const { cycle_count, derived } = reports.cycleCount(source, window);
    const { overuse_cycles, overuse_ms } = reports.overuse(source, window);
    const { runtime_ms } = reports.runtime(source, window);
    return [...MODES.map((mode) => starts[mode] ?? 0), cycle_count, derived, overuse_cycles, overuse_ms, runtime_ms];
  };
  const a = figures(first);
  const b = figures(second);
  return figures(whole).every((figure, index) => figure === (a[index] ?? 0) + (b[index] ?? 0));
}

/** Series, timeline, periods and summary add up to the figure over the whole window. */
function seriesAddUp(reports: Reports, one: Asked): boolean {
  const source = sourceOf(one.life);
  const { whole } = windowsOf(one);
  const window = { start: whole.start, end: Math.max(whole.start, Math.min(whole.end, source.now_ms)) };
  const { runtime_ms, coverage } = reports.runtime(source, window);
  const series = reports
    .runtimeSeries(source, window, { unit: "day" })
    .buckets.reduce((sum, bucket) => sum + bucket.ms, 0);
  const { slots } = reports.utilizationTimeline(source, window, 97 * MINUTE_MS);
  const sums: Record<string, number> = {};
  for (const { by_mode } of slots) {
    for (const [mode, ms] of Object.entries(by_mode)) sums[mode] = (sums[mode] ?? 0) + ms;
  }
  const whole_slots = slots.every(({ start, end, by_mode }) => sumOf(by_mode) === end - start);
  const durations = Object.entries(reports.durationByMode(source, window).by_mode);
  const periods = reports.runtimePeriods(source, window);
  const summary = reports.utilizationSummary(source, window);
  return (
    whole_slots &&
    series === runtime_ms &&
    durations.every(([mode, ms]) => (sums[mode] ?? 0) === ms) &&
    periods.current_ms === runtime_ms &&
    periods.delta_ms === runtime_ms - periods.previous_ms &&
    summary.idle_ms === coverage.missing_ms &&
    summary.all_active_ms + summary.idle_ms === window.end - window.start
  );
}

/** Each minute and cycle counts once for any number of filters in overuse, and only if the booth was in use. */
function isUnion(reports: Reports, one: Asked): boolean {
  const source = sourceOf(one.life);
  const { whole } = windowsOf(one);
  const { overuse_ms, overuse_cycles, overuse_count } = reports.overuse(source, whole);
  const line = timeLineOf(source, whole);
  const episodes = episodesIn(source, line.window);
  const in_use = line.spans.filter(({ mode }) => ["spray", "flash", "purge", "bake"].includes(mode));
  // Checks each interval between the borders of spans and episodes.
  const borders = [...in_use, ...episodes].flatMap(({ start, end }) => [start, end]);
  const cuts = [...new Set(borders)].sort((a, b) => a - b);
  const inside = (spans: readonly Window[], at: number): boolean =>
    spans.some(({ start, end }) => start <= at && at < end);
  const ms = cuts.reduce((sum, at, index) => {
    const length = (cuts[index + 1] ?? at) - at;
    return sum + (inside(in_use, at) && inside(episodes, at) ? length : 0);
  }, 0);
  const { cycle_count } = reports.cycleCount(source, whole);
  const used = utilization(source, whole).in_use_ms;
  return overuse_ms === ms && overuse_ms <= used && overuse_cycles <= cycle_count && overuse_count === episodes.length;
}

const LAWS = [
  law<Reports, Asked>({
    name: "duration_by_mode: the times of all modes add up to the window, and so does its coverage",
    lives: asked,
    right: REPORTS,
    holds: conserves,
    planted: {
      "time before the first reading is missing": {
        ...REPORTS,
        durationByMode: (source, { start, end }) => durationByMode(source, { start: Math.max(start, WALK_T0), end }),
      },
      "coverage counts missing time as observed": {
        ...REPORTS,
        durationByMode: (source, window) => {
          const { by_mode, coverage } = durationByMode(source, window);
          const observed_ms = coverage.observed_ms + coverage.missing_ms;
          return { by_mode, coverage: { ...coverage, observed_ms, missing_ms: 0 } };
        },
      },
    },
  }),
  law<Reports, Asked>({
    name: "the counts of two adjacent windows add up to those of both together",
    lives: asked,
    right: REPORTS,
    holds: addsUp,
    planted: {
      "a stage counts in each window that it overlaps": {
        ...REPORTS,
        frequencyByMode: (source, window) => {
          const { spans, coverage } = timeLineOf(source, window);
          const by_mode: Partial<Record<(typeof spans)[number]["mode"], number>> = {};
          for (const { mode } of spans) by_mode[mode] = (by_mode[mode] ?? 0) + 1;
          return { by_mode, coverage };
        },
      },
      "a cycle that ends near the border counts in both windows": {
        ...REPORTS,
        cycleCount: (source, { start, end }) => cycleCount(source, { start, end: end + 3_600_000 }),
      },
      "overuse cycles are the number of overuse episodes": {
        ...REPORTS,
        overuse: (source, window) => {
          const figures = overuse(source, window);
          return { ...figures, overuse_cycles: figures.overuse_count };
        },
      },
    },
  }),
  law<Reports, Asked>({
    name: "series, timeline, periods and summary add up to the figure of the whole window",
    lives: asked,
    right: REPORTS,
    holds: seriesAddUp,
    planted: {
      "the last slot is not cut at the end of the window": {
        ...REPORTS,
        utilizationTimeline: (source, window, ms) =>
          utilizationTimeline(source, { start: window.start, end: window.end + 10 * MINUTE_MS }, ms),
      },
      "the series leaves out the part of the window after the last full 24 h": {
        ...REPORTS,
        runtimeSeries: (source, window, unit) => {
          const days = Math.floor((window.end - window.start) / DAY);
          return runtimeSeries(source, { start: window.start, end: window.start + days * DAY }, unit);
        },
      },
    },
  }),
  law<Reports, Asked>({
    name: "a booth's overuse is the union of its filters' overuse while in use",
    lives: asked,
    right: REPORTS,
    holds: isUnion,
    planted: {
      "overuse is summed over the filters": {
        ...REPORTS,
        overuse: (source, window) => {
          const figures = overuse(source, window);
          const episodes = episodesIn(source, window);
          const overuse_ms = episodes.length > 1 ? 2 * figures.overuse_ms : figures.overuse_ms;
          return { ...figures, overuse_ms };
        },
      },
      "overuse includes time in which the booth was not in use": {
        ...REPORTS,
        overuse: (source, window) => {
          const { start, end } = window;
          const spans = episodesIn(source, window).map((one) => Math.min(end, one.end) - Math.max(start, one.start));
          return { ...overuse(source, window), overuse_ms: Math.max(0, ...spans) };
        },
      },
    },
  }),
];

testLaws(LAWS, seedOf("test/reports/laws"));
