import { BUSY_DAY, type Scenario } from "../model/scenario.ts";

export const filterChange: Scenario = {
  tz: "America/Denver",
  outdoor_c: 10,
  name: "filter-change",
  title: "exhaust filter changed in time at lunch of the first day, its reset pressed twice within 10 min",
  repeat: "daily",
  filter_minutes: { exhaust_filter: 5000 },
  beats: BUSY_DAY,
  on_day: {
    0: [
      {
        at: "11:40",
        steps: [
          { kind: "press", filter: "exhaust_filter" },
          { wait_minutes: 6 },
          { kind: "press", filter: "exhaust_filter" },
        ],
      },
    ],
  },
};
