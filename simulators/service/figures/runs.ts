import type { Mode } from "../../../src/core/types/booth.ts";
import type { Stage } from "./intervals.ts";

const PAUSE_MS = 120_000;
const SILENCE_MS = 30 * 60_000;
const PAUSES: readonly Mode[] = ["idle", "setback", "prep", "unknown", "no_data"];
/** Place in the usual order of a run; spray and flash alternate. */
const ORDER: Readonly<Partial<Record<Mode, number>>> = { spray: 0, flash: 0, purge: 1, bake: 2, cool_down: 3 };

/** What ended a run. `open`: it may still go on. */
export type RunEnd = "open" | "no_data" | "fault" | "estop" | "restart" | "other";

/** A maximal sequence of stages of the run set, with the short pauses that do not break it. */
export interface Run {
  readonly stages: readonly Stage[];
  readonly end: RunEnd;
  /** The instant of a fault, estop or restart that broke it. */
  readonly broken_at: number | undefined;
  /** Silences of over 2 min that did not break it. */
  readonly silences: readonly Stage[];
}

/** Cuts a bay's stages into runs; the stages must reach up to now, so that a pause at the end is as long as it is. */
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
  const silences: Stage[] = [];
  const done = (end: RunEnd, next: number): { run: Run; next: number } => {
    const broken_at = end === "fault" || end === "estop" ? stages[next]?.start : inside.at(-1)?.end;
    return {
      run: { stages: inside, end, broken_at: end === "other" || end === "open" ? undefined : broken_at, silences },
      next,
    };
  };
  for (let i = first; i < stages.length; i += 1) {
    const stage = stages[i];
    if (stage === undefined) break;
    if (stage.after_restart && i > first) {
      // The silence before it is the restart's own: what stood before that was left by the restart.
      while (inside.at(-1)?.mode === "no_data") inside.pop();
      return done("restart", i);
    }
    if (runSet.includes(stage.mode)) {
      inside.push(stage);
      continue;
    }
    const verdict = pauseVerdict(stages, runSet, { at: i, before: lastRunStage(inside, runSet) });
    if (verdict === "broken") return done(breakerOf(stages, i), i);
    if (verdict === "silence") silences.push(stage);
    inside.push(stage);
  }
  return done("open", stages.length);
}

function lastRunStage(inside: readonly Stage[], runSet: readonly Mode[]): Mode | undefined {
  return inside.findLast((stage) => runSet.includes(stage.mode))?.mode;
}

/** A stage outside the run set: passed over, passed over as a silence, or the end of the run. */
function pauseVerdict(
  stages: readonly Stage[],
  runSet: readonly Mode[],
  { at, before }: { at: number; before: Mode | undefined },
): "passed" | "silence" | "broken" {
  const stage = stages[at];
  if (stage === undefined || !PAUSES.includes(stage.mode)) return "broken";
  const length = stage.end - stage.start;
  if (length < PAUSE_MS) return "passed";
  if (stage.mode !== "no_data" || length >= SILENCE_MS) return "broken";
  const next = stages[at + 1];
  if (next === undefined) return "silence";
  if (!runSet.includes(next.mode)) return "broken";
  return (ORDER[next.mode] ?? 0) >= (ORDER[before ?? "spray"] ?? 0) ? "silence" : "broken";
}

function breakerOf(stages: readonly Stage[], at: number): RunEnd {
  const stage = stages[at];
  if (stage?.mode === "fault" || stage?.mode === "estop" || stage?.mode === "no_data") {
    // Silence that a restart explains is the restart's.
    return stage.mode === "no_data" && stages[at + 1]?.after_restart ? "restart" : stage.mode;
  }
  return "other";
}
