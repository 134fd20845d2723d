import { type Action, type TimedAction, USUAL_MODE_SETS } from "./types.ts";
import { type Beat, RAMP_MINUTES, type Scenario, type Step } from "./scenario.ts";
import { addDays, instantOf, localDate, weekdayOf } from "./local-time.ts";
import { uniform } from "./random.ts";
import { MINUTE_MS } from "../../../src/domain/time.ts";

const DEFAULT_SHIFT_S = 90;
/** Maximum shift of borders between two in-use stages, so that sums over a cycle stay exact. */
const BOUNDARY_JITTER_MS = 10_000;

function modeActions(step: Extract<Step, { mode: unknown }>, at: number): readonly TimedAction[] {
  const make = (phase: "ramp" | "soak" | null): Action => ({
    kind: "mode",
    mode: step.mode,
    phase,
    fault_code: step.fault_code ?? 0,
  });
  if (step.mode !== "bake") return [{ at, action: make(null) }];
  const soakAt = at + RAMP_MINUTES * MINUTE_MS;
  if ((step.minutes ?? Infinity) <= RAMP_MINUTES) return [{ at, action: make("ramp") }];
  return [
    { at, action: make("ramp") },
    { at: soakAt, action: make("soak") },
  ];
}

function isInUse(step: Step | undefined): boolean {
  return step !== undefined && "mode" in step && USUAL_MODE_SETS.in_use.includes(step.mode);
}

/**
 * Places the steps of a beat from `start` on. `draw(i)` in [-1, 1) shifts the start of the i-th step if it may be
 * shifted.
 */
function playSteps(steps: readonly Step[], start: number, draw: (i: number) => number): readonly TimedAction[] {
  const actions: TimedAction[] = [];
  let cursor = start;
  for (const [i, step] of steps.entries()) {
    if ("mode" in step) {
      const movable = isInUse(step) && isInUse(steps[i - 1]);
      const at = cursor + (movable ? Math.round(draw(i) * BOUNDARY_JITTER_MS) : 0);
      actions.push(...modeActions(step, at));
      cursor += Math.round((step.minutes ?? 0) * MINUTE_MS);
    } else if ("wait_minutes" in step) {
      cursor += Math.round(step.wait_minutes * MINUTE_MS);
    } else {
      actions.push({ at: cursor, action: step });
    }
  }
  return actions;
}

function playBeats(
  beats: readonly Beat[],
  seed: number,
  place: { readonly key: string; readonly instant: (at: string | number) => number },
): readonly TimedAction[] {
  const actions = beats.flatMap((beat, b) => {
    const key = `${place.key}/${b}`;
    const shift = Math.floor(uniform(seed, key) * (beat.shift_s ?? DEFAULT_SHIFT_S) * 1000);
    return playSteps(beat.steps, place.instant(beat.at) + shift, (i) => uniform(seed, `${key}/${i}`) * 2 - 1);
  });
  return actions.toSorted((a, b) => a.at - b.at);
}

/**
 * Returns the story's start: for a daily story, midnight of the start's local day; for one told once, the start itself.
 * Before its origin a booth is off.
 */
export function storyOrigin(scenario: Scenario, start: number): number {
  return scenario.repeat === "daily" ? instantOf(scenario.tz, localDate(scenario.tz, start), "00:00") : start;
}

/** Yields all actions of the story in order of time. A daily story has no end. */
export function* scheduleOf(scenario: Scenario, seed: number, start: number): Generator<TimedAction, void, void> {
  if (scenario.repeat === "once") {
    yield* playBeats(scenario.beats, seed, { key: "once", instant: (at) => start + Number(at) * MINUTE_MS });
    return;
  }
  const first = localDate(scenario.tz, start);
  let last = -Infinity;
  for (let day = 0; ; day++) {
    const date = addDays(first, day);
    const instant = (at: string | number): number => instantOf(scenario.tz, date, String(at));
    const due = (scenario.routines ?? []).filter((r) => day >= r.first_day && (day - r.first_day) % r.every_days === 0);
    const usual = scenario.on_weekday?.[weekdayOf(date)] ?? scenario.beats;
    const beats = [...usual, ...(scenario.on_day?.[day] ?? []), ...due.flatMap((routine) => routine.beats)];
    for (const timed of playBeats(beats, seed, { key: String(day), instant })) {
      if (timed.at < last) throw new Error(`scenario ${scenario.name}: day ${day} begins before the day before ends`);
      last = timed.at;
      yield timed;
    }
  }
}
