import { inFigureUnit, type TagParameters } from "../../domain/parameters.ts";
import type { EpochMs, Milliseconds, TagName } from "../../domain/units.ts";
import type { Checks, ChecksFold } from "./state.ts";
import { report, judge, type EventOf } from "../timeline/events.ts";
import type { Mode } from "../../domain/booth.ts";
import { lengthOf, workingIntervals } from "../../domain/time-zone.ts";
import { isOpenSince } from "../incidents.ts";
import { modeOf, bridgeMs, pollIntervalMs } from "../parameters.ts";
import type { BayState, DeepReadonly } from "../timeline/state.ts";
import { say } from "../../domain/sentences.ts";

/** A bake is warm by then. */
const WARM_AFTER_MS: Milliseconds = 20 * 60_000;
const WARM_C = 40;
/** Below this share of full speed, %, a fan is off. */
const FAN_OFF = 1;

type Sensor = Exclude<keyof Checks["tags"], "analog">;

/** Two things that can't both be so for long: a sensor's value, and the mode or another sensor's value. */
interface Contradiction {
  readonly sensor: Sensor;
  /** The other sensor; absent: the mode. */
  readonly against?: Sensor;
  /** At that instant; null: not to be judged, as something isn't known. */
  readonly holds: (fold: ChecksFold, at: EpochMs) => boolean | null;
  readonly allowed_ms: Milliseconds;
  readonly min: number;
  readonly reason: string;
}

const CONTRADICTIONS: readonly Contradiction[] = [
  {
    sensor: "air",
    holds: (fold, at) => {
      const degrees = numberOf(fold, "air");
      return degrees === null ? null : degrees < WARM_C && at - startOf(fold, "bake", at) >= WARM_AFTER_MS;
    },
    allowed_ms: 0,
    min: WARM_C,
    reason: say("incident.cold_bake", { celsius: WARM_C }),
  },
  {
    sensor: "fan",
    holds: (fold, at) => {
      const stands = fanStands(fold);
      return stands === null ? null : stands && startOf(fold, "spray", at) <= at;
    },
    // Fans start with the mode, not before it: so long they may lag.
    allowed_ms: 60_000,
    min: FAN_OFF,
    reason: say("incident.no_fan"),
  },
  {
    sensor: "burner",
    against: "fan",
    holds: (fold) => {
      const stands = fanStands(fold);
      return stands === null ? null : stands && isOn(fold, "burner");
    },
    allowed_ms: 0,
    min: FAN_OFF,
    reason: say("incident.no_airflow"),
  },
  {
    sensor: "door",
    holds: (fold, at) => isOn(fold, "door") && startOf(fold, "bake", at) <= at,
    allowed_ms: 120_000,
    min: 0,
    reason: say("incident.open_door"),
  },
];

/** Readings that contradict each other, or the mode, at an instant that is complete. */
export function checkCross(fold: ChecksFold): void {
  const { checks } = fold.own;
  const { clock } = fold.seen;
  for (const contradiction of CONTRADICTIONS) {
    const tag = checks.tags[contradiction.sensor];
    if (tag === null) continue;
    const holds = contradiction.holds(fold, clock.now);
    if (holds === true) {
      const since = (checks.conflicts[tag] ??= clock.now);
      if (clock.now - since > patienceMs(fold, contradiction)) tell(fold, contradiction, { tag, at: clock.now });
      continue;
    }
    if (checks.conflicts[tag] !== undefined) {
      checks.conflicts = Object.fromEntries(Object.entries(checks.conflicts).filter(([one]) => one !== tag));
    }
    if (holds === false) fold.finding({ kind: "right", check: "cross", tag_name: tag });
  }
}

/** Time has passed without a reading: a contradiction may have lasted too long meanwhile. A clock put forward isn't time. */
export function passConflicts(fold: ChecksFold, jump_ms: Milliseconds): void {
  const { checks } = fold.own;
  const { clock } = fold.seen;
  for (const tag in checks.conflicts) {
    const contradiction = contradictionOf(checks, tag);
    const since = checks.conflicts[tag];
    if (contradiction === undefined || since === undefined) continue;
    checks.conflicts[tag] = since + jump_ms;
    const due = since + jump_ms + patienceMs(fold, contradiction);
    if (clock.now > due && contradiction.holds(fold, due) === true) tell(fold, contradiction, { tag, at: due });
  }
}

/** Whether the incident `cross` of this tag goes on at the present instant. */
export function isContradicted(fold: ChecksFold, tag: TagName): boolean {
  const { checks } = fold.own;
  const contradiction = contradictionOf(checks, tag);
  return checks.conflicts[tag] !== undefined && contradiction?.holds(fold, fold.seen.clock.now) === true;
}

function contradictionOf({ tags }: Checks, tag: TagName): Contradiction | undefined {
  return CONTRADICTIONS.find(({ sensor }) => tags[sensor] === tag);
}

function tell(fold: ChecksFold, { min, reason }: Contradiction, { tag, at }: { tag: TagName; at: EpochMs }): void {
  report(fold, { tag_name: tag, check: "cross", logic: { op: "cross", min }, reason }, at);
}

/**
 * The two sides are read at different times, and what a slow group said may be a bridge old. So a contradiction speaks only
 * when it has lasted longer than the bridges of both: by then each side was read anew since, or isn't known.
 */
function patienceMs(fold: ChecksFold, { sensor, against, allowed_ms }: Contradiction): Milliseconds {
  const { bays, parameters } = fold.seen;
  const others = against === undefined ? bays.map(({ group }) => group) : [groupOf(fold, against)];
  const bridges = [groupOf(fold, sensor), ...others].map((group) => bridgeMs(parameters, group));
  return Math.max(allowed_ms, ...bridges);
}

/** Start of the first bay's stage in that mode, known to go on at `at`; Infinity: none is in it. */
function startOf({ seen }: ChecksFold, mode: "spray" | "bake", at: EpochMs): EpochMs {
  const stages = seen.bays.filter(({ live, good_until }) => live || good_until >= at).map(({ open }) => open);
  return Math.min(...stages.map((open) => (open?.mode === mode ? open.start : Infinity)));
}

function fanStands(fold: ChecksFold): boolean | null {
  const speed = numberOf(fold, "fan");
  return speed === null ? null : speed < FAN_OFF;
}

function tagOf({ own, seen }: ChecksFold, sensor: Sensor): TagParameters | undefined {
  return seen.parameters?.tags[own.checks.tags[sensor] ?? ""];
}

function groupOf(fold: ChecksFold, sensor: Sensor): string {
  return tagOf(fold, sensor)?.group ?? "";
}

function known(fold: ChecksFold, sensor: Sensor): unknown {
  const { seen } = fold;
  const tag = fold.own.checks.tags[sensor];
  const latest = tag === null ? undefined : seen.latest[tag];
  const group = groupOf(fold, sensor);
  const coverage = seen.groups[group];
  if (latest === undefined || latest.quality === "bad" || coverage?.boot !== seen.clock.boot) return null;
  // A slow group is polled between the fast ones: its value holds from one poll to the next.
  return seen.clock.mono - coverage.to <= bridgeMs(seen.parameters, group) ? latest.value : null;
}

function numberOf(fold: ChecksFold, sensor: Sensor): number | null {
  const value = known(fold, sensor);
  return typeof value === "number" ? inFigureUnit(value, tagOf(fold, sensor)) : null;
}

function isOn(fold: ChecksFold, sensor: Sensor): boolean {
  const value = known(fold, sensor);
  return value === true || value === 1;
}

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

/** A stage is over for good and `next` follows. Of a booth with several bays only theirs are looked at. */
export function checkSuccession(fold: ChecksFold, { tag, stage, next }: EventOf<"stage_closed">): void {
  if (tag === null) return;
  const allowed = GRAPH[stage.mode];
  if (allowed !== undefined && GRAPH[next] !== undefined && next !== stage.mode) {
    judge(fold, !allowed.includes(next) && !FROM_EVERYWHERE.includes(next), {
      tag_name: tag,
      check: "transition",
      logic: { op: "transition", from: stage.mode, to: next },
      reason: say("incident.transition", { next, mode: stage.mode }),
    });
  }
  if (stage.mode !== "purge" || next !== "bake") return;
  const ms = stage.end - stage.start;
  dwell(fold, tag, {
    wrong: ms < SHORT_PURGE_MS,
    logic: { op: "dwell", mode: "purge", min: 1 },
    reason: say("incident.short_purge", { seconds: ms / 1000 }),
  });
}

/** An open stage must not last for ever. */
export function checkDwell(fold: ChecksFold, { tag, open, good_until }: DeepReadonly<BayState>): void {
  const longest = open === null ? undefined : LONG_MS[open.mode];
  if (open === null || longest === undefined || good_until - open.start <= longest) return;
  const minutes = longest / 60_000;
  dwell(fold, tag, {
    wrong: true,
    logic: { op: "dwell", mode: open.mode, max: minutes },
    reason: say("incident.long", { mode: open.mode, hours: minutes / 60 }),
  });
}

function dwell(
  fold: ChecksFold,
  tag_name: TagName,
  { wrong, logic, reason }: { wrong: boolean; logic: Record<string, string | number>; reason: string },
): void {
  judge(fold, wrong, { tag_name, check: "dwell", logic, reason });
}

/** This much of the working hours may pass unseen. */
const GAP_MS: Milliseconds = 300_000;
/** Longer ones are looked at from their end only, as working hours are dear to compute; shifts come again every week. */
const LOOK_BACK_MS: Milliseconds = 8 * 24 * 3_600_000;

/** Whether the bay hasn't been seen for over 5 min of working hours up to now. */
function gapIsWrong(seen: ChecksFold["seen"], { tag, open, live, good_until }: DeepReadonly<BayState>): boolean {
  const { clock, parameters } = seen;
  if (live || open === null || parameters === null || clock.now - good_until <= GAP_MS) return false;
  // The same silence gets no shorter.
  if (isOpenSince(seen, { check: "gap", tag_name: tag }, good_until)) return true;
  const window = { start: Math.max(good_until, clock.now - LOOK_BACK_MS), end: clock.now };
  return lengthOf(workingIntervals(parameters.working_hours, parameters.tz, window)) > GAP_MS;
}

/** Time has passed. */
export function checkGap(fold: ChecksFold, bay: DeepReadonly<BayState>): void {
  if (!gapIsWrong(fold.seen, bay)) return;
  const minutes = GAP_MS / 60_000;
  const logic = { op: "gap", duration_minutes: minutes, working_hours_only: true };
  const reason = say("incident.gap", { minutes });
  report(fold, { tag_name: bay.tag, check: "gap", logic, reason });
}

/** Bits don't change in the same instant: so many polls may see two of them. */
const POLLS = 2;

/** A bay's mode was read: whether its bits agree, and the profile knows its code. */
export function checkMode(fold: ChecksFold, { bay, raw }: EventOf<"mode_read">): void {
  const { parameters } = fold.seen;
  const tag_name = bay.tag;
  if (bay.conflict === null) fold.finding({ kind: "right", check: "mode_conflict", tag_name });
  if (parameters === null || modeOf(parameters, raw) !== "unknown") {
    fold.finding({ kind: "right", check: "unmapped", tag_name });
    return;
  }
  const reason = say("incident.unmapped", { raw });
  report(fold, { tag_name, check: "unmapped", logic: { op: "mapped" }, reason });
}

/** Time has passed: two modes' bits may have been on at once for too long. */
export function checkConflict(fold: ChecksFold, bay: DeepReadonly<BayState>): void {
  if (bay.conflict === null || bay.conflict === undefined) return;
  const { parameters, clock } = fold.seen;
  const at = bay.conflict + POLLS * pollIntervalMs(parameters, bay.group);
  if (clock.now <= at || (!bay.live && bay.good_until < at)) return;
  const reason = say("incident.mode_conflict", { raw: bay.raw ?? "" });
  const logic = { op: "mode_conflict", polls: POLLS };
  report(fold, { tag_name: bay.tag, check: "mode_conflict", logic, reason }, at);
}
