import { FILTER_TYPES, type FilterType } from "../../src/domain/booth.ts";
import { diceOf, randomScenario, type Dice } from "../scenarios/random.ts";
import { seededRandom } from "../support/seeded-random.ts";
import type { Beat, Scenario, Step } from "../../simulators/plc/model/scenario.ts";
import { fieldStoryOf } from "./field/stories.ts";
import { outputFaultsOf, outputsOf } from "./outputs/stories.ts";
import {
  CHUNK_TROUBLES,
  type Fault,
  type FaultKind,
  LIES,
  type Moment,
  PORTS,
  type Story,
  type StoryChunks,
  type WallAtBoot,
} from "./story.ts";
import { MINUTE_MS, HOUR_MS } from "../../src/domain/time.ts";

const MINUTES_A_DAY = 24 * 60;
/**
 * Monday 2026-03-02 06:00 in Denver. Stories start within the three weeks after it, which contain the change to summer
 * time.
 */
const FIRST_START = Date.UTC(2026, 2, 2, 13);
const LEAST_FAULTS = 20;
const ZONES = ["America/Denver", "America/New_York", "Europe/Berlin", "Asia/Kolkata", "UTC"] as const;

/** Returns the seed's story: a day of booth life or more, and 20 faults or more. */
export function storyOf(seed: number): Story {
  const dice = diceOf(seededRandom(seed));
  const hours = Math.round(dice.between(24, 30));
  const count = Math.floor(dice.between(LEAST_FAULTS, LEAST_FAULTS + 8));
  const is_small = dice.chance(0.1);
  const faults = is_small ? [longOutage(hours)] : [...swapOf(dice, hours)];
  while (faults.length < count) {
    const fault = faultOf(dice, hours * HOUR_MS);
    if (!is_small || !NOT_WITH_SMALL_STORE.includes(fault.kind)) faults.push(fault);
  }
  const told = diceOf(seededRandom(seed + CHUNKS_APART));
  for (const outage of faults.filter(isOutage)) faults.push(...chunkTroubleOf(told, outage, hours));
  faults.push(...restoresOf(diceOf(seededRandom(seed + RESTORES_APART)), hours));
  const serial_at_ms = dice.chance(0.2) ? Math.floor(dice.between(1, 300)) * MINUTE_MS : null;
  const start = FIRST_START + Math.floor(dice.between(0, 21 * 24)) * HOUR_MS;
  const beside = diceOf(seededRandom(seed + OUTPUTS_APART));
  const shape = { start, hours, is_small, is_compared: seed % COMPARED_EACH === 0 };
  const outputs = outputsOf(beside, shape);
  const tz = dice.one(ZONES);
  const needs_time = is_small || faults.some(({ kind }) => kind === "swap");
  const field = fieldStoryOf(diceOf(seededRandom(seed + FIELD_APART)), outputs, { ...shape, tz, needs_time });
  return {
    seed,
    start,
    hours: field.hours,
    told_hours: hours,
    ...(field.repeated_days === 0 ? {} : { repeated_days: field.repeated_days }),
    tz,
    profile: "click-booth",
    // With slower polls, a stage could be seen on the other side of a limit. The booth's lengths keep a certain
    // distance from limits.
    poll_ms: dice.chance(0.01) ? 1_000 : dice.one([5_000, 10_000, 10_000, 10_000]),
    commit_interval_ms: dice.chance(0.03) ? 60_000 : dice.one([300_000, 600_000, 900_000]),
    budget_bytes: is_small ? SMALL_BYTES : null,
    chunks: told.chance(0.1) ? null : chunksOf(told),
    is_without_chunks: told.chance(0.1),
    serial_at_ms,
    ...(outputs.length === 0 ? {} : { outputs, is_compared: shape.is_compared }),
    faults: [
      ...faults,
      ...firstContact(dice, serial_at_ms),
      ...outputFaultsOf(beside, outputs, shape),
      ...field.faults,
    ].sort((a, b) => a.at_ms - b.at_ms),
  };
}

/** Outputs are drawn from their own random sequence. One story in this many is also played without them. */
const OUTPUTS_APART = 6_000_011;
const COMPARED_EACH = 25;

/** Faults reported from the field are drawn from their own random sequence. */
const FIELD_APART = 7_000_003;

/** Chunks are drawn from their own random sequence. */
const CHUNKS_APART = 4_000_003;

/** Restores of the service are drawn from their own random sequence. */
const RESTORES_APART = 8_000_009;

/** Draws up to two restores of the service from a backup. The last one ends an hour before the story does. */
function restoresOf(dice: Dice, hours: number): readonly Fault[] {
  const count = dice.one([0, 1, 1, 2]);
  return Array.from({ length: count }, (): Fault => {
    const end_ms = Math.floor(dice.between(2, hours - 1) * HOUR_MS);
    const for_ms = Math.min(minutes(dice, 5, 300), end_ms - HOUR_MS);
    return { kind: "service_restored", at_ms: end_ms - for_ms, for_ms };
  });
}

/** Number of records that accumulate in half an hour without the service. */
const LEAST_BACKLOG = 60;

/** A commit of 5 to 15 min has some 30 to 130 records. */
function chunksOf(dice: Dice): StoryChunks {
  const closed_records = dice.one([60, 60, 120, 250]);
  return { closed_records, least_chunk_records: Math.floor(closed_records / 4), least_backlog: LEAST_BACKLOG };
}

type Outage = Extract<Fault, { kind: "service_down" }>;

function isOutage(fault: Fault): fault is Outage {
  return fault.kind === "service_down";
}

/** Draws a fault of chunks for the end of an outage, when the backlog is sent. */
function chunkTroubleOf(dice: Dice, { at_ms, for_ms }: Outage, hours: number): readonly Fault[] {
  const begin = at_ms + for_ms - MINUTE_MS;
  if (begin >= hours * HOUR_MS - 30 * MINUTE_MS || !dice.chance(0.6)) return [];
  return [{ at_ms: begin, kind: "chunks", how: dice.one(CHUNK_TROUBLES), for_ms: minutes(dice, 2, 40) }];
}

/**
 * Whether polls can see the step. A second reset soon after the first can fall between two polls of a minute, so
 * filters are changed as faults, when polls can see it.
 */
function isSeen(step: Step): boolean {
  return !("kind" in step && step.kind === "press");
}

/** Returns the booth's own story: part of the day at work, the rest off; every seventh story is a quiet weekend. */
export function scenarioOf(story: Story): Scenario {
  const dice = diceOf(seededRandom(story.seed + 1_000_003));
  const working = story.seed % 7 === 0 ? 1 : dice.between(2.5, 6);
  const scenario = randomScenario(dice, Math.min(working, story.told_hours - 1));
  const off: readonly Step[] = [{ mode: "idle", minutes: 20 }, { mode: "off" }];
  const beats = scenario.beats.map((beat, index) =>
    index === scenario.beats.length - 1
      ? {
          ...beat,
          at: Math.floor(dice.between(2, (story.told_hours - working - 1) * 60)),
          steps: [...beat.steps.filter(isSeen), ...off],
        }
      : beat,
  );
  return { ...scenario, tz: story.tz, beats: [...beats, ...repeatedBeats(beats, story.repeated_days ?? 0)] };
}

/** Repeats the last beat on each of `days` days. */
function repeatedBeats(beats: readonly Beat[], days: number): readonly Beat[] {
  const last = beats.at(-1);
  if (last === undefined) return [];
  return Array.from({ length: days }, (_, day) => ({ ...last, at: Number(last.at) + (day + 1) * MINUTES_A_DAY }));
}

function faultOf(dice: Dice, within_ms: number): Fault {
  const at_ms = Math.floor(dice.between(5 * MINUTE_MS, within_ms - 30 * MINUTE_MS));
  return { at_ms, ...dice.one(KINDS)(dice) };
}

/** A size so small that the store must drop records after some hours without the service. */
const SMALL_BYTES = 260_000;

/** While records are dropped the time must be known. Otherwise it is undefined which records are missing. */
const NOT_WITH_SMALL_STORE: readonly string[] = ["power_cut", "reboot", "clock_step", "service_down"];

function longOutage(hours: number): Fault {
  return { at_ms: HOUR_MS, kind: "service_down", for_ms: Math.floor(hours * 0.7) * HOUR_MS };
}

/** Draws a replacement of the gateway for some booths, hours after the start and before the end. */
function swapOf(dice: Dice, hours: number): readonly Fault[] {
  if (!dice.chance(0.1)) return [];
  const at_ms = Math.floor(dice.between(6, hours - 4) * HOUR_MS);
  return [{ at_ms, kind: "swap", for_ms: minutes(dice, 2, 40) }];
}

/** Draws faults during the binding of a gateway. */
function firstContact(dice: Dice, serial_at_ms: number | null): readonly Fault[] {
  if (!dice.chance(0.5)) return [];
  const at_ms = Math.max(0, (serial_at_ms ?? 0) - 1);
  const trouble: FaultKind = dice.one<FaultKind>([
    { kind: "http", status: "cut", for_ms: minutes(dice, 1, 5) },
    { kind: "http", status: 503, for_ms: minutes(dice, 1, 5) },
    { kind: "kill", moment: { port: "http", nth: Math.floor(dice.between(1, 8)), when: "after" }, for_ms: 2_000 },
    { kind: "kill", moment: { port: "row", nth: Math.floor(dice.between(1, 8)), when: "after" }, for_ms: 2_000 },
  ]);
  return [{ at_ms, ...trouble }];
}

function minutes(dice: Dice, low: number, high: number): number {
  return Math.floor(dice.between(low, high) * MINUTE_MS);
}

function seconds(dice: Dice, low: number, high: number): number {
  return Math.floor(dice.between(low, high) * 1_000);
}

/** Draws a moment: mostly a call inside the agent, otherwise any instant. */
function momentOf(dice: Dice): Moment | null {
  if (dice.chance(0.3)) return null;
  return { port: dice.one(PORTS), nth: Math.floor(dice.between(1, 6)), when: dice.one(["before", "after"]) };
}

function wallOf(dice: Dice): WallAtBoot {
  return dice.one<WallAtBoot>(["right", "right", "right", "1970", "day_ahead", "day_behind"]);
}

function filterOf(dice: Dice): FilterType {
  return dice.one(FILTER_TYPES);
}

/** Draws one filter, all but one, or all, changed in one visit. */
function filtersOf(dice: Dice): readonly FilterType[] {
  const drawn = filterOf(dice);
  if (dice.chance(0.6)) return [drawn];
  return dice.chance(0.5) ? FILTER_TYPES : FILTER_TYPES.filter((filter) => filter !== drawn);
}

const STEPS_MS = [86_400_000, -86_400_000, HOUR_MS, -HOUR_MS, 1_500, -1_500] as const;

/** Draws the number of false answers: one, a few, or all for some minutes. */
function lying(dice: Dice): FaultKind {
  return {
    kind: "lying",
    lie: dice.one(LIES),
    times: dice.one([1, 1, 3, null, null]),
    salt: Math.floor(dice.between(1, 1e9)),
    for_ms: minutes(dice, 1, 30),
  };
}

type Draw = (dice: Dice) => FaultKind;

/** A kind is listed as often as its probability requires. */
const KINDS: readonly Draw[] = [
  ...twice((dice) => ({ kind: "kill", moment: momentOf(dice), for_ms: seconds(dice, 1, 8) })),
  (dice) => ({ kind: "restart", upgrade: dice.chance(0.5), for_ms: seconds(dice, 1, 8) }),
  ...twice((dice) => ({
    kind: "power_cut",
    moment: dice.chance(0.5) ? { port: "ingest", nth: Math.floor(dice.between(1, 4)), when: "after" } : momentOf(dice),
    for_ms: seconds(dice, 20, 900),
    wall: wallOf(dice),
  })),
  (dice) => ({ kind: "reboot", for_ms: seconds(dice, 20, 90), wall: wallOf(dice) }),
  (dice) => ({ kind: "plc", how: dice.one(["timeout", "refused", "reset"]), for_ms: seconds(dice, 2, 1_200) }),
  (dice) => ({ kind: "cable", for_ms: minutes(dice, 0.04, 40) }),
  (dice) => ({ kind: "plc_power", for_ms: minutes(dice, 0.1, 30), counters: dice.one(["retained", "lost"]) }),
  (dice) => ({ kind: "bad_tag", tag: dice.one(["mode", "gas", "cycle_count"]), for_ms: minutes(dice, 0.5, 20) }),
  (dice) => ({
    kind: "lossy",
    share: dice.one([0.01, 0.05, 0.1, 0.2, 0.2]),
    reason: dice.one(["no_answer", "wrong_answer"]),
    salt: Math.floor(dice.between(1, 1e9)),
    for_ms: minutes(dice, 2, 40),
  }),
  ...twice((dice) => ({ kind: "service_down", for_ms: minutes(dice, 1, 400) })),
  (dice) => ({ kind: "latency", latency_ms: seconds(dice, 0.5, 4), for_ms: minutes(dice, 1, 30) }),
  (dice) => ({ kind: "lost_acks", count: Math.floor(dice.between(1, 5)) }),
  (dice) => ({ kind: "doubled", count: Math.floor(dice.between(1, 5)) }),
  (dice) => ({ kind: "http", status: dice.one([401, 403, 429, 500, 503, "cut"]), for_ms: minutes(dice, 1, 40) }),
  ...twice(lying),
  ...twice(lying),
  () => ({ kind: "session_lost" }),
  ...twice((dice) => ({ kind: "clock_step", step_ms: dice.one(STEPS_MS) })),
  (dice) => ({ kind: "disk", how: dice.one(["full", "io"]), for_ms: seconds(dice, 2, 90) }),
  (dice) => ({ kind: "disk", how: "fsync", for_ms: seconds(dice, 2, 20) }),
  (dice) => ({
    kind: "bad_bit",
    where: dice.between(0, 1),
    is_killed: dice.chance(0.5),
    for_ms: seconds(dice, 1, 8),
  }),
  (dice) => ({ kind: "filter_change", filters: filtersOf(dice) }),
  (dice) => ({ kind: "entry", filter: filterOf(dice), ago_ms: minutes(dice, 0, 60) }),
];

function twice(draw: Draw): readonly Draw[] {
  return [draw, draw];
}
