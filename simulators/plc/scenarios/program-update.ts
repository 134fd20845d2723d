import { BUSY_DAY, type Scenario } from "../model/scenario.ts";

export const programUpdate: Scenario = {
  tz: "America/Denver",
  outdoor_c: 10,
  name: "program-update",
  title: "busy days; over lunch of the first the PLC stops for 90 s for program revision 14C to 14D",
  repeat: "daily",
  identity: { plc_program_revision: "14C" },
  beats: BUSY_DAY,
  on_day: {
    0: [
      {
        at: "11:40",
        steps: [
          { kind: "power_off" },
          { wait_minutes: 1.5 },
          { kind: "identity", identity: { plc_program_revision: "14D" } },
          { kind: "power_on", counters: "retained" },
          { wait_minutes: 0.5 },
          { mode: "idle" },
        ],
      },
    ],
  },
};
