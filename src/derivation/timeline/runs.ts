import type { Mode } from "../../domain/booth.ts";
import { type CycleResult, KIND } from "../../domain/record.ts";
import { MINUTE_MS } from "../../domain/time.ts";
import type { EpochMs, Milliseconds } from "../../domain/units.ts";
import { endBake, leaveBakeStage } from "../bakes.ts";
import { countCycle } from "../filters/filters.ts";
import { addCycle } from "../hours.ts";
import { isIn } from "../parameters.ts";
import { type BayState, type ClosedStage, type Fold, type OpenStage, type RunState, writeFact } from "../state.ts";

/** Length of a pause that ends a run. */
const BREAK_MS: Milliseconds = 2 * MINUTE_MS;
/** Length of a time without data that ends a run, even between stages in the usual order. */
const GAP_BREAK_MS: Milliseconds = 30 * MINUTE_MS;
/** Length of a bake stage that completes the cycle. */
const BAKE_DONE_MS: Milliseconds = 5 * MINUTE_MS;
/** Length of spraying without a bake that counts as a job that dries in the air. */
const SPRAY_DONE_MS: Milliseconds = 3 * MINUTE_MS;

const SOFT: readonly Mode[] = ["idle", "setback", "prep", "unknown", "no_data"];
/** Position of each mode in the usual order of a job. Other modes in a custom run set have no position. */
const ORDER: Partial<Record<Mode, number>> = { spray: 0, flash: 0, purge: 1, bake: 2, cool_down: 3 };

/** Applies the start of a stage to the run, once no later record can change that start. */
export function enterMode(fold: Fold, bay: BayState, { mode, start }: OpenStage): void {
  passRunTime(fold, bay, start);
  if (isIn(fold.state.parameters?.mode_sets.run, mode)) enterRunStage(fold, bay, { mode, start });
  else if (bay.run === null) return;
  else if (SOFT.includes(mode)) {
    const pause = (bay.run.pause ??= { since: start, no_data_from: null, only_no_data: true });
    if (mode === "no_data") pause.no_data_from ??= start;
    else pause.only_no_data = false;
  } else enterFault(fold, bay, { mode, start });
}

function enterRunStage(fold: Fold, bay: BayState, { mode, start }: Pick<OpenStage, "mode" | "start">): void {
  const { run } = bay;
  const pause = run?.pause ?? null;
  if (run !== null && pause !== null) {
    if (!isContinued(run, mode, start - pause.since)) endRun(fold, bay, start);
    if (bay.cycle !== null && pause.no_data_from !== null) bay.cycle.gap = true;
  }
  bay.run = { last_mode: mode, pause: null };
  if (mode === "spray" || mode === "flash") endBake(fold, bay, "spray");
  if (mode === "spray") bay.cycle ??= { start, spray_ms: 0, bake_ms: 0, gap: false };
}

/** Ends the run because of a mode that is neither part of a run nor a pause. */
function enterFault(fold: Fold, bay: BayState, { mode, start }: Pick<OpenStage, "mode" | "start">): void {
  const pause = bay.run?.pause ?? null;
  // Ignores a fault after a longer silence, because it is then unknown how the run ended.
  const isEnd = pause === null || start - pause.since < BREAK_MS;
  if (isEnd && (mode === "fault" || mode === "estop")) endBake(fold, bay, mode);
  if (isEnd && bay.cycle !== null && (mode === "fault" || mode === "estop")) {
    bay.cycle.gap ||= pause !== null && pause.no_data_from !== null;
    closeCycle(fold, bay, { end: start, result: "aborted", reason: mode });
    bay.run = null;
  } else endRun(fold, bay, start);
}

/** Returns whether the run continues with `mode` after a pause of that length. */
function isContinued({ pause, last_mode }: RunState, mode: Mode, length: Milliseconds): boolean {
  if (length < BREAK_MS) return true;
  const from = ORDER[last_mode] ?? Infinity;
  const isInOrder = last_mode === mode || from <= (ORDER[mode] ?? -Infinity);
  return pause?.only_no_data === true && length < GAP_BREAK_MS && isInOrder;
}

/** Ends the run if its pause has become too long by the instant `known`. */
export function passRunTime(fold: Fold, bay: BayState, known: EpochMs): void {
  const pause = bay.run?.pause ?? null;
  if (pause === null) return;
  if (known - pause.since >= (pause.only_no_data ? GAP_BREAK_MS : BREAK_MS)) endRun(fold, bay, known);
}

/** Ends the run and closes its cycle by the first matching rule. */
function endRun(fold: Fold, bay: BayState, at: EpochMs): void {
  const { since: end = at, no_data_from = null } = bay.run?.pause ?? {};
  const { bake_ms = 0, spray_ms = 0 } = bay.cycle ?? {};
  if (no_data_from !== null) closeCycle(fold, bay, { end: no_data_from, result: "indeterminate" });
  else if (bake_ms > 0) closeCycle(fold, bay, { end, result: "short_bake" });
  else if (spray_ms >= SPRAY_DONE_MS) closeCycle(fold, bay, { end, result: "complete_no_bake" });
  else closeCycle(fold, bay, { end, result: "aborted", reason: "short" });
  endBake(fold, bay, no_data_from === null ? "run" : "no_data");
  bay.run = null;
}

/** Updates the open cycle after a stage that can no longer be merged or corrected. `next` is the mode after the stage. */
export function leaveStage(fold: Fold, bay: BayState, { stage, next }: { stage: ClosedStage; next: Mode }): void {
  const { mode, end } = stage;
  const length = end - stage.start;
  leaveBakeStage(fold, bay, stage);
  if (bay.cycle !== null) {
    if (mode === "spray") bay.cycle.spray_ms += length;
    if (mode === "bake") bay.cycle.bake_ms += length;
  }
  if (stage.end_reason === "restart") {
    closeCycle(fold, bay, { end, result: "aborted", reason: "plc_restart" });
    bay.run = null;
  } else if (mode === "bake" && length >= BAKE_DONE_MS && next !== "fault" && next !== "estop") {
    closeCycle(fold, bay, { end, result: "complete" });
  }
}

/** Writes the open cycle as a fact, if there is one. */
function closeCycle(
  fold: Fold,
  bay: BayState,
  { end, result, reason = "" }: { end: EpochMs; result: CycleResult; reason?: string },
): void {
  const { cycle } = bay;
  if (cycle === null) return;
  bay.cycle = null;
  const { start, gap, spray_ms, bake_ms } = cycle;
  const counted = result === "complete" || result === "complete_no_bake";
  const value = { bay: bay.bay, start, end, result, counted, reason, gap, spray_ms, bake_ms };
  writeFact(fold, { kind: KIND.cycle, value, quality: gap ? "uncertain" : "good" });
  if (!counted) return;
  addCycle(fold.state, end);
  countCycle(fold.state, end);
  fold.state.checks.cycles += 1;
}
