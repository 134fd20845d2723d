import { onceStory, type Scenario, STANDARD_CYCLE, UP_TO_BAKE } from "../model/scenario.ts";

export const fireContact: Scenario = {
  tz: "America/Denver",
  outdoor_c: 10,
  name: "fire-contact",
  title: "fire contact 12 min into the bake: straight from bake to 1 min of spray mode and off; later a standard cycle",
  repeat: "once",
  beats: onceStory([
    ...UP_TO_BAKE,
    { mode: "bake", minutes: 12 },
    { mode: "spray", minutes: 1, fault_code: 40 },
    { mode: "off", minutes: 20 },
    { mode: "idle", minutes: 10 },
    ...STANDARD_CYCLE,
  ]),
};
