import { BUSY_DAY, type Scenario } from "../model/scenario.ts";

/**
 * Filters beyond their limits at 395 in-use minutes a day, 79 a cycle, 948 at lunch of the third day. At that time the
 * exhaust filter is 720 min over its 6,000 and the pre filter 300 min over its 18,000. The pre filter stays until the
 * evening, 237 min more.
 */
export const filterOverdue: Scenario = {
  tz: "America/Denver",
  outdoor_c: 10,
  name: "filter-overdue",
  title: "exhaust filter changed 12 h late, a late pre filter overlapping it by 5 h; both changed on the third day",
  repeat: "daily",
  filter_minutes: { exhaust_filter: 6720 - 948, pre_filter: 18_300 - 948 },
  beats: BUSY_DAY,
  on_day: {
    2: [
      { at: "11:45", steps: [{ kind: "press", filter: "exhaust_filter" }] },
      { at: "17:50", steps: [{ kind: "press", filter: "pre_filter" }] },
    ],
  },
};
