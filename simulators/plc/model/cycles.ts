import type { Mode } from "../../../src/domain/booth.ts";
import type { CycleResult, CycleTruth, OpenCycle, RunState } from "./types.ts";

/** A pause of this length in the run set's modes ends the run. */
export const RUN_PAUSE_MS = 120_000;
const FULL_BAKE_MS = 300_000;
const NO_BAKE_SPRAY_MS = 180_000;

const RESTS: readonly Mode[] = ["idle", "setback", "prep", "unknown"];

/** The end of a stage. */
interface ModeChange {
  readonly at: number;
  readonly from: Mode;
  readonly from_since: number;
  readonly to: Mode;
  readonly run_set: readonly Mode[];
}

export interface RunStep {
  readonly run: RunState;
  readonly closed: CycleTruth | null;
}

export const NO_RUN: RunState = { in_run: false, rest_since: null, open: null };

function close(open: OpenCycle, end: number, result: readonly [CycleResult, string]): CycleTruth {
  const [name, reason] = result;
  return { ...open, end, result: name, reason, counted: name === "complete" || name === "complete_no_bake" };
}

/** Closes the open cycle of a run that ended without a full bake. */
function endOfRun(open: OpenCycle | null, end: number): CycleTruth | null {
  if (!open) return null;
  if (open.bake_ms > 0) return close(open, end, ["short_bake", ""]);
  if (open.spray_ms >= NO_BAKE_SPRAY_MS) return close(open, end, ["complete_no_bake", ""]);
  return close(open, end, ["aborted", "short"]);
}

function abortReason(to: Mode): string | null {
  if (to === "fault" || to === "estop") return to;
  return to === "no_data" ? "plc_restart" : null;
}

function withStage(open: OpenCycle | null, change: ModeChange): OpenCycle | null {
  if (!open) return null;
  const length = change.at - change.from_since;
  if (change.from === "spray") return { ...open, spray_ms: open.spray_ms + length };
  if (change.from === "bake") return { ...open, bake_ms: open.bake_ms + length };
  return open;
}

/** Updates the run and its cycle at the end of a stage. After a full bake the cycle closes at the end of the bake. */
export function afterStage(run: RunState, change: ModeChange): RunStep {
  const open = withStage(run.open, change);
  const reason = abortReason(change.to);
  // A pause is still part of the run, so this mode aborts the cycle too.
  if (reason !== null) {
    return { run: NO_RUN, closed: open && close(open, change.at, ["aborted", reason]) };
  }
  const fullBake = change.from === "bake" && change.at - change.from_since >= FULL_BAKE_MS;
  const closed = fullBake && open ? close(open, change.at, ["complete", ""]) : null;
  const rest: RunState = { ...run, open: closed ? null : open };
  const next = enter(rest, change);
  return { run: next.run, closed: closed ?? next.closed };
}

function enter(run: RunState, change: ModeChange): RunStep {
  if (change.run_set.includes(change.to)) {
    const opens = change.to === "spray" && run.open === null;
    const open = opens ? { start: change.at, spray_ms: 0, bake_ms: 0 } : run.open;
    return { run: { in_run: true, rest_since: null, open }, closed: null };
  }
  const last = run.rest_since ?? change.at;
  if (run.in_run && RESTS.includes(change.to)) return { run: { ...run, rest_since: last }, closed: null };
  return { run: NO_RUN, closed: endOfRun(run.open, last) };
}

/** Returns the instant at which the pause ends the run; Infinity if there is no pause. */
export function settlesAt(run: RunState): number {
  return run.rest_since === null ? Infinity : run.rest_since + RUN_PAUSE_MS;
}

/** Ends the run after its pause. */
export function settle(run: RunState): RunStep {
  return { run: NO_RUN, closed: run.rest_since === null ? null : endOfRun(run.open, run.rest_since) };
}
