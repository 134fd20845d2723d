import { type Mode, MODES_BY_PRIORITY, type ModeSets } from "../../../src/domain/booth.ts";
import type { Beat, Scenario } from "./scenario.ts";
import type { StageTruth, Truth } from "./truth.ts";

/** Returns the second bay's story: the first bay's story, `minutes` later. Steps at the very start aren't moved. */
export function staggered(scenario: Scenario, minutes: number): Scenario {
  const later = (beat: Beat): Beat => {
    if (beat.at === 0) return beat;
    return { ...beat, at: typeof beat.at === "number" ? beat.at + minutes : laterClock(beat.at, minutes) };
  };
  const each = (days: Scenario["on_day"]): NonNullable<Scenario["on_day"]> =>
    Object.fromEntries(Object.entries(days ?? {}).map(([day, beats]) => [day, beats.map(later)]));
  const { beats, on_day, on_weekday } = scenario;
  return { ...scenario, beats: beats.map(later), on_day: each(on_day), on_weekday: each(on_weekday) };
}

/** Returns a time of day such as "07:45", `minutes` later. It must be on the same day. */
function laterClock(time: string, minutes: number): string {
  const [hour = 0, minute = 0] = time.split(":").map(Number);
  const sum = hour * 60 + minute + minutes;
  if (sum >= 24 * 60) throw new Error(`${time} can't be ${minutes} min later on the same day`);
  return [sum / 60, sum % 60].map((part) => String(Math.floor(part)).padStart(2, "0")).join(":");
}

/**
 * Merges the truth of several bays: at each instant the mode with the highest priority, and the cycles of all bays in
 * order of END. Filters, revisions, energy and outages are those of the first bay, which has the PLC.
 */
export function unitedTruth(bays: readonly Truth[], sets: ModeSets): Truth {
  const [first] = bays;
  if (first === undefined) throw new Error("a booth has a bay");
  const stages = unitedStages(bays.map((bay) => bay.stages));
  const ms_by_mode: Partial<Record<Mode, number>> = {};
  for (const { mode, start, end } of stages) ms_by_mode[mode] = (ms_by_mode[mode] ?? 0) + end - start;
  const sum = (modes: readonly Mode[]): number => modes.reduce((total, mode) => total + (ms_by_mode[mode] ?? 0), 0);
  return {
    ...first,
    stages,
    ms_by_mode,
    cycles: bays.flatMap(({ cycles }) => cycles).toSorted((a, b) => a.end - b.end),
    cycle_count: bays.reduce((total, { cycle_count }) => total + cycle_count, 0),
    cycle_increments: bays.reduce((total, { cycle_increments }) => total + cycle_increments, 0),
    run_ms: sum(sets.run),
    run_minutes: sum(sets.run) / 60_000,
    in_use_ms: sum(sets.in_use),
    spray_ms: sum(["spray"]),
  };
}

function unitedStages(bays: readonly (readonly StageTruth[])[]): StageTruth[] {
  const cuts = [...new Set(bays.flat().flatMap(({ start, end }) => [start, end]))].toSorted((a, b) => a - b);
  const united: StageTruth[] = [];
  cuts.slice(0, -1).forEach((start, index) => {
    const end = cuts[index + 1] ?? start;
    const modes = bays.map((stages) => stages.find((stage) => stage.start <= start && start < stage.end)?.mode);
    const mode = MODES_BY_PRIORITY.find((one) => modes.includes(one)) ?? "no_data";
    const last = united.at(-1);
    if (last?.mode === mode) united[united.length - 1] = { ...last, end };
    else united.push({ mode, start, end });
  });
  return united;
}
