import { onceStory, type Scenario } from "../model/scenario.ts";

export const waterborne: Scenario = {
  tz: "America/Denver",
  outdoor_c: 10,
  name: "waterborne",
  title: "one cycle with waterborne paint: flashes of 12 min",
  repeat: "once",
  beats: onceStory([
    { mode: "prep", minutes: 8 },
    { mode: "spray", minutes: 12 },
    { mode: "flash", minutes: 12 },
    { mode: "spray", minutes: 12 },
    { mode: "flash", minutes: 12 },
    { mode: "spray", minutes: 10 },
    { mode: "flash", minutes: 12 },
    { mode: "purge", minutes: 3 },
    { mode: "bake", minutes: 30 },
    { mode: "cool_down", minutes: 10 },
  ]),
};
