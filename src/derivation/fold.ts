import type { Parameters } from "../domain/parameters.ts";
import type { LogRecord, Reading, Stored } from "../domain/record.ts";
import type { EpochMs } from "../domain/units.ts";
import { checkStep, type Instant, moveClock, placeOf, reclock } from "./clock.ts";
import { cover } from "./coverage.ts";
import { checkCross, passConflicts } from "./cross-checks.ts";
import { takeEntry, undoEntry } from "./entries.ts";
import { beginFilters, isSeen, reportRemovals } from "./filters.ts";
import { passWork } from "./energy.ts";
import { finishInstant, forgetMode, passTime } from "./gaps.ts";
import { writeHours } from "./hours.ts";
import { checkReadings, stillWrong } from "./checks.ts";
import { passDay } from "./day-checks.ts";
import { checkGap } from "./gap-check.ts";
import { pass, passIncidentTime, report, reportEvent } from "./incidents.ts";
import { checkModeConflict, passModeConflict } from "./mode-conflict.ts";
import { modeOf, rawMode } from "./modes.ts";
import { applyParameters } from "./parameters.ts";
import { samplePressures } from "./pressure.ts";
import { judgeReadings } from "./readings.ts";
import { checkDwell } from "./stage-checks.ts";
import { checkPlcClocks, checkSourceTime } from "./source-clock.ts";
import { finishRevisions, passRevisionTime } from "./revisions.ts";
import type { BayState, DeriveState, FactDraft, Fold } from "./state.ts";

export interface Step {
  readonly state: DeriveState;
  /** In order; the store gives them the seqs right after the record's. */
  readonly facts: FactDraft[];
}

/**
 * Folds one record of a booth's log in, in seq order. A seq already seen changes nothing.
 *
 * The state given is used up: the one returned is the same object, changed, so that a record costs microseconds.
 * Whoever needs the state before keeps a JSON copy; going on from such a copy gives the same facts.
 *
 * An instant is judged when the first record after it arrives, as its readings may come one by one. What falls due
 * by time alone comes with the next record too, and carries the instant at which it fell due.
 */
export function step(state: DeriveState, record: Stored<LogRecord>): Step {
  const fold: Fold = { state, record, facts: [] };
  if (record.seq <= state.seq) return fold;
  state.seq = record.seq;
  advance(fold, placeOf(state, record));
  apply(fold);
  if (state.clock.unsure) fold.facts.forEach((fact, index) => (fold.facts[index] = { ...fact, quality: "uncertain" }));
  return fold;
}

/** Closes the present instant and goes to the next one. */
function advance(fold: Fold, instant: Instant): void {
  const { clock } = fold.state;
  if (!instant.new_boot && instant.mono === clock.mono && instant.at === clock.now) return;
  finish(fold);
  const was = { ...clock };
  moveClock(fold.state, fold.record, instant);
  for (const bay of fold.state.bays) {
    passTime(fold, bay, { was, instant });
    if (!bay.live) checkGap(fold, bay);
    checkDwell(fold, bay);
    passModeConflict(fold, bay, instant.jump_ms);
  }
  passConflicts(fold, instant.jump_ms);
  finishTime(fold);
}

function apply(fold: Fold): void {
  const { state, record } = fold;
  switch (record.kind) {
    case "r":
      takeReading(fold, record);
      break;
    case "h":
      cover(state, record);
      passWork(state);
      break;
    case "t": {
      checkStep(fold, record);
      const instant = reclock(state.clock, record);
      if (instant !== null) advance(fold, instant);
      break;
    }
    case "p":
      applyParameters(fold, record.value);
      passWork(state);
      break;
    case "f":
      takeEntry(fold, record);
      break;
    case "x":
      undoEntry(fold, record);
      break;
    case "e":
      reportEvent(fold, record);
      break;
    case "g":
      break;
  }
}

function takeReading(fold: Fold, reading: Reading): void {
  const { state } = fold;
  const { tag, value, quality } = reading;
  checkSourceTime(fold, reading);
  passWork(state);
  const latest = state.latest[tag];
  if (quality !== "bad" || latest === undefined) state.latest[tag] = { value, at: state.clock.now, quality };
  else latest.quality = quality;
  if (state.parameters?.tags[tag]?.role !== undefined) state.pending.push({ tag, value, quality });
}

/** The present instant is complete: no further record belongs to it. */
function finish(fold: Fold): void {
  const { state } = fold;
  const { parameters, pending } = state;
  if (parameters === null) {
    pending.length = 0;
    return;
  }
  if (pending.length > 0) {
    const evidence = judgeReadings(fold, parameters);
    if (evidence.restarted) {
      for (const bay of state.bays) bay.restart = { at: state.clock.now, lost: evidence.lost };
    }
  }
  const was_seen = isSeen(state);
  for (const bay of state.bays) finishBay(fold, bay);
  if (!was_seen && isSeen(state)) beginFilters(fold);
  if (pending.length > 0) {
    checkReadings(fold, parameters);
    checkPlcClocks(fold, parameters);
    samplePressures(fold, parameters);
    checkCross(fold);
  }
  finishRevisions(fold);
  pending.length = 0;
  finishTime(fold);
}

function finishBay(fold: Fold, bay: BayState): void {
  const { pending, parameters } = fold.state;
  const reading = pending.findLast(({ tag }) => tag === bay.tag);
  if (reading === undefined) {
    if (!bay.live || bay.restart !== null) finishInstant(fold, bay, undefined);
    return;
  }
  const raw = reading.quality === "bad" || reading.value === null ? null : rawMode(reading.value);
  finishInstant(fold, bay, raw);
  if (raw !== null) checkModeConflict(fold, bay, raw);
  if (raw !== null && parameters !== null && modeOf(parameters, raw) === "unknown") {
    const reason = `the profile doesn't map the mode code ${raw}`;
    report(fold, { tag_name: bay.tag, check: "unmapped", logic: { op: "mapped" }, reason, severity: "warning" });
  } else if (raw !== null) pass(fold, "unmapped", bay.tag);
}

function finishTime(fold: Fold): void {
  passRevisionTime(fold);
  reportRemovals(fold);
  passWork(fold.state);
  writeHours(fold);
  passDay(fold);
  passIncidentTime(fold, stillWrong);
}

/**
 * Other parameters come into force at the state's instant without a record, as where a rebuild with today's begins with a
 * state that was made with those of then. The same ones change nothing. The state given is used up.
 */
export function adoptParameters(state: DeriveState, parameters: Parameters): Step {
  const { boot, mono, now } = state.clock;
  const record = {
    kind: "p",
    boot,
    mono,
    at: now,
    tag: "",
    quality: "good",
    seq: state.seq,
    value: parameters,
  } as const;
  const fold: Fold = { state, record, facts: [] };
  if (JSON.stringify(state.parameters) !== JSON.stringify(parameters)) applyParameters(fold, parameters);
  return fold;
}

/**
 * What could be said at `nowMs` if nothing further came: the present instant is taken for complete, and time goes on
 * as far as polls cover it. Works on a copy; its facts are provisional and are never logged.
 */
export function peek(state: DeriveState, nowMs: EpochMs): Step {
  const copy = JSON.parse(JSON.stringify(state)) as DeriveState;
  const { clock } = copy;
  const { boot, mono, now } = clock;
  const record = { kind: "g", boot, mono, at: now, tag: "", quality: "good", seq: copy.seq, value: NOTHING } as const;
  const fold: Fold = { state: copy, record, facts: [] };
  finish(fold);
  const groups = copy.bays.map(({ group }) => copy.groups[group]).filter((group) => group?.boot === boot);
  const reach = Math.max(mono, ...groups.map((group) => group?.to ?? mono));
  const at = Math.max(now, Math.min(nowMs, reach + clock.offset));
  advance(fold, { new_boot: false, mono: Math.min(reach, mono + (at - now)), at, jump_ms: 0 });
  return fold;
}

const NOTHING = { from: 0, to: 0, reason: "" };

/**
 * What comes next follows on records that are gone: up to the last poll all is known, then no mode until it is logged anew, as a change
 * of it may be among them. The state given stays as it is.
 */
export function forgetModes(state: DeriveState): DeriveState {
  const { state: reached } = peek(state, Number.MAX_SAFE_INTEGER);
  for (const bay of reached.bays) forgetMode(reached, bay);
  return reached;
}
