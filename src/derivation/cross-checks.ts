import type { EpochMs, Milliseconds, TagName } from "../domain/units.ts";
import type { ChecksState } from "./checks-state.ts";
import { bridgeMs } from "./coverage.ts";
import { pass, report } from "./incidents.ts";
import type { DeriveState, Fold } from "./state.ts";

/** A bake is warm by then. */
const WARM_AFTER_MS: Milliseconds = 20 * 60_000;
const WARM_C = 40;
/** Below this share of full speed, %, a fan is off. */
const FAN_OFF = 1;

type Sensor = Exclude<keyof ChecksState["tags"], "analog">;

/** Two things that can't both be so for long: a sensor's value, and the mode or another sensor's value. */
interface Contradiction {
  readonly sensor: Sensor;
  /** The other sensor; absent: the mode. */
  readonly against?: Sensor;
  /** At that instant; null: not to be judged, as something isn't known. */
  readonly holds: (state: DeriveState, at: EpochMs) => boolean | null;
  readonly allowed_ms: Milliseconds;
  readonly min: number;
  readonly reason: string;
}

const CONTRADICTIONS: readonly Contradiction[] = [
  {
    sensor: "air",
    holds: (state, at) => {
      const degrees = numberOf(state, "air");
      return degrees === null ? null : degrees < WARM_C && at - startOf(state, "bake", at) >= WARM_AFTER_MS;
    },
    allowed_ms: 0,
    min: WARM_C,
    reason: `bake is under ${WARM_C} C after 20 min`,
  },
  {
    sensor: "fan",
    holds: (state, at) => {
      const stands = fanStands(state);
      return stands === null ? null : stands && startOf(state, "spray", at) <= at;
    },
    // Fans start with the mode, not before it: so long they may lag.
    allowed_ms: 60_000,
    min: FAN_OFF,
    reason: "the fan is off in spray",
  },
  {
    sensor: "burner",
    against: "fan",
    holds: (state) => {
      const stands = fanStands(state);
      return stands === null ? null : stands && isOn(state, "burner");
    },
    allowed_ms: 0,
    min: FAN_OFF,
    reason: "the burner is on without airflow",
  },
  {
    sensor: "door",
    holds: (state, at) => isOn(state, "door") && startOf(state, "bake", at) <= at,
    allowed_ms: 120_000,
    min: 0,
    reason: "the door has been open in bake for over 2 min",
  },
];

/** Readings that contradict each other, or the mode, at an instant that is complete. */
export function checkCross(fold: Fold): void {
  const { checks, clock } = fold.state;
  for (const contradiction of CONTRADICTIONS) {
    const tag = checks.tags[contradiction.sensor];
    if (tag === null) continue;
    const holds = contradiction.holds(fold.state, clock.now);
    if (holds === true) {
      const since = (checks.conflicts[tag] ??= clock.now);
      if (clock.now - since > patienceMs(fold.state, contradiction)) tell(fold, contradiction, { tag, at: clock.now });
      continue;
    }
    // eslint-disable-next-line @typescript-eslint/no-dynamic-delete -- the conflicts are a map that is saved as JSON
    delete checks.conflicts[tag];
    if (holds === false) pass(fold, "cross", tag);
  }
}

/** Time has passed without a reading: a contradiction may have lasted too long meanwhile. A clock put forward isn't time. */
export function passConflicts(fold: Fold, jump_ms: Milliseconds): void {
  const { checks, clock } = fold.state;
  for (const tag in checks.conflicts) {
    const contradiction = contradictionOf(checks, tag);
    const since = checks.conflicts[tag];
    if (contradiction === undefined || since === undefined) continue;
    checks.conflicts[tag] = since + jump_ms;
    const due = since + jump_ms + patienceMs(fold.state, contradiction);
    if (clock.now > due && contradiction.holds(fold.state, due) === true) tell(fold, contradiction, { tag, at: due });
  }
}

/** Whether the incident `cross` of this tag goes on at the present instant. */
export function isContradicted(state: DeriveState, tag: TagName): boolean {
  const contradiction = contradictionOf(state.checks, tag);
  return state.checks.conflicts[tag] !== undefined && contradiction?.holds(state, state.clock.now) === true;
}

function contradictionOf({ tags }: ChecksState, tag: TagName): Contradiction | undefined {
  return CONTRADICTIONS.find(({ sensor }) => tags[sensor] === tag);
}

function tell(fold: Fold, { min, reason }: Contradiction, { tag, at }: { tag: TagName; at: EpochMs }): void {
  report(fold, { tag_name: tag, check: "cross", logic: { op: "cross", min }, reason, severity: "warning" }, at);
}

/**
 * The two sides are read at different times, and what a slow group said may be a bridge old. So a contradiction speaks only
 * when it has lasted longer than the bridges of both: by then each side was read anew since, or isn't known.
 */
function patienceMs(state: DeriveState, { sensor, against, allowed_ms }: Contradiction): Milliseconds {
  const others = against === undefined ? state.bays.map(({ group }) => group) : [groupOf(state, against)];
  const bridges = [groupOf(state, sensor), ...others].map((group) => bridgeMs(state.parameters, group));
  return Math.max(allowed_ms, ...bridges);
}

/** Start of the first bay's stage in that mode, known to go on at `at`; Infinity: none is in it. */
function startOf({ bays }: DeriveState, mode: "spray" | "bake", at: EpochMs): EpochMs {
  const stages = bays.filter(({ live, good_until }) => live || good_until >= at).map(({ open }) => open);
  return Math.min(...stages.map((open) => (open?.mode === mode ? open.start : Infinity)));
}

function fanStands(state: DeriveState): boolean | null {
  const speed = numberOf(state, "fan");
  return speed === null ? null : speed < FAN_OFF;
}

function groupOf({ checks, parameters }: DeriveState, sensor: Sensor): string {
  return parameters?.tags[checks.tags[sensor] ?? ""]?.group ?? "";
}

function known(state: DeriveState, sensor: Sensor): unknown {
  const tag = state.checks.tags[sensor];
  const latest = tag === null ? undefined : state.latest[tag];
  const group = groupOf(state, sensor);
  const coverage = state.groups[group];
  if (latest === undefined || latest.quality === "bad" || coverage?.boot !== state.clock.boot) return null;
  // A slow group is polled between the fast ones: its value holds from one poll to the next.
  return state.clock.mono - coverage.to <= bridgeMs(state.parameters, group) ? latest.value : null;
}

function numberOf(state: DeriveState, sensor: Sensor): number | null {
  const value = known(state, sensor);
  return typeof value === "number" ? value : null;
}

function isOn(state: DeriveState, sensor: Sensor): boolean {
  const value = known(state, sensor);
  return value === true || value === 1;
}
