import type { FilterType, ProfileMode } from "../../../src/domain/booth.ts";
import type { Manners } from "../manners.ts";
import type { Action, Identity, Integrals } from "./types.ts";

/** A step of a story: a stage (without minutes it lasts until the next event), or an event at one instant. */
export type Step =
  | { readonly mode: ProfileMode; readonly minutes?: number; readonly fault_code?: number }
  | { readonly wait_minutes: number }
  | Exclude<Action, { readonly kind: "mode" | "settle" | "overuse" }>;

/**
 * Consecutive steps. `at` is local time "HH:MM" (daily stories) or minutes after the story's start. The whole beat is
 * shifted by a seeded delay up to shift_s (default 90 s), so that no change coincides with a poll.
 */
export interface Beat {
  readonly at: string | number;
  readonly shift_s?: number;
  readonly steps: readonly Step[];
}

/** A recurring event of a daily story: on first_day, first_day + every_days, ... (0: the start's day). */
export interface Routine {
  readonly first_day: number;
  readonly every_days: number;
  readonly beats: readonly Beat[];
}

/** A story as data. `title` is one line for users. */
export interface Scenario {
  readonly name: string;
  readonly title: string;
  readonly tz: string;
  readonly outdoor_c: number;
  /** once: beats in minutes after the start. daily: beats in local time, every day from the start's day on. */
  readonly repeat: "once" | "daily";
  readonly beats: readonly Beat[];
  /** Beats that replace the daily ones, by day of the week (0: Sunday). */
  readonly on_weekday?: Readonly<Record<number, readonly Beat[]>>;
  /** Additional beats on the nth day of a daily story (0: the start's day), in local time. */
  readonly on_day?: Readonly<Record<number, readonly Beat[]>>;
  readonly routines?: readonly Routine[];
  /** The booth has two bays, and the second follows the first by this many minutes. Only for stories told once. */
  readonly second_bay_minutes?: number;
  /** The server's manners at the start. Default: no faults. */
  readonly manners?: Partial<Manners>;
  /** In-use minutes of each fitted filter at the story's origin. */
  readonly filter_minutes?: Readonly<Partial<Record<FilterType, number>>>;
  /** Values of the PLC's counters at the origin. */
  readonly counters?: Partial<Integrals>;
  readonly identity?: Partial<Identity>;
}

/** Minutes of the ramp at the start of a bake; the rest is soak. */
export const RAMP_MINUTES = 10;

/** The standard cycle of 97 min, 79 of them in use. */
export const STANDARD_CYCLE: readonly Step[] = [
  { mode: "prep", minutes: 8 },
  { mode: "spray", minutes: 12 },
  { mode: "flash", minutes: 6 },
  { mode: "spray", minutes: 12 },
  { mode: "flash", minutes: 6 },
  { mode: "spray", minutes: 10 },
  { mode: "purge", minutes: 3 },
  { mode: "bake", minutes: 30 },
  { mode: "cool_down", minutes: 10 },
];

/** Start of a standard cycle up to its bake. */
export const UP_TO_BAKE: readonly Step[] = STANDARD_CYCLE.slice(0, 7);

/** 08:00 to 17:30 local, five standard cycles, setback over lunch: 395 of 570 min in use. */
export const BUSY_DAY: readonly Beat[] = [
  { at: "07:45", steps: [{ mode: "idle" }] },
  { at: "08:00", steps: [...STANDARD_CYCLE, { mode: "idle" }] },
  { at: "09:47", steps: [...STANDARD_CYCLE, { mode: "idle", minutes: 3 }, { mode: "setback" }] },
  { at: "12:09", steps: [...STANDARD_CYCLE, { mode: "idle" }] },
  { at: "13:56", steps: [...STANDARD_CYCLE, { mode: "idle" }] },
  { at: "15:43", steps: [...STANDARD_CYCLE, { mode: "idle" }] },
  { at: "17:30", steps: [{ mode: "off" }] },
];

/** Returns a story told once: idle at the start, the steps two minutes later, then idle for a while and off. */
export function onceStory(steps: readonly Step[]): readonly Beat[] {
  return [
    { at: 0, shift_s: 0, steps: [{ mode: "idle" }] },
    { at: 2, shift_s: 30, steps: [...steps, { mode: "idle", minutes: 20 }, { mode: "off" }] },
  ];
}

function changeOf(filter: FilterType, first_day: number, every_days: number): Routine {
  return { first_day, every_days, beats: [{ at: "17:50", steps: [{ kind: "press", filter }] }] };
}

/** Filter changes on time, forever, at 395 in-use minutes a day and the usual use at the origin. */
export const FILTER_ROUTINES: readonly Routine[] = [
  changeOf("exhaust_filter", 7, 15),
  changeOf("pre_filter", 25, 45),
  changeOf("intake_filter", 97, 150),
];
