import { dayOf, instantOf } from "../../../src/domain/time-zone.ts";
import { CLOSES_WHEN } from "../../../simulators/virtual/closing-device.ts";
import { WRONG_TYPES } from "../../../simulators/virtual/driver.ts";
import type { Dice } from "../../scenarios/random.ts";
import {
  AGENT_LOOPS,
  type Fault,
  FOREIGN_ANSWERS,
  FOREIGN_SHAPES,
  type ForeignAnswer,
  type Port,
  type StoryOutput,
} from "../story.ts";
import { MINUTE_MS, HOUR_MS } from "../../../src/domain/time.ts";

/** The first hours of some seeds have recorded facts (facts.nightly.test.ts). Field faults start after them. */
const FIRST_MS = 6.5 * HOUR_MS;
/** Each fault ends this long before the story does, so that its end is checked too. */
const LAST_MS = 2 * HOUR_MS;

/** Tags with a role, for which the laws define the effect of a bad reading. */
const WRONG_TAGS = ["mode", "gas", "cycle_count"] as const;
const HANGS: readonly (Port | null)[] = [null, null, "ingest", "plc", "http", "send"];

export interface FieldShape {
  readonly start: number;
  readonly hours: number;
  readonly tz: string;
  /** Records are dropped for lack of space, or the gateway is replaced, so the time must be known throughout. */
  readonly needs_time: boolean;
  /**
   * The story is also played without its outputs, so no fault may end the process at an instant that depends on them.
   */
  readonly is_compared: boolean;
}

export interface FieldStory {
  readonly faults: readonly Fault[];
  /** Hours to play, which may be longer than the shape's if the fault lasts for days. */
  readonly hours: number;
  readonly repeated_days: number;
}

export function fieldStoryOf(dice: Dice, outputs: readonly StoryOutput[], shape: FieldShape): FieldStory {
  const timeless = withoutTime(dice, outputs, shape);
  const hours = timeless?.hours ?? shape.hours;
  const at = (): number => Math.floor(dice.between(FIRST_MS, hours * HOUR_MS - LAST_MS - 2 * HOUR_MS));
  const minutes = (low: number, high: number): number => Math.floor(dice.between(low, high) * MINUTE_MS);
  const faults: readonly (Fault | false)[] = [
    timeless?.fault ?? false,
    dice.chance(0.5) && {
      at_ms: at(),
      kind: "wrong_type",
      tag: dice.one(WRONG_TAGS),
      how: dice.one(WRONG_TYPES),
      for_ms: minutes(12, 60),
    },
    // The agent measures the time between an answer and a close in real time, so two plays of a story may differ by a
    // poll.
    dice.chance(0.35) &&
      !shape.is_compared && {
        at_ms: at(),
        kind: "plc_closes",
        when: dice.one(CLOSES_WHEN),
        for_ms: minutes(10, 90),
      },
    dice.chance(0.2) && { at_ms: at(), kind: "service_closes", for_ms: minutes(5, 40) },
    !shape.is_compared &&
      dice.chance(0.35) && {
        at_ms: at(),
        kind: "fatal",
        loop: dice.one(AGENT_LOOPS.filter((loop) => loop !== "outputs" || outputs.length > 0)),
        hangs: dice.one(HANGS),
      },
    dice.chance(0.35) && foreignOf(dice, dice.one(FOREIGN_ANSWERS), { ...shape, at }),
  ];
  const closes = outputs.map(
    ({ name: output }): Fault | false =>
      dice.chance(0.3) && { kind: "output_closes", at_ms: at(), output, for_ms: minutes(5, 60) },
  );
  return {
    faults: [...faults, ...closes].filter((fault) => fault !== false),
    hours,
    repeated_days: timeless?.repeated_days ?? 0,
  };
}

interface Timeless {
  readonly fault: Fault;
  readonly hours: number;
  readonly repeated_days: number;
}

/** Draws a fault without a time source for hours, or for two days and more. Only stories with outputs have it. */
function withoutTime(dice: Dice, outputs: readonly StoryOutput[], shape: FieldShape): Timeless | null {
  const isDrawn = dice.chance(0.25);
  const areDays = dice.chance(0.25);
  const wall = dice.one(["right", "right", "1970", "day_behind"] as const);
  const at_ms = Math.floor(dice.between(FIRST_MS, FIRST_MS + 2 * HOUR_MS));
  const long = dice.between(40, 52);
  const short = dice.between(2, 10);
  if (!isDrawn || outputs.length === 0 || shape.needs_time) return null;
  const for_ms = Math.floor((areDays ? long : short) * HOUR_MS);
  const hours = Math.max(shape.hours, Math.ceil((at_ms + for_ms + LAST_MS) / HOUR_MS));
  return { fault: { kind: "no_time", at_ms, wall, for_ms }, hours, repeated_days: areDays ? 2 : 0 };
}

/** The gateway compares a day with the service two to two and a half hours after the day's end. */
const COMPARED_AFTER_MS = 2 * HOUR_MS;

function foreignOf(
  dice: Dice,
  where: ForeignAnswer,
  { start, tz, hours, at }: FieldShape & { readonly at: () => number },
): Fault {
  const how = dice.one(FOREIGN_SHAPES);
  const for_ms = Math.floor(dice.between(5, 90) * MINUTE_MS);
  const drawn = at();
  if (where !== "report") return { kind: "foreign", at_ms: drawn, how, in: where, for_ms };
  const first = instantOf(tz, dayOf(tz, start) + 1, 0) + COMPARED_AFTER_MS - start;
  const due = first < FIRST_MS ? first + 24 * HOUR_MS : first;
  const at_ms = Math.min(due - 5 * MINUTE_MS, hours * HOUR_MS - LAST_MS);
  return { kind: "foreign", at_ms, how, in: where, for_ms: for_ms + 40 * MINUTE_MS };
}
