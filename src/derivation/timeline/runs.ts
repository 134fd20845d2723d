import type { Mode } from "../../domain/booth.ts";
import { KIND, type CycleResult } from "../../domain/record.ts";
import type { EpochMs, Milliseconds } from "../../domain/units.ts";
import { isIn } from "../parameters.ts";
import type { Fold } from "./events.ts";
import type { BayState, ClosedStage, OpenStage, RunState } from "./state.ts";

/** A pause this long breaks a run. */
const BREAK_MS = 120_000;
/** No data this long breaks it, even between stages in the usual order. */
const GAP_BREAK_MS = 1_800_000;
/** A bake stage this long does its job. */
const BAKE_DONE_MS = 300_000;
/** This much spraying without a bake is a job that dries in the air. */
const SPRAY_DONE_MS: Milliseconds = 180_000;

const SOFT: readonly Mode[] = ["idle", "setback", "prep", "unknown", "no_data"];
/** Place in the usual order; a mode of a custom run set that isn't here has none. */
const ORDER: Partial<Record<Mode, number>> = { spray: 0, flash: 0, purge: 1, bake: 2, cool_down: 3 };

/** A stage whose start is final begins. */
export function enterMode(fold: Fold, bay: BayState, { mode, start }: OpenStage): void {
  passRunTime(fold, bay, start);
  if (isIn(fold.state.parameters?.mode_sets.run, mode)) enterRunStage(fold, bay, { mode, start });
  else if (SOFT.includes(mode)) enterPause(bay, mode, start);
  else enterHard(fold, bay, { mode, start });
}

function enterRunStage(fold: Fold, bay: BayState, { mode, start }: { mode: Mode; start: EpochMs }): void {
  const pause = bay.run?.pause ?? null;
  if (bay.run !== null && pause !== null && !holds(bay.run, mode, start)) endRun(fold, bay, start);
  if (bay.cycle !== null && pause !== null && pause.no_data_from !== null) bay.cycle.gap = true;
  bay.run = { last_mode: mode, pause: null };
  if (mode === "spray" && bay.cycle === null) bay.cycle = { start, spray_ms: 0, bake_ms: 0, gap: false };
}

function enterPause(bay: BayState, mode: Mode, start: EpochMs): void {
  if (bay.run === null) return;
  const pause = bay.run.pause ?? { since: start, no_data_from: null, only_no_data: true };
  if (mode === "no_data") pause.no_data_from ??= start;
  else pause.only_no_data = false;
  bay.run.pause = pause;
}

function enterHard(fold: Fold, bay: BayState, { mode, start }: { mode: Mode; start: EpochMs }): void {
  if (bay.run === null) return;
  // After a longer silence nobody knows how the run ended: a fault that follows says nothing of it.
  const pause = bay.run.pause;
  const goes_on = pause === null || start - pause.since < BREAK_MS;
  if (goes_on && bay.cycle !== null && (mode === "fault" || mode === "estop")) {
    bay.cycle.gap ||= pause !== null && pause.no_data_from !== null;
    closeCycle(fold, bay, { end: start, result: "aborted", reason: mode });
    bay.run = null;
  } else endRun(fold, bay, start);
}

/** Whether the run goes on although it paused until `at`, now that `mode` follows. */
function holds(run: RunState, mode: Mode, at: EpochMs): boolean {
  if (run.pause === null) return true;
  const length = at - run.pause.since;
  if (length < BREAK_MS) return true;
  return run.pause.only_no_data && length < GAP_BREAK_MS && inUsualOrder(run.last_mode, mode);
}

function inUsualOrder(before: Mode, after: Mode): boolean {
  const from = ORDER[before];
  const to = ORDER[after];
  return before === after || (from !== undefined && to !== undefined && from <= to);
}

/** The open pause lasted until `known`: it may have broken the run in the meantime. */
export function passRunTime(fold: Fold, bay: BayState, known: EpochMs): void {
  const pause = bay.run?.pause ?? null;
  if (pause === null) return;
  const limit: Milliseconds = pause.only_no_data ? GAP_BREAK_MS : BREAK_MS;
  if (known - pause.since >= limit) endRun(fold, bay, known);
}

function endRun(fold: Fold, bay: BayState, at: EpochMs): void {
  const pause = bay.run?.pause ?? null;
  endCycle(fold, bay, { end: pause?.since ?? at, no_data_from: pause?.no_data_from ?? null });
  bay.run = null;
}

/** A stage is over, for good, and `next` follows. */
export function leaveStage(fold: Fold, bay: BayState, { stage, next }: { stage: ClosedStage; next: Mode }): void {
  const length = stage.end - stage.start;
  if (bay.cycle !== null) {
    if (stage.mode === "spray") bay.cycle.spray_ms += length;
    if (stage.mode === "bake") bay.cycle.bake_ms += length;
  }
  if (stage.end_reason === "restart") {
    closeCycle(fold, bay, { end: stage.end, result: "aborted", reason: "plc_restart" });
    bay.run = null;
    return;
  }
  const done = stage.mode === "bake" && length >= BAKE_DONE_MS && next !== "fault" && next !== "estop";
  if (done) closeCycle(fold, bay, { end: stage.end, result: "complete" });
}

/** The run ended: the rest of the closing table, first row that fits. */
function endCycle(
  fold: Fold,
  bay: BayState,
  { end, no_data_from }: { end: EpochMs; no_data_from: EpochMs | null },
): void {
  const { bake_ms = 0, spray_ms = 0 } = bay.cycle ?? {};
  if (no_data_from !== null) closeCycle(fold, bay, { end: no_data_from, result: "indeterminate" });
  else if (bake_ms > 0) closeCycle(fold, bay, { end, result: "short_bake" });
  else if (spray_ms >= SPRAY_DONE_MS) closeCycle(fold, bay, { end, result: "complete_no_bake" });
  else closeCycle(fold, bay, { end, result: "aborted", reason: "short" });
}

/** Writes the open cycle, if there is one. */
function closeCycle(
  fold: Fold,
  bay: BayState,
  { end, result, reason = "" }: { end: EpochMs; result: CycleResult; reason?: string },
): void {
  const cycle = bay.cycle;
  if (cycle === null) return;
  bay.cycle = null;
  const counted = result === "complete" || result === "complete_no_bake";
  const { start, gap, spray_ms, bake_ms } = cycle;
  const value = { bay: bay.bay, start, end, result, counted, reason, gap, spray_ms, bake_ms };
  fold.fact({ kind: KIND.cycle, value, quality: gap ? "uncertain" : "good" });
  if (counted) fold.tell({ kind: "cycle_ended", end });
}
