import type { TagParameters } from "../domain/parameters.ts";
import type { EpochMs } from "../domain/units.ts";
import { isIn } from "./modes.ts";
import { enterStage } from "./stages.ts";
import type { BayState, ClosedStage, DeriveState, Fold, OpenStage, PendingReading, Restart } from "./state.ts";

/** Whether the reading shows that the PLC restarted: its uptime fell, or its first-scan bit came on. */
export function isRestart(state: DeriveState, { tag, value }: PendingReading, { role }: TagParameters): boolean {
  if (role !== "uptime" && role !== "first_scan") return false;
  if (typeof value !== "number" && typeof value !== "boolean") return false;
  const before = state.witnesses[tag];
  state.witnesses[tag] = value;
  if (before === undefined) return false;
  return typeof value === "boolean" ? value && before === false : value < Number(before);
}

/**
 * A restart inside a run ends the stage at the last good reading, unless the PLC was back within the bridge, in the
 * same mode, with its counters retained.
 */
export function restartBay(fold: Fold, bay: BayState, restart: Restart): void {
  const { resume, open } = bay;
  if (open === null || !isInRun(fold.state, bay)) return;
  if (resume !== null) {
    // A stage that came after the gap has nothing to take back.
    if (resume.went_on && open.start <= resume.good_until) splitAt(bay, resume.good_until, resume.at);
    else markLast(bay);
    bay.resume = null;
    return;
  }
  if (bay.closed.length > 0 && !open.entered) markLast(bay);
  else if (restart.lost) {
    const at = Math.max(restart.at, open.start);
    enterStage(fold, bay, { mode: open.mode, raw: open.raw, at, reason: "restart", uncertainty_ms: 0 });
  }
}

function isInRun(state: DeriveState, bay: BayState): boolean {
  const run = state.parameters?.mode_sets.run;
  const stages = bay.closed.length > 0 ? bay.closed : [bay.open];
  return bay.run !== null || stages.some((stage) => stage !== null && isIn(run, stage.mode));
}

/** The stage that was open when the PLC went away ended by the restart. */
function markLast(bay: BayState): void {
  const last = bay.closed.findLast(({ mode }) => mode !== "no_data");
  if (last !== undefined) last.end_reason = "restart";
}

/** Takes back that the stage went on over the gap. */
function splitAt(bay: BayState, end: EpochMs, at: EpochMs): void {
  const { open } = bay;
  if (open === null) return;
  const stage: ClosedStage = { ...open, uncertain_ms: open.uncertain_ms - (at - end), end, end_reason: "restart" };
  const gap: OpenStage = {
    ...open,
    mode: "no_data",
    raw: "",
    start: end,
    uncertain_ms: 0,
    before: open.mode,
    entered: false,
  };
  bay.closed.push(stage);
  if (at > end) bay.closed.push({ ...gap, end: at, end_reason: "changed" });
  bay.open = { ...open, start: at, uncertain_ms: 0, before: at > end ? open.mode : null, entered: false };
  bay.inferred = null;
}
