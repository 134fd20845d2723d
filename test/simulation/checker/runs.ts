import type { Mode } from "../../../src/domain/booth.ts";
import type { Truth } from "../../../simulators/plc/model/truth.ts";

/** A bake as long as this is a full one; a pause as long as this ends a run. */
export const FULL_BAKE_MS = 300_000;
export const PAUSE_MS = 120_000;
/** Modes that don't end a run while they are short. */
export const RESTS: readonly Mode[] = ["idle", "setback", "prep", "unknown"];
const RUN: readonly Mode[] = ["spray", "flash", "purge", "bake", "cool_down"];

/**
 * Since when a booth must have been watched for it to be known whether spraying at that instant began a cycle: since a full bake
 * before it in the same run, which closed whatever was open, else since the run's begin. Half of a full bake looks like a short one.
 */
export function decidedSince({ stages }: Pick<Truth, "stages">, at: number): number {
  let since = at;
  let paused_ms = 0;
  for (const { mode, start, end } of stages.filter((stage) => stage.start < at).toReversed()) {
    if (RUN.includes(mode)) {
      since = start;
      paused_ms = 0;
      if (mode === "bake" && end - start >= FULL_BAKE_MS) return since;
    } else {
      paused_ms += end - start;
      if (!RESTS.includes(mode) || paused_ms >= PAUSE_MS) return since;
    }
  }
  return since;
}
