import { onceStory, type Scenario, UP_TO_BAKE } from "../model/scenario.ts";

/** Bakes on both sides of the 5 min that make a cycle complete. */
export const shortBakes: Scenario = {
  tz: "America/Denver",
  outdoor_c: 10,
  name: "short-bakes",
  title: "bakes of 4 min, of twice 4 min, and of 6 min (the only complete one)",
  repeat: "once",
  beats: onceStory([
    ...UP_TO_BAKE,
    { mode: "bake", minutes: 4 },
    { mode: "cool_down", minutes: 5 },
    { mode: "idle", minutes: 15 },
    ...UP_TO_BAKE,
    { mode: "bake", minutes: 4 },
    { mode: "purge", minutes: 3 },
    { mode: "bake", minutes: 4 },
    { mode: "cool_down", minutes: 10 },
    { mode: "idle", minutes: 15 },
    ...UP_TO_BAKE,
    { mode: "bake", minutes: 6 },
    { mode: "cool_down", minutes: 10 },
  ]),
};
