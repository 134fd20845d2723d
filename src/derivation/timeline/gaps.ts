import { type TagRole, unitsPerHour } from "../../domain/parameters.ts";
import type { Coverage } from "../../domain/record.ts";
import { HOUR_MS } from "../../domain/time.ts";
import type { EpochMs, Milliseconds } from "../../domain/units.ts";
import type { Instant } from "../clock.ts";
import { bridgeMs, isCovered, isIn, modeOf, pollIntervalMs, tagWithRole } from "../parameters.ts";
import type {
  BayState,
  ClockState,
  CounterMark,
  CounterMarks,
  CounterState,
  DeriveState,
  Fold,
  OpenStage,
  Restart,
} from "../state.ts";
import { confirm, confirmAtGap, enterStage } from "./stages.ts";

/**
 * Ends a stage in a run at the last good reading before a restart of the PLC. Does nothing if the PLC kept its counters and soon returned
 * in the same mode. "Soon" means within the bridge, the longest gap over which a value stays valid.
 */
function restartBay(fold: Fold, bay: BayState, restart: Restart): void {
  const { resume, open } = bay;
  if (open === null || !isInRun(fold.state, bay)) return;
  if (resume !== null) {
    // Splits off the inferred time, unless the stage started after the gap and contains no inferred time.
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

/** Marks the stage that was open when the connection to the PLC ended as ended by the restart. */
function markLast(bay: BayState): void {
  const last = bay.closed.findLast(({ mode }) => mode !== "no_data");
  if (last !== undefined) last.end_reason = "restart";
}

/** Splits the open stage, which had been continued over the gap from `end` to `at`. */
function splitAt(bay: BayState, end: EpochMs, at: EpochMs): void {
  const { open } = bay;
  if (open === null) return;
  bay.closed.push({ ...open, uncertain_ms: open.uncertain_ms - (at - end), end, end_reason: "restart" });
  const fresh: OpenStage = { ...open, uncertain_ms: 0, before: open.mode, entered: false };
  const gap = { mode: "no_data", raw: "", start: end, end: at, end_reason: "changed" } as const;
  if (at > end) bay.closed.push({ ...fresh, ...gap });
  bay.open = { ...fresh, start: at, before: at > end ? open.mode : null };
  bay.inferred = null;
}

/** Maximum length of a gap that can be attributed to a mode. */
const INFERENCE_LIMIT_MS = 12 * HOUR_MS;
/** Maximum gap that is attributed to the mode if the hour meter's step is longer than half the gap, so that the meter proves nothing. */
const UNPROVEN_LIMIT_MS = 120_000;
const METER_TOLERANCE = 0.1;

/** The change from the previous clock to the present instant. */
interface Passage {
  readonly before: ClockState;
  readonly instant: Instant;
}

/** Advances time to the present instant. The mode is known as far as its group was polled. */
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
    // Uses the longer time by both clocks, because hours are due by corrected time even after a jump of the clock.
    const longest = Math.max(length, clock.now - bay.good_until);
    if (bay.gap !== null && !bay.gap.expired && longest > INFERENCE_LIMIT_MS) expire(fold, bay);
  }
  confirm(fold, bay, bay.gap?.expired === true ? clock.now : bay.good_until);
}

function followCoverage(state: DeriveState, bay: BayState, { before, instant }: Passage): void {
  const group = state.groups[bay.group];
  const to = group?.boot === before.boot ? Math.max(group.to, before.mono) : before.mono;
  if (!instant.new_boot && to >= instant.mono) {
    setGood(bay, state.clock);
    if (instant.jump_ms > 0) spanJump(bay, { from: before.now, to: instant.at, jump_ms: instant.jump_ms });
    return;
  }
  loseMode(state, bay);
  bay.good_boot = before.boot;
  bay.good_mono = instant.new_boot ? to : Math.min(to, instant.mono);
  bay.good_until = Math.min(state.clock.now, before.now + (bay.good_mono - before.mono));
}

/** Notes that the mode is unknown. Counters of other groups may still be read; the gap includes what they count from now on. */
function loseMode(state: DeriveState, bay: BayState): void {
  bay.live = false;
  bay.marks = marksOf(state);
}

/** Makes the mode unknown until its next reading. */
export function forgetMode(state: DeriveState, bay: BayState): void {
  if (bay.live) loseMode(state, bay);
  bay.raw = null;
}

/** Adds a jump of the clock to the open stage as uncertain time, and notes the jump as an inferred span. */
function spanJump(bay: BayState, { from, to, jump_ms }: { from: EpochMs; to: EpochMs; jump_ms: Milliseconds }): void {
  if (bay.open !== null) bay.open.uncertain_ms += jump_ms;
  bay.inferred ??= { from, to };
}

function setGood(bay: BayState, clock: ClockState): void {
  bay.good_until = clock.now;
  bay.good_boot = clock.boot;
  bay.good_mono = clock.mono;
}

/** Returns the gap's length: by the monotonic clock within a boot, or by corrected time across boots. */
function gapLength(bay: BayState, clock: ClockState): Milliseconds {
  return bay.good_boot === clock.boot ? clock.mono - bay.good_mono : clock.now - bay.good_until;
}

function expire(fold: Fold, bay: BayState): void {
  if (bay.gap !== null) bay.gap.expired = true;
  bay.resume = null;
  enterStage(fold, bay, { mode: "no_data", raw: "", at: bay.good_until, reason: "gap", uncertainty_ms: 0 });
}

/** Decides the bay's mode after all readings of the instant. `raw`: the mode that was read; null: a bad reading; undefined: no reading. */
export function finishInstant(fold: Fold, bay: BayState, raw: string | null | undefined): void {
  const { state } = fold;
  const { clock, parameters } = state;
  const covered = isCovered(state, bay.group);
  // Treats the previous value as valid up to the bad reading.
  const isHeld = raw === null && bay.raw !== null && covered && bay.open !== null && bay.gap === null;
  if (isHeld) setGood(bay, clock);
  if (raw !== undefined) bay.raw = raw;
  if (parameters === null || bay.raw === null || !covered) {
    if (bay.live || isHeld) loseMode(state, bay);
    return;
  }
  if (bay.open === null) changeMode(fold, bay, 0);
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

/** Changes to the mode that was read, if it differs from the mode of the open stage. */
function changeMode(fold: Fold, bay: BayState, uncertainty_ms: Milliseconds): void {
  const { parameters, clock } = fold.state;
  const { raw, open } = bay;
  if (parameters === null || raw === null) return;
  const mode = modeOf(parameters, raw);
  if (mode !== open?.mode) enterStage(fold, bay, { mode, raw, at: clock.now, reason: "changed", uncertainty_ms });
}

/** Applies the gap rule after a gap of `length` ms, when the mode is known again. */
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

/**
 * Returns whether counters prove that the mode lasted over the gap: the cycle counter is unchanged, and the hour meter counted the time
 * that the mode implies.
 */
function isProven(state: DeriveState, bay: BayState, length: Milliseconds): boolean {
  const { parameters } = state;
  if (parameters === null || bay.open === null || bay.gap === null || length > INFERENCE_LIMIT_MS) return false;
  const cycles = countedSince(state, "cycle_counter", bay.gap.cycles);
  const hours = countedSince(state, "hour_meter", bay.gap.hours);
  if (hours === null || cycles?.steps !== 0) return false;
  const step_ms = (hours.step / unitsPerHour(hours.unit)) * HOUR_MS;
  if (step_ms > length / 2) return length <= UNPROVEN_LIMIT_MS;
  const expected = isIn(parameters.mode_sets.runtime, bay.open.mode) ? length : 0;
  // Allows 0.5 ms for the meter's decimal steps, which aren't exact in binary.
  return Math.abs(hours.steps * step_ms - expected) <= Math.max(METER_TOLERANCE * length, step_ms) + 0.5;
}

/**
 * Returns the amount that the counter with that role has counted since the mark, and the counter's step, in `unit`; null: the amount is
 * uncertain.
 */
function countedSince(state: DeriveState, role: TagRole, mark: CounterMark | null) {
  const tag = tagWithRole(state.parameters, role) ?? "";
  const counter = state.counters[tag];
  const parameters = state.parameters?.tags[tag];
  if (parameters?.counter === undefined || mark === null || counter?.odd !== mark.odd) return null;
  if (state.latest[tag]?.quality === "bad" || !isCovered(state, parameters.group)) return null;
  const steps = counter.total_steps - mark.total_steps;
  return { steps, step: parameters.counter.step * parameters.factor, unit: parameters.unit };
}

/** Notes that counts made during the gap can't be split by mode. The totals stay unchanged. */
function bookUnattributed(state: DeriveState, mark: CounterMark | null, role: TagRole): void {
  const counter = counterOf(state, role);
  if (mark !== null && counter !== undefined) counter.unattributed_steps += counter.total_steps - mark.total_steps;
}

function marksOf(state: DeriveState): CounterMarks {
  const markOf = (role: TagRole): CounterMark | null => {
    const counter = counterOf(state, role);
    return counter === undefined ? null : { total_steps: counter.total_steps, odd: counter.odd };
  };
  return { cycles: markOf("cycle_counter"), hours: markOf("hour_meter") };
}

function counterOf({ parameters, counters }: DeriveState, role: TagRole): CounterState | undefined {
  return counters[tagWithRole(parameters, role) ?? ""];
}

/** Adds a coverage record (times of answered polls) at its `from`. A record without polls only lets time pass. */
export function addCoverage(state: DeriveState, { boot, value }: Coverage): void {
  if (value.polls === 0) return;
  const group = state.groups[value.group];
  const isContinued = group?.boot === boot && value.from - group.to <= bridgeMs(state.parameters, value.group);
  if (isContinued) {
    group.to = Math.max(group.to, value.to);
    return;
  }
  const { now } = state.clock;
  const known_until =
    group === undefined ? null : group.boot === boot ? now - (value.from - group.to) : group.known_until;
  state.groups[value.group] = { boot, from: value.from, to: value.to, known_until };
}
