import { type Scenario, STANDARD_CYCLE } from "../model/scenario.ts";

/** A night shift. If it starts on 2026-03-07 or 2026-10-31, the clocks change during it. */
export const nightShift: Scenario = {
  tz: "America/Denver",
  outdoor_c: 10,
  name: "night-shift",
  title: "four cycles a night from 22:00 to about 05:00 local (start on 2026-03-07 or 2026-10-31 for the DST nights)",
  repeat: "daily",
  beats: [
    { at: "21:45", steps: [{ mode: "idle" }] },
    {
      at: "22:00",
      steps: [
        ...STANDARD_CYCLE,
        { mode: "idle", minutes: 10 },
        ...STANDARD_CYCLE,
        { mode: "idle", minutes: 10 },
        ...STANDARD_CYCLE,
        { mode: "idle", minutes: 10 },
        ...STANDARD_CYCLE,
        { mode: "idle", minutes: 10 },
        { mode: "off" },
      ],
    },
  ],
};
