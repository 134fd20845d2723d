import { cycleItem, periodItem } from "../contract/reports.ts";
import { seriesParams, trendParams, windowParams } from "../contract/reports-query.ts";
import { cyclesIn } from "../reports/cycles.ts";
import { filterUse } from "../reports/filter-use.ts";
import { usePeriods } from "../reports/periods.ts";
import { timeLineOf } from "../reports/source.ts";
import { trend } from "../reports/trend.ts";
import { type BoothReport, paged } from "./report.ts";

/** Reports for the page's charts, by the last segment of their path. */
export const CHARTS = {
  trend: ({ source, query, clock }) => ({
    body: trend(source, windowParams(query, clock), trendParams(query)),
  }),
  use_periods({ source, query, clock }) {
    const { window, unit } = seriesParams(query, clock);
    const { periods, coverage } = usePeriods(source, window, unit);
    return { body: { data: periods.map(periodItem) }, coverage };
  },
  cycles({ source, query, clock }) {
    const cycles = cyclesIn(source, timeLineOf(source, windowParams(query, clock)));
    return { body: paged(cycles.map(cycleItem), query) };
  },
  filter_use: ({ source, query, clock }) => ({ body: { data: filterUse(source, windowParams(query, clock)) } }),
} satisfies Readonly<Record<string, BoothReport>>;
