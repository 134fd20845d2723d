import type { Mode } from "../domain/booth.ts";
import type { Milliseconds } from "../domain/units.ts";
import { judge } from "./incidents.ts";
import type { BayState, Fold, OpenStage } from "./state.ts";

/** Modes that may follow each one. From everywhere a fault, an estop or maintenance may; what isn't known isn't judged. */
const GRAPH: Partial<Record<Mode, readonly Mode[]>> = {
  off: ["idle", "prep", "setback"],
  idle: ["off", "prep", "spray", "flash", "purge", "bake", "setback"],
  prep: ["off", "idle", "spray", "purge", "bake", "setback"],
  spray: ["off", "idle", "flash", "purge"],
  flash: ["off", "idle", "spray", "purge"],
  purge: ["off", "idle", "spray", "bake"],
  bake: ["off", "spray", "cool_down"],
  cool_down: ["off", "idle", "spray", "setback"],
  setback: ["off", "idle", "prep", "spray"],
  maintenance: ["off", "idle"],
  fault: ["off", "idle"],
  estop: ["off", "idle"],
};
const FROM_EVERYWHERE: readonly Mode[] = ["fault", "estop", "maintenance"];

const SHORT_PURGE_MS: Milliseconds = 60_000;
const LONG_MS: Partial<Record<Mode, Milliseconds>> = { spray: 12 * 3_600_000, bake: 4 * 3_600_000 };
/** A stage is over for good and `next` follows. */
export function checkSuccession(
  fold: Fold,
  bay: BayState,
  { stage, next }: { stage: OpenStage & { end: number }; next: Mode },
): void {
  const allowed = GRAPH[stage.mode];
  if (allowed !== undefined && GRAPH[next] !== undefined && next !== stage.mode) {
    judge(fold, !allowed.includes(next) && !FROM_EVERYWHERE.includes(next), {
      tag_name: bay.tag,
      check: "transition",
      logic: { op: "transition", from: stage.mode, to: next },
      reason: `${next} followed on ${stage.mode}`,
      severity: "warning",
    });
  }
  if (stage.mode !== "purge" || next !== "bake") return;
  const ms = stage.end - stage.start;
  dwell(fold, bay, {
    wrong: ms < SHORT_PURGE_MS,
    logic: { op: "dwell", mode: "purge", min: 1 },
    reason: `purge took ${ms / 1000} s before a bake`,
  });
}

/** An open stage must not last for ever. */
export function checkDwell(fold: Fold, bay: BayState): void {
  const { open, good_until } = bay;
  const longest = open === null ? undefined : LONG_MS[open.mode];
  if (open === null || longest === undefined || good_until - open.start <= longest) return;
  const minutes = longest / 60_000;
  dwell(fold, bay, {
    wrong: true,
    logic: { op: "dwell", mode: open.mode, max: minutes },
    reason: `${open.mode} has lasted for over ${minutes / 60} h`,
  });
}

function dwell(
  fold: Fold,
  { tag }: BayState,
  found: { wrong: boolean; logic: Record<string, string | number>; reason: string },
): void {
  const { wrong, logic, reason } = found;
  judge(fold, wrong, { tag_name: tag, check: "dwell", logic, reason, severity: "warning" });
}
