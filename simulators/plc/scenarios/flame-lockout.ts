import { onceStory, type Scenario, STANDARD_CYCLE, UP_TO_BAKE } from "../model/scenario.ts";

export const flameLockout: Scenario = {
  tz: "America/Denver",
  outdoor_c: 10,
  name: "flame-lockout",
  title: "flame lockout 4 min into the bake ramp, a bake without spray to save the job, then a standard cycle",
  repeat: "once",
  beats: onceStory([
    ...UP_TO_BAKE,
    { mode: "bake", minutes: 4 },
    { mode: "fault", minutes: 25, fault_code: 31 },
    { mode: "idle", minutes: 10 },
    { mode: "purge", minutes: 3 },
    { mode: "bake", minutes: 30 },
    { mode: "cool_down", minutes: 10 },
    { mode: "idle", minutes: 10 },
    ...STANDARD_CYCLE,
  ]),
};
