import type { CycleResult } from "../domain/record.ts";
import type { EpochMs, Milliseconds } from "../domain/units.ts";
import { countCycle } from "./filters.ts";
import { type BayState, type Fold, stamp } from "./state.ts";

/** This much spraying without a bake is a job that dries in the air. */
const SPRAY_DONE_MS: Milliseconds = 180_000;

export function openCycle(bay: BayState, start: EpochMs): void {
  bay.cycle = { start, spray_ms: 0, bake_ms: 0, gap: false };
}

/** Fault, estop or PLC restart before a long bake was left, or directly out of one. */
export function abortCycle(fold: Fold, bay: BayState, { end, reason }: { end: EpochMs; reason: string }): void {
  closeCycle(fold, bay, { end, result: "aborted", reason });
}

/** A long bake was left. */
export function completeCycle(fold: Fold, bay: BayState, end: EpochMs): void {
  closeCycle(fold, bay, { end, result: "complete", reason: "" });
}

/** The run ended: the rest of the closing table, first row that fits. */
export function endCycle(
  fold: Fold,
  bay: BayState,
  { end, no_data_from }: { end: EpochMs; no_data_from: EpochMs | null },
): void {
  const cycle = bay.cycle;
  if (cycle === null) return;
  if (no_data_from !== null) closeCycle(fold, bay, { end: no_data_from, result: "indeterminate", reason: "" });
  else if (cycle.bake_ms > 0) closeCycle(fold, bay, { end, result: "short_bake", reason: "" });
  else if (cycle.spray_ms >= SPRAY_DONE_MS) closeCycle(fold, bay, { end, result: "complete_no_bake", reason: "" });
  else closeCycle(fold, bay, { end, result: "aborted", reason: "short" });
}

function closeCycle(
  fold: Fold,
  bay: BayState,
  { end, result, reason }: { end: EpochMs; result: CycleResult; reason: string },
): void {
  const cycle = bay.cycle;
  if (cycle === null) return;
  bay.cycle = null;
  const counted = result === "complete" || result === "complete_no_bake";
  const { start, gap, spray_ms, bake_ms } = cycle;
  const value = { bay: bay.bay, start, end, result, counted, reason, gap, spray_ms, bake_ms };
  fold.facts.push({ kind: "c", ...stamp(fold), value, quality: gap ? "uncertain" : "good" });
  if (counted) countCycle(fold, end);
}
