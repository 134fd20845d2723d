import type { Window } from "../store/port.ts";
import { cycleCount } from "../reports/cycles.ts";
import { energy } from "../reports/energy.ts";
import {
  durationByMode,
  frequencyByMode,
  runtimePeriods,
  runtimeSeries,
  utilization,
  recentStages,
  utilizationSummary,
  utilizationTimeline,
} from "../reports/usage.ts";
import type { Source } from "../reports/source.ts";
import {
  durationBody,
  frequencyBody,
  runtimeBody,
  runtimeSeriesItem,
  stageItem,
  timelineItem,
  utilizationBody,
  utilizationSummaryBody,
} from "../contract/reports.ts";
import { intervalParam, periodParams, seriesParams, statesParam, windowParams } from "../contract/reports-query.ts";
import { type BoothReport, paged } from "./report.ts";

/** Reports on a booth's use of time, by the last segment of their path. */
export const TIME_FIGURES = {
  duration_by_mode: ({ booth, source, query, clock }) =>
    durationFigure(source, windowParams(query, clock), booth.booth_id),
  frequency_by_mode: ({ booth, source, query, clock }) =>
    frequencyFigure(source, windowParams(query, clock), booth.booth_id),
  runtime: ({ source, query, clock }) => runtimeFigure(source, periodParams(query, clock)),
  runtime_series({ source, query, clock }) {
    const { window, unit } = seriesParams(query, clock);
    const { buckets, coverage } = runtimeSeries(source, window, { unit, modes: statesParam(query) });
    return { body: paged(buckets.map(runtimeSeriesItem), query), coverage };
  },
  utilization_stats: ({ source, query, clock }) => utilizationFigure(source, windowParams(query, clock)),
  utilization_summary({ source, query, clock }) {
    const figures = utilizationSummary(source, windowParams(query, clock));
    return { body: utilizationSummaryBody(figures), coverage: figures.coverage };
  },
  utilization_timeline({ source, query, clock }) {
    const { slots, coverage } = utilizationTimeline(source, windowParams(query, clock), intervalParam(query));
    return { body: paged(slots.map(timelineItem), query), coverage };
  },
  recent_stages({ source, query, clock }) {
    const { stages, coverage } = recentStages(source, windowParams(query, clock));
    return { body: paged(stages.map(stageItem), query), coverage, headers: { Deprecation: "true" } };
  },
} satisfies Readonly<Record<string, BoothReport>>;

export function durationFigure(source: Source, window: Window, booth_id: string) {
  const { by_mode, coverage } = durationByMode(source, window);
  return { body: durationBody(booth_id, window, by_mode), coverage };
}

export function frequencyFigure(source: Source, window: Window, booth_id: string) {
  const { by_mode, coverage } = frequencyByMode(source, window);
  return { body: frequencyBody(booth_id, window, by_mode), coverage };
}

export function runtimeFigure(source: Source, window: Window) {
  const periods = runtimePeriods(source, window);
  return { body: runtimeBody(periods), coverage: periods.coverage.current };
}

export function utilizationFigure(source: Source, window: Window) {
  const use = utilization(source, window);
  const { gas_therm, energy_kwh, ...used } = energy(source, window);
  const { cycle_count, ...counted } = cycleCount(source, window);
  const approximate = used.approximate || counted.approximate;
  return { body: utilizationBody({ ...use, cycle_count, gas_therm, energy_kwh, approximate }), coverage: use.coverage };
}
