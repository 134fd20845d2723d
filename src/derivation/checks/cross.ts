import type { Mode } from "../../domain/booth.ts";
import { inFigureUnit } from "../../domain/parameters.ts";
import { recordText } from "../../domain/record-text.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../domain/time.ts";
import { lengthOf, workingIntervals } from "../../domain/time-zone.ts";
import type { EpochMs, Milliseconds, TagName } from "../../domain/units.ts";
import { isOpenSince, judge, report, reportRight } from "../incidents.ts";
import { bridgeMs, modeOf, pollIntervalMs } from "../parameters.ts";
import type { BayState, Checks, ClosedStage, DeriveState, Fold, Incident } from "../state.ts";

/** Time after which the air of a bake must be warm. */
const WARM_AFTER_MS: Milliseconds = 20 * MINUTE_MS;
const WARM_C = 40;
/** Fan speed in % below which a fan counts as off. */
const FAN_OFF = 1;

type Sensor = Exclude<keyof Checks["tags"], "analog">;

/** A contradiction that counts only if it lasts: between a sensor's value and the mode, or between the values of two sensors. */
interface Contradiction {
  readonly sensor: Sensor;
  /** The second sensor; absent: the sensor contradicts the mode. */
  readonly against?: Sensor;
  /** Returns whether the values contradict each other at that instant; null: a value is unknown. */
  readonly holds: (state: DeriveState, at: EpochMs) => boolean | null;
  readonly allowed_ms: Milliseconds;
  readonly min: number;
  readonly reason: string;
}

const CONTRADICTIONS: readonly Contradiction[] = [
  {
    sensor: "air",
    holds: (state, at) => isBelow(state, "air", WARM_C) && at - startOf(state, "bake", at) >= WARM_AFTER_MS,
    allowed_ms: 0,
    min: WARM_C,
    reason: recordText("incident.cold_bake", { celsius: WARM_C }),
  },
  {
    sensor: "fan",
    holds: (state, at) => isBelow(state, "fan", FAN_OFF) && startOf(state, "spray", at) <= at,
    // Time for which fans may be off in the mode, because fans start together with the mode and not earlier.
    allowed_ms: MINUTE_MS,
    min: FAN_OFF,
    reason: recordText("incident.no_fan"),
  },
  {
    sensor: "burner",
    against: "fan",
    holds: (state) => isBelow(state, "fan", FAN_OFF) && isOn(state, "burner"),
    allowed_ms: 0,
    min: FAN_OFF,
    reason: recordText("incident.no_airflow"),
  },
  {
    sensor: "door",
    holds: (state, at) => isOn(state, "door") && startOf(state, "bake", at) <= at,
    allowed_ms: 2 * MINUTE_MS,
    min: 0,
    reason: recordText("incident.open_door"),
  },
];

/** Checks whether readings contradict each other or the mode. To be called when all readings of an instant are known. */
export function checkCross(fold: Fold): void {
  const { checks, clock } = fold.state;
  for (const contradiction of CONTRADICTIONS) {
    const tag = checks.tags[contradiction.sensor];
    if (tag === null) continue;
    const holds = contradiction.holds(fold.state, clock.now);
    if (holds === true) {
      const since = (checks.conflicts[tag] ??= clock.now);
      if (clock.now - since > patienceMs(fold.state, contradiction)) reportCross(fold, contradiction, clock.now);
      continue;
    }
    const { [tag]: since, ...others } = checks.conflicts;
    if (since !== undefined) checks.conflicts = others;
    if (holds === false) reportRight(fold, "cross", tag);
  }
}

/**
 * Reports contradictions that became too long since the last record. `jump_ms`: a correction of the clock, which doesn't count as elapsed
 * time.
 */
export function passConflicts(fold: Fold, jump_ms: Milliseconds): void {
  const { checks, clock } = fold.state;
  for (const tag in checks.conflicts) {
    const contradiction = contradictionOf(checks, tag);
    const since = checks.conflicts[tag];
    if (contradiction === undefined || since === undefined) continue;
    checks.conflicts[tag] = since + jump_ms;
    const due = since + jump_ms + patienceMs(fold.state, contradiction);
    if (clock.now > due && contradiction.holds(fold.state, due) === true) reportCross(fold, contradiction, due);
  }
}

/** Returns whether another tag still contradicts this tag. */
export function isContradicted(state: DeriveState, tag: TagName): boolean {
  const { checks, clock } = state;
  return checks.conflicts[tag] !== undefined && contradictionOf(checks, tag)?.holds(state, clock.now) === true;
}

function contradictionOf({ tags }: Checks, tag: TagName): Contradiction | undefined {
  return CONTRADICTIONS.find(({ sensor }) => tags[sensor] === tag);
}

function reportCross(fold: Fold, { min, reason, sensor }: Contradiction, at: EpochMs): void {
  const tag_name = fold.state.checks.tags[sensor] ?? "";
  report(fold, { tag_name, check: "cross", logic: { op: "cross", min }, reason }, at);
}

/**
 * Returns how long a contradiction may last. The two sides are read at different times. A value of a slow group may be as old as the
 * group's bridge (the longest gap over which a value stays valid). After the longer bridge, each side was read again or is unknown.
 */
function patienceMs(state: DeriveState, { sensor, against, allowed_ms }: Contradiction): Milliseconds {
  const { bays, parameters } = state;
  const others = against === undefined ? bays.map(({ group }) => group) : [sensorOf(state, against).group];
  const bridges = [sensorOf(state, sensor).group, ...others].map((group) => bridgeMs(parameters, group));
  return Math.max(allowed_ms, ...bridges);
}

/** Returns the start of the earliest stage in that mode, over all bays whose mode is known at `at`; Infinity: no bay is in it. */
function startOf({ bays }: DeriveState, mode: "spray" | "bake", at: EpochMs): EpochMs {
  const stages = bays.filter(({ live, good_until }) => live || good_until >= at).map(({ open }) => open);
  return Math.min(...stages.map((open) => (open?.mode === mode ? open.start : Infinity)));
}

function sensorOf({ checks, parameters }: DeriveState, sensor: Sensor) {
  const tag = checks.tags[sensor] ?? "";
  const found = parameters?.tags[tag];
  return { tag, parameters: found, group: found?.group ?? "" };
}

/** Returns the sensor's value; null: it is unknown. */
function valueOf(state: DeriveState, sensor: Sensor): unknown {
  const { tag, group } = sensorOf(state, sensor);
  const { latest, groups, clock, parameters } = state;
  const reading = latest[tag];
  const coverage = groups[group];
  if (reading === undefined || reading.quality === "bad" || coverage?.boot !== clock.boot) return null;
  // Uses a value as long as its own group's coverage is recent enough, because a slow group is polled less often.
  return clock.mono - coverage.to <= bridgeMs(parameters, group) ? reading.value : null;
}

/** Returns whether the sensor's value, in the figure's unit, is below the limit; null: it is unknown. */
function isBelow(state: DeriveState, sensor: Sensor, limit: number): boolean | null {
  const value = valueOf(state, sensor);
  return typeof value === "number" ? inFigureUnit(value, sensorOf(state, sensor).parameters) < limit : null;
}

function isOn(state: DeriveState, sensor: Sensor): boolean {
  const value = valueOf(state, sensor);
  return value === true || value === 1;
}

/** Modes that may follow each mode, in addition to `FROM_EVERYWHERE`. A mode without an entry isn't checked. */
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

const SHORT_PURGE_MS: Milliseconds = MINUTE_MS;
const LONG_MS: Partial<Record<Mode, Milliseconds>> = { spray: 12 * HOUR_MS, bake: 4 * HOUR_MS };

/**
 * Checks whether a mode may follow a stage that is final (no longer changed by later records). In a booth with several bays, each bay is
 * checked separately.
 */
export function checkSuccession(
  fold: Fold,
  tag_name: TagName,
  { stage, next }: { stage: ClosedStage; next: Mode },
): void {
  const { mode, start, end } = stage;
  const allowed = GRAPH[mode];
  if (allowed !== undefined && GRAPH[next] !== undefined && next !== mode) {
    judge(fold, !allowed.includes(next) && !FROM_EVERYWHERE.includes(next), {
      tag_name,
      check: "transition",
      logic: { op: "transition", from: mode, to: next },
      reason: recordText("incident.transition", { next, mode }),
    });
  }
  if (mode !== "purge" || next !== "bake") return;
  judge(fold, end - start < SHORT_PURGE_MS, {
    tag_name,
    check: "dwell",
    logic: { op: "dwell", mode: "purge", min: 1 },
    reason: recordText("incident.short_purge", { seconds: (end - start) / 1000 }),
  });
}

/** Duration of working hours that may pass without a known mode. */
const GAP_MS: Milliseconds = 5 * MINUTE_MS;
/** Maximum part of a long silence that is checked, because computing working hours is expensive. Shifts recur every week. */
const LOOK_BACK_MS: Milliseconds = 8 * DAY_MS;
/** Number of polls that may see two mode bits at once, because bits don't change in the same instant. */
const CONFLICT_POLLS = 2;

/** Checks conditions that depend on elapsed time: a silence, an endless stage, and two mode bits that stay on. */
export function checkBay(fold: Fold, bay: BayState): void {
  const { parameters, clock } = fold.state;
  const { tag: tag_name, open, good_until, conflict } = bay;
  if (isSilentTooLong(fold.state, bay)) {
    const minutes = GAP_MS / MINUTE_MS;
    const logic = { op: "gap", duration_minutes: minutes, working_hours_only: true };
    report(fold, { tag_name, check: "gap", logic, reason: recordText("incident.gap", { minutes }) });
  }
  const longest = open === null ? undefined : LONG_MS[open.mode];
  if (open !== null && longest !== undefined && good_until - open.start > longest) {
    const logic = { op: "dwell", mode: open.mode, max: longest / MINUTE_MS };
    const reason = recordText("incident.long", { mode: open.mode, hours: longest / HOUR_MS });
    report(fold, { tag_name, check: "dwell", logic, reason });
  }
  if (conflict === null || conflict === undefined) return;
  const due = conflict + CONFLICT_POLLS * pollIntervalMs(parameters, bay.group);
  if (clock.now <= due || (!bay.live && good_until < due)) return;
  const reason = recordText("incident.mode_conflict", { raw: bay.raw ?? "" });
  const logic = { op: "mode_conflict", polls: CONFLICT_POLLS };
  report(fold, { tag_name, check: "mode_conflict", logic, reason }, due);
}

/** Returns whether the bay's mode has been unknown for more than 5 min of working hours. */
function isSilentTooLong(state: DeriveState, { tag, open, live, good_until }: BayState): boolean {
  const { clock, parameters } = state;
  if (live || open === null || parameters === null || clock.now - good_until <= GAP_MS) return false;
  // Keeps an open incident about the same silence, because a silence never gets shorter.
  if (isOpenSince(state, { check: "gap", tag_name: tag }, good_until)) return true;
  const window = { start: Math.max(good_until, clock.now - LOOK_BACK_MS), end: clock.now };
  return lengthOf(workingIntervals(parameters.working_hours, parameters.tz, window)) > GAP_MS;
}

/** Checks a good reading of a bay's mode: its bits, and whether the profile maps its code. */
export function checkMode(fold: Fold, { tag: tag_name, conflict }: BayState, raw: string): void {
  const { parameters } = fold.state;
  if (conflict === null) reportRight(fold, "mode_conflict", tag_name);
  const unmapped: Incident = {
    tag_name,
    check: "unmapped",
    logic: { op: "mapped" },
    reason: recordText("incident.unmapped", { raw }),
  };
  judge(fold, parameters !== null && modeOf(parameters, raw) === "unknown", unmapped);
}
