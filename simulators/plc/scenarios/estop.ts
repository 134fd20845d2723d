import { onceStory, type Scenario, STANDARD_CYCLE } from "../model/scenario.ts";

export const estop: Scenario = {
  tz: "America/Denver",
  outdoor_c: 10,
  name: "estop",
  title: "E-stop 5 min into the second spray, then a standard cycle",
  repeat: "once",
  beats: onceStory([
    { mode: "prep", minutes: 8 },
    { mode: "spray", minutes: 12 },
    { mode: "flash", minutes: 6 },
    { mode: "spray", minutes: 5 },
    { mode: "estop", minutes: 8, fault_code: 1 },
    { mode: "off", minutes: 4 },
    { mode: "idle", minutes: 10 },
    ...STANDARD_CYCLE,
  ]),
};
