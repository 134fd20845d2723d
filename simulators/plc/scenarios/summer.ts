import { BUSY_DAY, type Scenario } from "../model/scenario.ts";

/** A day with 32 C outside, on which the burner is off except for the bake. */
export const summer: Scenario = {
  tz: "America/Denver",
  name: "summer",
  title: "a busy day at 32 C outside: the burner runs in the bake only",
  outdoor_c: 32,
  repeat: "daily",
  beats: BUSY_DAY,
};
