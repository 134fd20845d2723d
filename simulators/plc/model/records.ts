import type { Mode } from "../../../src/domain/booth.ts";
import { MINUTE_MS, SECOND_MS } from "../../../src/domain/time.ts";
import type { Booth } from "./booth.ts";
import { RUN_PAUSE_MS } from "./cycles.ts";
import { addDays, instantOf, localDate } from "./local-time.ts";
import type { StageTruth } from "./truth.ts";

/** The lowest and highest temperature of a minute, in degrees Celsius. */
export interface MinuteTruth {
  readonly low: number;
  readonly high: number;
}

/** The true course of a bake: its stages, each with the temperatures per minute from the stage's start on. */
export interface BakeTruth {
  /** 0: a booth with one bay. */
  readonly bay: number;
  readonly start: number;
  readonly end: number;
  readonly bake_ms: number;
  readonly parts: readonly (StageTruth & {
    readonly air: readonly MinuteTruth[];
    readonly metal: readonly MinuteTruth[];
  })[];
}

/** The true use of a booth on a local day. */
export interface DayTruth {
  /** Local date, such as "2026-03-02". */
  readonly day: string;
  readonly start: number;
  readonly end: number;
  readonly use_ms: number;
  readonly spray_ms: number;
  /** Time without power or without the cable. */
  readonly outage_ms: number;
}

const NEXT_JOB: readonly Mode[] = ["spray", "flash"];
const HOT: readonly Mode[] = ["bake", "cool_down"];
const RESTS: readonly Mode[] = ["idle", "setback", "prep", "unknown"];

/** Returns the bakes that end in [from, to), by bay and start. */
export function bakesTruth(booth: Booth, from: number, to: number): readonly BakeTruth[] {
  const bays = booth.bays.length === 0 ? [booth] : booth.bays;
  return bays.flatMap((one, nth) => {
    const bay = booth.bays.length === 0 ? 0 : nth + 1;
    return bakesOfStages(one.truth(from, to + RUN_PAUSE_MS).stages)
      .filter((stages) => (stages.at(-1)?.end ?? 0) < to)
      .map((stages) => bakeTruth(one, bay, stages));
  });
}

/** Groups the stages bake and cool_down: a bake lasts until the next job, or until the run ends. */
function bakesOfStages(stages: readonly StageTruth[]): StageTruth[][] {
  const bakes: StageTruth[][] = [];
  let open = false;
  let rest_ms = 0;
  for (const stage of stages) {
    const { mode, start, end } = stage;
    if (HOT.includes(mode) && (open || mode === "bake")) {
      if (open) bakes.at(-1)?.push(stage);
      else bakes.push([stage]);
      open = true;
    }
    rest_ms = RESTS.includes(mode) ? rest_ms + end - start : 0;
    const isEnd = rest_ms >= RUN_PAUSE_MS || NEXT_JOB.includes(mode);
    if (isEnd || !(HOT.includes(mode) || RESTS.includes(mode) || mode === "purge")) open = false;
  }
  return bakes;
}

function bakeTruth(booth: Booth, bay: number, stages: readonly StageTruth[]): BakeTruth {
  const baked = stages.filter(({ mode }) => mode === "bake");
  return {
    bay,
    start: stages[0]?.start ?? 0,
    end: stages.at(-1)?.end ?? 0,
    bake_ms: baked.reduce((sum, { start, end }) => sum + end - start, 0),
    parts: stages.map((stage) => ({
      ...stage,
      air: minutesOf(booth, stage, "air_c"),
      metal: minutesOf(booth, stage, "metal_c"),
    })),
  };
}

/** Samples a temperature each second. */
function minutesOf(booth: Booth, { start, end }: StageTruth, field: "air_c" | "metal_c"): MinuteTruth[] {
  const minutes: MinuteTruth[] = [];
  for (let minute = start; minute < end; minute += MINUTE_MS) {
    const until = Math.min(end, minute + MINUTE_MS);
    const values: number[] = [];
    for (let at = minute; at < until; at += SECOND_MS) values.push(booth.stateAt(at)[field]);
    values.push(booth.stateAt(until - 1)[field]);
    minutes.push({ low: Math.min(...values), high: Math.max(...values) });
  }
  return minutes;
}

/** Returns the local days of the facility that lie within [from, to). */
export function daysTruth(booth: Booth, from: number, to: number): readonly DayTruth[] {
  const { tz } = booth.scenario;
  const days: DayTruth[] = [];
  for (let date = localDate(tz, from); ; date = addDays(date, 1)) {
    const start = instantOf(tz, date, "00:00");
    const end = instantOf(tz, addDays(date, 1), "00:00");
    if (end > to) return days;
    const { in_use_ms: use_ms, spray_ms, outages } = booth.truth(Math.max(from, start), end);
    const two = (value: number): string => String(value).padStart(2, "0");
    const outage_ms = outages.reduce((sum, one) => sum + one.end - one.start, 0);
    days.push({ day: `${date.year}-${two(date.month)}-${two(date.day)}`, start, end, use_ms, spray_ms, outage_ms });
  }
}
