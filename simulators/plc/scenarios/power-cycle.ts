import { onceStory, type Scenario, STANDARD_CYCLE, type Step, UP_TO_BAKE } from "../model/scenario.ts";

function story(counters: "retained" | "lost"): readonly Step[] {
  return [
    ...UP_TO_BAKE,
    { mode: "bake", minutes: 12 },
    { kind: "power_off" },
    { wait_minutes: 4 },
    { kind: "power_on", counters },
    { wait_minutes: 2 },
    { mode: "idle", minutes: 10 },
    ...STANDARD_CYCLE,
  ];
}

export const powerCycle: Scenario = {
  name: "power-cycle",
  title: "PLC without power for 4 min in the bake, its counters retained; then a standard cycle",
  tz: "America/Denver",
  outdoor_c: 10,
  repeat: "once",
  beats: onceStory(story("retained")),
};

export const powerCycleLost: Scenario = {
  name: "power-cycle-lost",
  title: "PLC without power for 4 min in the bake, its counters lost; then a standard cycle",
  tz: "America/Denver",
  outdoor_c: 10,
  repeat: "once",
  beats: onceStory(story("lost")),
};
