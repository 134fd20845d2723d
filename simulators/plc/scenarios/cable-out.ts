import { onceStory, type Scenario, STANDARD_CYCLE } from "../model/scenario.ts";

export const cableOut: Scenario = {
  tz: "America/Denver",
  outdoor_c: 10,
  name: "cable-out",
  title: "cable out for 2 min within a spray, later for 40 min across changes of mode",
  repeat: "once",
  beats: [
    ...onceStory([...STANDARD_CYCLE, { mode: "idle", minutes: 10 }, ...STANDARD_CYCLE]),
    {
      at: 15,
      steps: [
        { kind: "cable", connected: false },
        { wait_minutes: 2 },
        { kind: "cable", connected: true },
        { wait_minutes: 113 },
        { kind: "cable", connected: false },
        { wait_minutes: 40 },
        { kind: "cable", connected: true },
      ],
    },
  ],
};
