import { modesIn } from "../domain/mode-bits.ts";
import type { Milliseconds } from "../domain/units.ts";
import { pollIntervalMs } from "./coverage.ts";
import { pass, report } from "./incidents.ts";
import type { BayState, Fold } from "./state.ts";

/** Modes of the process: a booth can be in one at a time. */
const PROCESS: readonly string[] = ["spray", "flash", "purge", "bake", "cool_down"];
/** Bits don't change in the same instant: so many polls may see two of them. */
const POLLS = 2;

/** The bay's mode was read: two process bits at once contradict each other. */
export function checkModeConflict(fold: Fold, bay: BayState, raw: string): void {
  if (modesIn(raw).filter((mode) => PROCESS.includes(mode)).length >= 2) {
    bay.conflict ??= fold.state.clock.now;
    return;
  }
  bay.conflict = null;
  pass(fold, "mode_conflict", bay.tag);
}

/** Time has passed; a clock put forward isn't time. */
export function passModeConflict(fold: Fold, bay: BayState, jump_ms: Milliseconds): void {
  if (bay.conflict === null || bay.conflict === undefined) return;
  bay.conflict += jump_ms;
  const due = bay.conflict + POLLS * pollIntervalMs(fold.state.parameters, bay.group);
  if (fold.state.clock.now <= due || (!bay.live && bay.good_until < due)) return;
  const reason = `two modes of the process are on at once: ${bay.raw ?? ""}`;
  const logic = { op: "mode_conflict", polls: POLLS };
  report(fold, { tag_name: bay.tag, check: "mode_conflict", logic, reason, severity: "warning" }, due);
}
