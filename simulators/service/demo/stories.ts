import {
  type Beat,
  BUSY_DAY,
  FILTER_ROUTINES,
  type Routine,
  type Scenario,
  STANDARD_CYCLE,
} from "../../plc/model/scenario.ts";
import { uniform } from "../../plc/model/random.ts";

const OFF: Beat = { at: "17:30", steps: [{ mode: "off" }] };
const IDLE: Beat = { at: "07:45", steps: [{ mode: "idle" }] };

const cycleAt = (at: string): Beat => ({ at, steps: [...STANDARD_CYCLE, { mode: "idle" }] });

const STEADY_DAY = [IDLE, cycleAt("08:10"), cycleAt("11:00"), cycleAt("14:30"), OFF];
const QUIET_DAY = [IDLE, cycleAt("09:00"), cycleAt("13:00"), OFF];
const SHORT_BAKE = STANDARD_CYCLE.map((step) =>
  "mode" in step && step.mode === "bake" ? { ...step, minutes: 4 } : step,
);
const HASTY_DAY = [IDLE, cycleAt("08:00"), { at: "10:30", steps: [...SHORT_BAKE, { mode: "idle" }] } as const, OFF];
const FAULTY_DAY: readonly Beat[] = [
  { at: "12:40", steps: [{ mode: "fault", minutes: 25, fault_code: 7 }, { mode: "idle" }] },
];

/** The daily schedule of each kind of shop. */
const DAYS: readonly (readonly Beat[])[] = [BUSY_DAY, STEADY_DAY, QUIET_DAY, STEADY_DAY, HASTY_DAY];

/** Returns filter changes on time, a week late, or none. */
function routinesOf(booth: number): readonly Routine[] {
  if (booth % 10 === 9) return [];
  if (booth % 5 !== 3) return FILTER_ROUTINES;
  return FILTER_ROUTINES.map((routine) => ({ ...routine, first_day: routine.first_day + 7 }));
}

/** Returns the story of the nth booth of the demo: its kind of day, its climate, and its filter maintenance. */
export function demoStory(
  booth: number,
  at: { readonly seed: number; readonly tz: string; readonly days: number },
): Scenario {
  const { seed, tz, days } = at;
  const faultyDays = Array.from({ length: days }, (_, day) => day).filter(
    (day) => booth % 5 === 1 && uniform(seed, `fault/${booth}/${day}`) < 0.05,
  );
  return {
    name: `demo-${booth}`,
    title: "a booth of the demo",
    tz,
    outdoor_c: Math.round(uniform(seed, `outdoor/${booth}`) * 30),
    repeat: "daily",
    beats: DAYS[booth % DAYS.length] ?? BUSY_DAY,
    on_day: Object.fromEntries(faultyDays.map((day) => [day, FAULTY_DAY])),
    routines: routinesOf(booth),
    identity: { plc_serial: demoSerial(booth) },
  };
}

export function demoSerial(booth: number): string {
  return `DEMO-${String(booth + 1).padStart(3, "0")}`;
}
