import { BUSY_DAY, FILTER_ROUTINES, type Scenario } from "../model/scenario.ts";

export const busyDay: Scenario = {
  tz: "America/Denver",
  outdoor_c: 10,
  name: "busy-day",
  title: "five cycles 08:00-17:30 local with setback over lunch, every day",
  repeat: "daily",
  beats: BUSY_DAY,
  routines: FILTER_ROUTINES,
};
