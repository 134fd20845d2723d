import { BUSY_DAY, type Beat, type Scenario, STANDARD_CYCLE } from "../model/scenario.ts";

const OFF: Beat = { at: "17:30", steps: [{ mode: "off" }] };
const cycleAt = (at: string): Beat => ({ at, steps: [...STANDARD_CYCLE, { mode: "idle" }] });
const SATURDAY: readonly Beat[] = [
  { at: "08:45", steps: [{ mode: "idle" }] },
  cycleAt("09:00"),
  { at: "11:05", steps: [...STANDARD_CYCLE, { mode: "off" }] },
];
const QUIET_DAY: readonly Beat[] = [
  { at: "07:45", steps: [{ mode: "idle" }] },
  cycleAt("08:20"),
  cycleAt("13:10"),
  OFF,
];

/**
 * Weeks of a shop for screenshots of a month. A busy day has 395 in-use minutes, a week with its Saturday about 1,950.
 * The exhaust filter with its limit of 6,000 is changed late on the seventh day, and exceeds its limit again in the
 * last days of the month.
 */
export const busyWeeks: Scenario = {
  tz: "America/Denver",
  outdoor_c: 4,
  name: "busy-weeks",
  title:
    "four busy days and a quiet Wednesday a week, two cycles on Saturdays; filters changed, a fault and a cable that slips now and then",
  repeat: "daily",
  beats: BUSY_DAY,
  on_weekday: { 0: [], 3: QUIET_DAY, 6: SATURDAY },
  filter_minutes: { exhaust_filter: 4600, pre_filter: 12_600, intake_filter: 21_000 },
  on_day: {
    5: [{ at: "11:36", steps: [{ mode: "fault", minutes: 22, fault_code: 31 }, { mode: "setback" }] }],
    11: [{ at: "15:36", steps: [{ mode: "estop", minutes: 3 }, { mode: "idle" }] }],
    16: [
      {
        at: "10:05",
        steps: [{ kind: "cable", connected: false }, { wait_minutes: 41 }, { kind: "cable", connected: true }],
      },
    ],
    24: [{ at: "13:49", steps: [{ mode: "fault", minutes: 6, fault_code: 7 }, { mode: "idle" }] }],
  },
  routines: [
    { first_day: 6, every_days: 24, beats: [{ at: "17:50", steps: [{ kind: "press", filter: "exhaust_filter" }] }] },
    { first_day: 19, every_days: 60, beats: [{ at: "17:55", steps: [{ kind: "press", filter: "pre_filter" }] }] },
  ],
};
