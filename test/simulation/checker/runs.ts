import type { Mode } from "../../../src/domain/booth.ts";
import type { Truth } from "../../../simulators/plc/model/truth.ts";

/** Minimum length of a full bake. A pause of this length ends a run. */
export const FULL_BAKE_MS = 300_000;
export const PAUSE_MS = 120_000;
/** Modes that don't end a run while they are short. */
export const RESTS: readonly Mode[] = ["idle", "setback", "prep", "unknown"];
const RUN: readonly Mode[] = ["spray", "flash", "purge", "bake", "cool_down"];

/**
 * Returns the start of the time for which a booth must have been observed to decide whether spraying at `at` started a
 * cycle: the last full bake in the same run, which closed every open cycle, otherwise the start of the run. If only
 * half of a full bake is seen, it looks like a short one.
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
