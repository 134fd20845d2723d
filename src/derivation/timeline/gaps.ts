import { type TagParameters, type TagRole, unitsPerHour } from "../../domain/parameters.ts";
import type { EpochMs, Milliseconds } from "../../domain/units.ts";
import type { Instant } from "../clock.ts";
import { bridgeMs, isIn, modeOf, pollIntervalMs, tagWithRole } from "../parameters.ts";
import type { Fold } from "./events.ts";
import { confirm, confirmAtGap, enterStage } from "./stages.ts";
import type {
  BayState,
  ClockState,
  ClosedStage,
  CounterMark,
  CounterMarks,
  CounterState,
  OpenStage,
  PendingReading,
  Restart,
  TimelineState,
  DeepReadonly,
  GroupState,
} from "./state.ts";
import type { Coverage } from "../../domain/record.ts";
import { HOUR_MS } from "../../domain/time.ts";

/** Whether the reading shows that the PLC restarted: its uptime fell, or its first-scan bit came on. */
export function isRestart(state: TimelineState, { tag, value }: PendingReading, { role }: TagParameters): boolean {
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
function restartBay(fold: Fold, bay: BayState, restart: Restart): void {
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

function isInRun(state: TimelineState, bay: BayState): boolean {
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

/** No inference over a longer gap. */
const INFERENCE_LIMIT_MS = 12 * 3_600_000;
/** An hour meter whose step exceeds half the gap proves nothing: then the mode goes on this long. */
const UNPROVEN_LIMIT_MS = 120_000;
const METER_TOLERANCE = 0.1;

/** From the clock as it was to the present instant. */
interface Passage {
  readonly was: ClockState;
  readonly instant: Instant;
}

/** Takes the bay to the present instant: the mode is known as far as its group was polled. */
export function passTime(fold: Fold, bay: BayState, passage: Passage): void {
  if (bay.open === null) return;
  const { clock, parameters } = fold.state;
  if (bay.live) followCoverage(fold.state, bay, passage);
  if (!bay.live) {
    const length = gapLength(bay, clock);
    if (bay.gap === null && length > bridgeMs(parameters, bay.group)) {
      bay.gap = { expired: false, ...(bay.marks ?? marksOf(fold.state)) };
      confirmAtGap(fold, bay);
    }
    // Either clock: after a jump the hours of the gap fall due by corrected time.
    const longest = Math.max(length, clock.now - bay.good_until);
    if (bay.gap !== null && !bay.gap.expired && longest > INFERENCE_LIMIT_MS) expire(fold, bay);
  }
  confirm(fold, bay, bay.gap?.expired === true ? clock.now : bay.good_until);
}

function followCoverage(state: TimelineState, bay: BayState, { was, instant }: Passage): void {
  const group = state.groups[bay.group];
  const to = group?.boot === was.boot ? Math.max(group.to, was.mono) : was.mono;
  if (!instant.new_boot && to >= instant.mono) {
    setGood(bay, state.clock);
    if (instant.jump_ms > 0) spanJump(bay, { from: was.now, to: instant.at, jump_ms: instant.jump_ms });
    return;
  }
  lose(state, bay);
  bay.good_boot = was.boot;
  bay.good_mono = instant.new_boot ? to : Math.min(to, instant.mono);
  bay.good_until = Math.min(state.clock.now, was.now + (bay.good_mono - was.mono));
}

/** The mode isn't known any more. Other groups' counters may go on, and what they show from now on is the gap's. */
function lose(state: TimelineState, bay: BayState): void {
  bay.live = false;
  bay.marks = marksOf(state);
}

/** The mode isn't known until it is read anew. */
export function forgetMode(state: TimelineState, bay: BayState): void {
  if (bay.live) lose(state, bay);
  bay.raw = null;
}

/** A clock put forward is spanned by the open stage; the time isn't certain. */
function spanJump(bay: BayState, { from, to, jump_ms }: { from: EpochMs; to: EpochMs; jump_ms: Milliseconds }): void {
  if (bay.open !== null) bay.open.uncertain_ms += jump_ms;
  bay.inferred ??= { from, to };
}

function setGood(bay: BayState, clock: ClockState): void {
  bay.good_until = clock.now;
  bay.good_boot = clock.boot;
  bay.good_mono = clock.mono;
}

/** Measured on the monotonic clock within a boot, in corrected time across one. */
function gapLength(bay: BayState, clock: ClockState): Milliseconds {
  return bay.good_boot === clock.boot ? clock.mono - bay.good_mono : clock.now - bay.good_until;
}

function expire(fold: Fold, bay: BayState): void {
  if (bay.gap !== null) bay.gap.expired = true;
  bay.resume = null;
  enterStage(fold, bay, { mode: "no_data", raw: "", at: bay.good_until, reason: "gap", uncertainty_ms: 0 });
}

/** The present instant is complete: what the bay's mode is now, `raw` being this instant's reading of it, if any. */
export function finishInstant(fold: Fold, bay: BayState, raw: string | null | undefined): void {
  const { state } = fold;
  const { clock, parameters } = state;
  const covered = isCovered(state.groups[bay.group], clock);
  // The value before a bad reading holds up to it.
  const isHeld = raw === null && bay.raw !== null && covered && bay.open !== null && bay.gap === null;
  if (isHeld) setGood(bay, clock);
  if (raw !== undefined) bay.raw = raw;
  if (parameters === null || bay.raw === null || !covered) {
    if (bay.live || isHeld) lose(state, bay);
    return;
  }
  if (bay.open === null) enter(fold, bay, { reason: "changed", uncertainty_ms: 0 });
  else if (!bay.live) resume(fold, bay, gapLength(bay, clock));
  else changeMode(fold, bay, pollIntervalMs(parameters, bay.group));
  setGood(bay, clock);
  bay.live = true;
  bay.gap = null;
  bay.marks = null;
  confirm(fold, bay, bay.good_until);
  if (bay.restart === null) return;
  restartBay(fold, bay, bay.restart);
  bay.restart = null;
  confirm(fold, bay, bay.good_until);
}

function enter(
  fold: Fold,
  bay: BayState,
  { reason, uncertainty_ms }: { reason: "changed" | "gap"; uncertainty_ms: Milliseconds },
): void {
  const { parameters, clock } = fold.state;
  if (parameters === null || bay.raw === null) return;
  const mode = modeOf(parameters, bay.raw);
  enterStage(fold, bay, { mode, raw: bay.raw, at: clock.now, reason, uncertainty_ms });
}

function changeMode(fold: Fold, bay: BayState, uncertainty_ms: Milliseconds): void {
  const { parameters } = fold.state;
  if (parameters === null || bay.raw === null || bay.open === null) return;
  if (modeOf(parameters, bay.raw) !== bay.open.mode) enter(fold, bay, { reason: "changed", uncertainty_ms });
}

/** The mode is known again after `length` ms: the gap rule. */
function resume(fold: Fold, bay: BayState, length: Milliseconds): void {
  const { parameters, clock } = fold.state;
  const { open, gap, good_until } = bay;
  if (parameters === null || open === null || bay.raw === null) return;
  const poll = pollIntervalMs(parameters, bay.group);
  if (gap === null || length <= bridgeMs(parameters, bay.group)) {
    const jump_ms = clock.now - good_until - length;
    if (jump_ms > 0) spanJump(bay, { from: good_until, to: clock.now, jump_ms });
    setGood(bay, clock);
    confirm(fold, bay, clock.now);
    changeMode(fold, bay, poll);
    return;
  }
  const went_on = !gap.expired && modeOf(parameters, bay.raw) === open.mode && isProven(fold.state, bay, length);
  if (went_on) {
    open.uncertain_ms += clock.now - good_until;
    bay.inferred = { from: bay.inferred?.from ?? good_until, to: clock.now };
  } else {
    bookUnattributed(fold.state, gap.cycles, "cycle_counter");
    bookUnattributed(fold.state, gap.hours, "hour_meter");
    if (!gap.expired && clock.now > good_until) {
      enterStage(fold, bay, { mode: "no_data", raw: "", at: good_until, reason: "gap", uncertainty_ms: 0 });
    }
    changeMode(fold, bay, length);
  }
  bay.resume = { at: clock.now, good_until, went_on };
}

/** Cycle counter unchanged, and the hour meter went on exactly as the mode says. */
function isProven(state: TimelineState, bay: BayState, length: Milliseconds): boolean {
  const { parameters } = state;
  if (parameters === null || bay.open === null || bay.gap === null || length > INFERENCE_LIMIT_MS) return false;
  const cycles = advanceOf(state, "cycle_counter", bay.gap.cycles);
  const hours = advanceOf(state, "hour_meter", bay.gap.hours);
  if (cycles === null || hours === null || cycles.steps !== 0) return false;
  const step_ms = (hours.step / unitsPerHour(hours.unit)) * HOUR_MS;
  if (step_ms > length / 2) return length <= UNPROVEN_LIMIT_MS;
  const expected = isIn(parameters.mode_sets.runtime, bay.open.mode) ? length : 0;
  // Half a millisecond: the meter's decimal steps aren't exact in binary.
  return Math.abs(hours.steps * step_ms - expected) <= Math.max(METER_TOLERANCE * length, step_ms) + 0.5;
}

interface Advance {
  readonly steps: number;
  readonly step: number;
  readonly unit: string;
}

/** What the counter of that role showed since the mark; null: not known for sure. */
function advanceOf(state: TimelineState, role: TagRole, mark: CounterMark | null): Advance | null {
  const tag = tagWithRole(state.parameters, role);
  if (tag === undefined || mark === null) return null;
  const counter = state.counters[tag];
  const parameters = state.parameters?.tags[tag];
  if (counter === undefined || parameters?.counter === undefined || counter.odd !== mark.odd) return null;
  if (state.latest[tag]?.quality === "bad" || !isCovered(state.groups[parameters.group], state.clock)) return null;
  return {
    steps: counter.total_steps - mark.total_steps,
    step: parameters.counter.step * parameters.factor,
    unit: parameters.unit,
  };
}

/** Totals aren't lost with a gap; only the split by mode is. */
function bookUnattributed(state: TimelineState, mark: CounterMark | null, role: TagRole): void {
  const counter = counterOf(state, role);
  if (mark !== null && counter !== undefined) counter.unattributed_steps += counter.total_steps - mark.total_steps;
}

function marksOf(state: TimelineState): CounterMarks {
  const markOf = (role: TagRole): CounterMark | null => {
    const counter = counterOf(state, role);
    return counter === undefined ? null : { total_steps: counter.total_steps, odd: counter.odd };
  };
  return { cycles: markOf("cycle_counter"), hours: markOf("hour_meter") };
}

function counterOf({ parameters, counters }: TimelineState, role: TagRole): CounterState | undefined {
  return counters[tagWithRole(parameters, role) ?? ""];
}

/** Takes a coverage record in at its `from`. One without polls passes time only. */
export function cover(state: TimelineState, { boot, value }: Coverage): void {
  if (value.polls === 0) return;
  const group = state.groups[value.group];
  const goes_on = group?.boot === boot && value.from - group.to <= bridgeMs(state.parameters, value.group);
  if (goes_on) {
    group.to = Math.max(group.to, value.to);
    return;
  }
  const { now } = state.clock;
  const known_until =
    group === undefined ? null : group.boot === boot ? now - (value.from - group.to) : group.known_until;
  state.groups[value.group] = { boot, from: value.from, to: value.to, known_until };
}

/** Whether the group is known to have been polled without a break around the present instant. */
export function isCovered(group: DeepReadonly<GroupState> | undefined, clock: DeepReadonly<ClockState>): boolean {
  return group?.boot === clock.boot && group.from <= clock.mono && clock.mono <= group.to;
}
