import type { CycleResult } from "../../../src/domain/record.ts";
import type { ModeSets } from "../../../src/domain/booth.ts";
import type { Stage } from "./stage.ts";
import { findRuns, type Run } from "./runs.ts";

const FULL_BAKE_MS = 5 * 60_000;
const FULL_SPRAY_MS = 3 * 60_000;

/** A closed cycle: the part of a run that serves one job. It belongs to the period that contains its end. */
export interface Cycle {
  readonly bay: number;
  readonly start: number;
  readonly end: number;
  readonly result: CycleResult;
  readonly counted: boolean;
  /** fault, estop, plc_restart or short; "" unless aborted. */
  readonly reason: string;
  /** Time without data that didn't break the run lies inside. */
  readonly gap: boolean;
  readonly spray_ms: number;
  readonly bake_ms: number;
}

/** Returns the closed cycles of a bay in order of their end, without a cycle that may still continue. */
export function cyclesOf(bay: number, stages: readonly Stage[], sets: ModeSets): Cycle[] {
  return findRuns(stages, sets.run).flatMap((run) => cyclesOfRun(bay, run, sets));
}

function cyclesOfRun(bay: number, run: Run, sets: ModeSets): Cycle[] {
  const out: Cycle[] = [];
  let open: Stage[] | undefined;
  run.stages.forEach((stage, i) => {
    if (open === undefined && stage.mode !== "spray") return;
    (open ??= []).push(stage);
    const isLast = i === run.stages.length - 1;
    if (stage.mode !== "bake" || stage.end - stage.start < FULL_BAKE_MS) return;
    if (isLast && (run.end === "open" || abortReason(run) !== "")) return;
    out.push(closed(bay, { stages: open, end: stage.end, result: "complete", reason: "" }));
    open = undefined;
  });
  if (open !== undefined && run.end !== "open") out.push(closed(bay, { stages: open, ...outcome(run, open, sets) }));
  return out;
}

function abortReason(run: Run): string {
  if (run.end === "fault" || run.end === "estop") return run.end;
  return run.end === "restart" ? "plc_restart" : "";
}

interface Outcome {
  readonly end: number;
  readonly result: CycleResult;
  readonly reason: string;
}

/** Returns the result of a cycle without a full bake, by the first matching rule. */
function outcome(run: Run, stages: readonly Stage[], sets: ModeSets): Outcome {
  const end = stages.findLast((stage) => sets.run.includes(stage.mode))?.end ?? 0;
  const reason = abortReason(run);
  if (reason !== "") return { end: run.broken_at ?? end, result: "aborted", reason };
  if (run.end === "no_data") return { end: run.broken_at ?? end, result: "indeterminate", reason: "" };
  if (sum(stages, "bake") > 0) return { end, result: "short_bake", reason: "" };
  if (sum(stages, "spray") >= FULL_SPRAY_MS) return { end, result: "complete_no_bake", reason: "" };
  return { end, result: "aborted", reason: "short" };
}

function closed(bay: number, { stages, ...how }: Outcome & { stages: readonly Stage[] }): Cycle {
  const start = stages[0]?.start ?? how.end;
  const counted = how.result === "complete" || how.result === "complete_no_bake";
  const gap = stages.some(({ mode, end }) => mode === "no_data" && end <= how.end);
  return { bay, start, ...how, counted, gap, spray_ms: sum(stages, "spray"), bake_ms: sum(stages, "bake") };
}

function sum(stages: readonly Stage[], mode: Stage["mode"]): number {
  return stages.reduce((total, stage) => (stage.mode === mode ? total + stage.end - stage.start : total), 0);
}
