import { cycleCount } from "../reports/cycles.ts";
import { energy } from "../reports/energy.ts";
import { durationByMode, frequencyByMode } from "../reports/modes.ts";
import { runtimePeriods, runtimeSeries } from "../reports/runtime.ts";
import { recentStages, utilizationSummary, utilizationTimeline } from "../reports/timeline.ts";
import { utilization } from "../reports/utilization.ts";
import {
  durationBody,
  envelopeOf,
  frequencyBody,
  runtimeBody,
  runtimeSeriesItem,
  stageItem,
  timelineItem,
  utilizationBody,
  utilizationSummaryBody,
} from "../contract/reports.ts";
import {
  intervalParam,
  pagingParams,
  periodParams,
  seriesParams,
  statesParam,
  windowParams,
} from "../contract/reports-query.ts";
import type { BoothAsk, Told } from "./report-request.ts";

/** When the interface document marked it so. */
const DEPRECATED = { Deprecation: "true" };

/** Operations on a booth's time, by the last part of their path. */
export const TIME_FIGURES: Readonly<Record<string, (ask: BoothAsk) => Told>> = {
  duration_by_mode({ booth, source, query, clock }) {
    const window = windowParams(query, clock);
    const { by_mode, coverage } = durationByMode(source, window);
    return { body: durationBody(booth.booth_id, window, by_mode), coverage };
  },
  frequency_by_mode({ booth, source, query, clock }) {
    const window = windowParams(query, clock);
    const { by_mode, coverage } = frequencyByMode(source, window);
    return { body: frequencyBody(booth.booth_id, window, by_mode), coverage };
  },
  runtime({ source, query, clock }) {
    const periods = runtimePeriods(source, periodParams(query, clock));
    return { body: runtimeBody(periods), coverage: periods.coverage.current };
  },
  runtime_series({ source, query, clock }) {
    const { window, unit } = seriesParams(query, clock);
    const { buckets, coverage } = runtimeSeries(source, window, { unit, modes: statesParam(query) });
    return { body: envelopeOf(buckets.map(runtimeSeriesItem), reportPaging(query)), coverage };
  },
  utilization_stats({ source, query, clock }) {
    const window = windowParams(query, clock);
    const use = utilization(source, window);
    const { gas_therm, energy_kwh } = energy(source, window);
    const { cycle_count } = cycleCount(source, window);
    return { body: utilizationBody({ ...use, cycle_count, gas_therm, energy_kwh }), coverage: use.coverage };
  },
  utilization_summary({ source, query, clock }) {
    const figures = utilizationSummary(source, windowParams(query, clock));
    return { body: utilizationSummaryBody(figures), coverage: figures.coverage };
  },
  utilization_timeline({ source, query, clock }) {
    const { slots, coverage } = utilizationTimeline(source, windowParams(query, clock), intervalParam(query));
    return { body: envelopeOf(slots.map(timelineItem), reportPaging(query)), coverage };
  },
  recent_stages({ source, query, clock }) {
    const { stages, coverage } = recentStages(source, windowParams(query, clock));
    return { body: envelopeOf(stages.map(stageItem), reportPaging(query)), coverage, headers: DEPRECATED };
  },
};

function reportPaging(query: BoothAsk["query"]) {
  return pagingParams(query, { allowAll: false });
}
