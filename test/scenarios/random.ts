import { FILTER_TYPES, type FilterType } from "../../src/domain/booth.ts";
import type { Scenario, Step } from "../../simulators/plc/model/scenario.ts";
import type { Random } from "../../src/domain/machine.ts";

/** Random draws for a story, reproducible from the seed. */
export interface Dice {
  /** Uniform in [low, high), to the millisecond of a minute. */
  between(low: number, high: number): number;
  chance(share: number): boolean;
  one<T>(of: readonly T[]): T;
}

export function diceOf(random: Random): Dice {
  return {
    between: (low, high) => low + random.next() * (high - low),
    chance: (share) => random.next() < share,
    one: (of) => {
      const drawn = of[Math.floor(random.next() * of.length)];
      if (drawn === undefined) throw new Error("nothing to draw from");
      return drawn;
    },
  };
}

type Mode = Extract<Step, { mode: unknown }>["mode"];

/**
 * Draws a length in minutes away from the limits in the rules. A stage's length is known to within a poll, and jitter
 * moves its borders by up to 10 s, so at 5 min of bake both results would be right.
 */
function lengthOf(dice: Dice, mode: Mode): number {
  if (mode === "bake") return dice.chance(0.25) ? dice.between(1, 4.5) : dice.between(5.5, 40);
  if (mode === "spray") return dice.chance(0.1) ? dice.between(0.5, 0.8) : dice.between(4, 20);
  if (mode === "idle" || mode === "setback") return dice.chance(0.3) ? dice.between(0.4, 1.5) : dice.between(2.5, 45);
  return dice.between(0.5, 12);
}

/** Draws the length of an outage: bridged, judged by the meters, or over half an hour, not near a threshold. */
function outageMinutes(dice: Dice): number {
  return dice.one([
    () => dice.between(2, 6) / 60,
    () => dice.between(0.5, 1.8),
    () => dice.between(2.3, 28),
    () => dice.between(33, 70),
  ])();
}

/** Creates a stage with an outage inside or across its end. Nothing else happens within half a minute of the outage. */
function cutStage(dice: Dice, mode: Mode): Step[] {
  const minutes = outageMinutes(dice);
  const settle = (): Step => ({ wait_minutes: dice.between(0.6, 5) });
  const across = minutes > 2 && dice.chance(0.5);
  const next: Step[] = across
    ? [
        { wait_minutes: minutes / 2 },
        { mode: dice.one<Mode>(["flash", "idle", "bake", "spray"]) },
        { wait_minutes: minutes / 2 },
      ]
    : [{ wait_minutes: minutes }];
  return [
    { mode },
    settle(),
    { kind: "cable", connected: false },
    ...next,
    { kind: "cable", connected: true },
    settle(),
  ];
}

function powerCycle(dice: Dice): Step[] {
  const minutes = dice.chance(0.3) ? dice.between(2, 6) / 60 : dice.between(0.6, 40);
  return [
    { wait_minutes: dice.between(0.6, 3) },
    { kind: "power_off" },
    { wait_minutes: minutes },
    { kind: "power_on", counters: dice.chance(0.4) ? "lost" : "retained" },
    { wait_minutes: dice.between(0.6, 4) },
  ];
}

function press(dice: Dice): Step[] {
  const filter: FilterType = dice.one(FILTER_TYPES);
  const again: Step[] = dice.chance(0.3) ? [{ wait_minutes: dice.between(0.2, 8) }, { kind: "press", filter }] : [];
  return [{ kind: "press", filter }, ...again, { wait_minutes: dice.between(0.6, 2) }];
}

const JOBS: readonly (readonly Mode[])[] = [
  ["prep", "spray", "flash", "spray", "flash", "spray", "purge", "bake", "cool_down"],
  ["prep", "spray", "flash", "purge", "bake", "cool_down"],
  ["spray", "purge", "bake"],
  ["spray", "flash", "spray"],
  ["purge", "bake", "cool_down"],
  ["spray", "bake", "spray", "bake", "cool_down"],
  ["prep", "spray", "idle", "spray", "purge", "bake", "cool_down", "spray", "flash"],
];

function stage(dice: Dice, mode: Mode): Step[] {
  const steps: Step[] = dice.chance(0.08) ? cutStage(dice, mode) : [{ mode, minutes: lengthOf(dice, mode) }];
  if (dice.chance(0.03))
    return [...steps, ...powerCycle(dice), { mode: "idle" as const, minutes: lengthOf(dice, "idle") }];
  if (dice.chance(0.04)) {
    const trouble = dice.one<Mode>(["fault", "estop", "maintenance"]);
    return [
      ...steps,
      { mode: trouble, minutes: dice.between(0.1, 20) },
      { mode: dice.one<Mode>(["off", "idle"]), minutes: dice.between(0.5, 10) },
    ];
  }
  return dice.chance(0.05) ? [...steps, { wait_minutes: 0.6 }, ...press(dice)] : steps;
}

/** Creates jobs for `hours`. Each filter starts below or above its limit. */
export function randomScenario(dice: Dice, hours: number): Scenario {
  const steps: Step[] = [];
  let minutes = 0;
  while (minutes < hours * 60) {
    const job: Step[] = dice.one(JOBS).flatMap((mode) => stage(dice, mode));
    job.push(...stage(dice, dice.one<Mode>(["idle", "setback", "off"])));
    for (const step of job)
      minutes += "wait_minutes" in step ? step.wait_minutes : "mode" in step ? (step.minutes ?? 0) : 0;
    steps.push(...job);
  }
  return {
    name: "random",
    title: "random jobs with outages, power cycles, faults and filter changes",
    tz: "America/Denver",
    outdoor_c: dice.between(-10, 35),
    repeat: "once",
    beats: [
      { at: 0, shift_s: 0, steps: [{ mode: "idle" }] },
      { at: 2, shift_s: 30, steps },
    ],
    filter_minutes: {
      exhaust_filter: dice.between(5_500, 6_100),
      pre_filter: dice.between(17_500, 18_100),
      intake_filter: dice.between(100, 59_900),
    },
  };
}
