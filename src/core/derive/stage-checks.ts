import type { Mode } from "../types/booth.ts";
import type { Milliseconds } from "../types/units.ts";
import { bridgeMs } from "./coverage.ts";
import { judge, pass, report } from "./incidents.ts";
import type { BayState, DeriveState, Fold, OpenStage } from "./state.ts";

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
/** A bake is warm by then. */
const WARM_AFTER_MS: Milliseconds = 20 * 60_000;
const WARM_C = 40;
const DOOR_MS: Milliseconds = 120_000;
/** Below this share of full speed, %, a fan is off. */
const FAN_OFF = 1;
/** Fans start with the mode, not before it: so long they may lag. */
const FAN_LAG_MS: Milliseconds = 60_000;

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

/** Readings that contradict each other, or the mode, at an instant that is complete. */
export function checkCross(fold: Fold): void {
  const { state } = fold;
  const { air, fan, burner, door } = state.checks.tags;
  const modes = state.bays.filter(({ live }) => live).map(({ open }) => open);
  const bakes = modes.filter((open) => open?.mode === "bake");
  const sprays = modes.filter((open) => open?.mode === "spray");
  const { now } = state.clock;
  const lasts = (stages: typeof modes, ms: Milliseconds): boolean =>
    stages.some((open) => open !== null && now - open.start >= ms);
  const speed = numberOf(state, fan);
  const stands = speed !== null && speed < FAN_OFF;
  const degrees = numberOf(state, air);
  if (air !== null && degrees !== null) {
    cross(fold, {
      tag: air,
      wrong: lasts(bakes, WARM_AFTER_MS) && degrees < WARM_C,
      min: WARM_C,
      reason: `bake is under ${WARM_C} C after 20 min`,
    });
  }
  if (fan !== null && speed !== null) {
    cross(fold, {
      tag: fan,
      wrong: stands && lasts(sprays, FAN_LAG_MS),
      min: FAN_OFF,
      reason: "the fan is off in spray",
    });
  }
  if (burner !== null && speed !== null) {
    cross(fold, {
      tag: burner,
      wrong: stands && isOn(state, burner),
      min: FAN_OFF,
      reason: "the burner is on without airflow",
    });
  }
  if (door !== null) {
    const since = conflictSince(state, "door", bakes.length > 0 && isOn(state, door));
    cross(fold, {
      tag: door,
      wrong: since !== null && now - since > DOOR_MS,
      min: 0,
      reason: "the door has been open in bake for over 2 min",
    });
  }
}

function cross(
  fold: Fold,
  { tag, wrong, min, reason }: { tag: string; wrong: boolean; min: number; reason: string },
): void {
  // Most evaluations find nothing wrong and nothing open: they must cost nothing.
  if (!wrong) pass(fold, "cross", tag);
  else report(fold, { tag_name: tag, check: "cross", logic: { op: "cross", min }, reason, severity: "warning" });
}

/** Since when both things have been so at once; null: they aren't. */
function conflictSince({ checks, clock }: DeriveState, name: string, holds: boolean): number | null {
  if (holds) return (checks.conflicts[name] ??= clock.now);
  // eslint-disable-next-line @typescript-eslint/no-dynamic-delete -- the conflicts are a map that is saved as JSON
  delete checks.conflicts[name];
  return null;
}

function known(state: DeriveState, tag: string | null): unknown {
  if (tag === null) return null;
  const latest = state.latest[tag];
  const group = state.parameters?.tags[tag]?.group ?? "";
  const coverage = state.groups[group];
  if (latest === undefined || latest.quality === "bad" || coverage?.boot !== state.clock.boot) return null;
  // A slow group is polled between the fast ones: its value holds from one poll to the next.
  return state.clock.mono - coverage.to <= bridgeMs(state.parameters, group) ? latest.value : null;
}

function numberOf(state: DeriveState, tag: string | null): number | null {
  const value = known(state, tag);
  return typeof value === "number" ? value : null;
}

function isOn(state: DeriveState, tag: string): boolean {
  const value = known(state, tag);
  return value === true || value === 1;
}
