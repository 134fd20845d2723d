import { onceStory, type Scenario, STANDARD_CYCLE } from "../model/scenario.ts";

export const standardCycle: Scenario = {
  tz: "America/Denver",
  outdoor_c: 10,
  name: "standard-cycle",
  title: "one standard cycle: 97 min, 79 of them in use",
  repeat: "once",
  beats: onceStory(STANDARD_CYCLE),
};
