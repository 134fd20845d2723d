import { endSpray } from "./pressure.ts";
import { type ClosedStage, type Fold, type OpenStage, stamp } from "./state.ts";

/** Writes a stage that can't change any more. */
export function pushStage(fold: Fold, bay: number, stage: ClosedStage): void {
  const { mode, raw, start, end, end_reason, uncertain_ms, uncertainty_ms } = stage;
  const is_new_start = isNewStart(stage);
  const value = { bay, mode, start, end, end_reason, is_new_start, uncertain_ms, uncertainty_ms, raw };
  if (bay === 0 && mode === "spray") endSpray(fold, { start, end });
  fold.facts.push({ kind: "m", ...stamp(fold), value, quality: uncertain_ms > 0 ? "uncertain" : "good" });
}

/** After no_data into the same mode there is no new start; into another one there is. */
export function isNewStart(stage: OpenStage): boolean {
  return stage.before !== stage.mode;
}
