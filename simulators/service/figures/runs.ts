import type { Mode } from "../../../src/domain/booth.ts";
import type { Stage } from "./stage.ts";

const PAUSE_MS = 120_000;
const SILENCE_MS = 30 * 60_000;
const PAUSES: readonly Mode[] = ["idle", "setback", "prep", "unknown", "no_data"];
/** Place in the usual order of a run; spray and flash alternate. */
const ORDER: Readonly<Partial<Record<Mode, number>>> = { spray: 0, flash: 0, purge: 1, bake: 2, cool_down: 3 };

/** The cause of a run's end. `open`: it may still continue. */
type RunEnd = "open" | "no_data" | "fault" | "estop" | "restart" | "other";

/** A maximal sequence of stages of the run set, with the short pauses that do not break it. */
export interface Run {
  readonly stages: readonly Stage[];
  readonly end: RunEnd;
  /** The instant of a fault, estop or restart that broke it. */
  readonly broken_at: number | undefined;
}

/** Splits a bay's stages into runs. The stages must reach up to now, so that a final pause has its true length. */
export function findRuns(stages: readonly Stage[], runSet: readonly Mode[]): Run[] {
  const runs: Run[] = [];
  let i = 0;
  while (i < stages.length) {
    const stage = stages[i];
    if (stage === undefined || !runSet.includes(stage.mode)) {
      i += 1;
      continue;
    }
    const { run, next } = readRun(stages, runSet, i);
    runs.push(run);
    i = next;
  }
  return runs;
}

function readRun(stages: readonly Stage[], runSet: readonly Mode[], first: number): { run: Run; next: number } {
  const inside: Stage[] = [];
  const done = (end: RunEnd, next: number): { run: Run; next: number } => {
    const seen = end === "fault" || end === "estop";
    const silent = [...pauseOf(inside, runSet), ...stages.slice(next, next + 1)].find(({ mode }) => mode === "no_data");
    const broken_at = seen ? stages[next]?.start : end === "no_data" ? silent?.start : inside.at(-1)?.end;
    return {
      run: { stages: inside, end, broken_at: end === "other" || end === "open" ? undefined : broken_at },
      next,
    };
  };
  for (let i = first; i < stages.length; i += 1) {
    const stage = stages[i];
    if (stage === undefined) break;
    if (stage.after_restart && i > first) {
      // The silence before it belongs to the restart, which ended the earlier stage.
      while (inside.at(-1)?.mode === "no_data") inside.pop();
      return done("restart", i);
    }
    if (runSet.includes(stage.mode)) {
      inside.push(stage);
      continue;
    }
    const pause = pauseOf(inside, runSet);
    const next = stages[i + 1];
    const around = { next, before: lastRunStage(inside, runSet) };
    if (breaksRun([...pause, stage], runSet, around)) return done(breakerOf({ stage, next, pause }), i);
    inside.push(stage);
  }
  return done("open", stages.length);
}

/** Returns the stages since the last one of the run set. */
function pauseOf(inside: readonly Stage[], runSet: readonly Mode[]): readonly Stage[] {
  return inside.slice(inside.findLastIndex(({ mode }) => runSet.includes(mode)) + 1);
}

function lastRunStage(inside: readonly Stage[], runSet: readonly Mode[]): Mode | undefined {
  return inside.findLast((stage) => runSet.includes(stage.mode))?.mode;
}

/** Whether a run may still go on at the end of these stages. */
export function isInRun(stages: readonly Stage[], runSet: readonly Mode[], until: number): boolean {
  const pause = pauseOf(stages, runSet);
  if (pause.length === stages.length || pause.some(({ mode }) => !PAUSES.includes(mode))) return false;
  const length = until - (pause[0]?.start ?? until);
  return length < PAUSE_MS || (length < SILENCE_MS && pause.every(({ mode }) => mode === "no_data"));
}

/**
 * Whether a pause, up to and with its newest stage, is the end of the run. It counts as a whole; a silence of up to half an hour
 * must stand alone between two stages of the run.
 */
function breaksRun(
  pause: readonly Stage[],
  runSet: readonly Mode[],
  { next, before }: { next: Stage | undefined; before: Mode | undefined },
): boolean {
  if (pause.some(({ mode }) => !PAUSES.includes(mode))) return true;
  const length = (pause.at(-1)?.end ?? 0) - (pause[0]?.start ?? 0);
  if (length < PAUSE_MS) return false;
  if (pause.some(({ mode }) => mode !== "no_data") || length >= SILENCE_MS) return true;
  if (next === undefined) return false;
  if (!runSet.includes(next.mode)) return true;
  return (ORDER[next.mode] ?? 0) < (ORDER[before ?? "spray"] ?? 0);
}

function breakerOf(at: { stage: Stage; next: Stage | undefined; pause: readonly Stage[] }): RunEnd {
  const { stage, next, pause } = at;
  if (stage.mode === "fault" || stage.mode === "estop") return stage.mode;
  // A silence that a restart explains belongs to the restart.
  if (stage.mode === "no_data" && next?.after_restart === true) return "restart";
  return [...pause, stage].some(({ mode }) => mode === "no_data") ? "no_data" : "other";
}
