import { BUSY_DAY, type Scenario } from "../model/scenario.ts";

/**
 * In-use minutes run 395 a day, 79 a cycle: 948 are over at lunch of the third day. The exhaust filter is then 720 min
 * over its 6,000, the pre filter 300 min over its 18,000; that one stays until the evening, 237 min more.
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
