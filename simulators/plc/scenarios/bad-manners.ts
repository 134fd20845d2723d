import { BUSY_DAY, FILTER_ROUTINES, type Scenario } from "../model/scenario.ts";

export const badManners: Scenario = {
  name: "bad-manners",
  title: "busy days behind a server with one connection, 3 s idle close, 50 ms minimum gap, no outdoor temperature",
  tz: "America/Denver",
  outdoor_c: 10,
  repeat: "daily",
  beats: BUSY_DAY,
  routines: FILTER_ROUTINES,
  manners: {
    max_connections: 1,
    idle_close_ms: 3000,
    min_gap_ms: 50,
    bad_ranges: [{ table: "holding", first: 28_684, last: 28_685, code: 2 }],
  },
};
