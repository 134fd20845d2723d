import { onceStory, type Scenario, STANDARD_CYCLE } from "../model/scenario.ts";

export const twoBays: Scenario = {
  tz: "America/Denver",
  outdoor_c: 10,
  name: "two-bays",
  title: "two bays, each with two standard cycles, the second 20 min after the first (profile click-two-bay)",
  repeat: "once",
  beats: onceStory([...STANDARD_CYCLE, { mode: "idle", minutes: 10 }, ...STANDARD_CYCLE]),
  second_bay_minutes: 20,
};
