import { modesIn } from "../../domain/mode-bits.ts";
import { inFigureUnit, type Parameters } from "../../domain/parameters.ts";
import { KIND, type Reading } from "../../domain/record.ts";
import { followBakes, passTemperatures } from "../bakes.ts";
import { checkReadings, continueIncidents, estimateWork, passDay, prepareChecks } from "../checks/checks.ts";
import { checkPlcClocks, checkSourceTime, checkStep } from "../checks/clocks.ts";
import { checkBay, checkCross, checkMode, passConflicts } from "../checks/cross.ts";
import { type Instant, moveClock, placeOf, reclock } from "../clock.ts";
import { reportRemovals } from "../filters/changes.ts";
import { takeEntry, undoEntry } from "../filters/entries.ts";
import { beginFilters, fitFilters } from "../filters/filters.ts";
import { samplePressures } from "../filters/pressure.ts";
import { addWork, writeHours } from "../hours.ts";
import { reportEvent, resolveExpired } from "../incidents.ts";
import { loadsOf, MACHINES, noteRules, rawMode, workRate } from "../parameters.ts";
import { noteCandidates, passCandidates } from "../revisions.ts";
import { writeSheet } from "../sheet.ts";
import { type BayState, type DeriveState, type Fold, writeFact } from "../state.ts";
import { addCoverage, finishInstant, passTime } from "./gaps.ts";
import { judgeReadings } from "./readings.ts";

/** Modes of the painting process. A booth can be in only one of them at a time. */
const PROCESS: readonly string[] = ["spray", "flash", "purge", "bake", "cool_down"];

/** Folds a record: moves the state to the record's instant, then applies the record. */
export function takeRecord(fold: Fold): void {
  const { state, record } = fold;
  advance(fold, placeOf(state, record));
  switch (record.kind) {
    case KIND.reading:
      takeReading(fold, record);
      break;
    case KIND.coverage:
      addCoverage(state, record);
      passWork(state);
      passTemperatures(state);
      break;
    case KIND.clock: {
      checkStep(fold, record);
      const instant = reclock(state.clock, record);
      if (instant !== null) advance(fold, instant);
      break;
    }
    case KIND.parameters:
      passTemperatures(state);
      applyParameters(fold, record.value);
      passWork(state);
      break;
    case KIND.filter:
      takeEntry(fold, record);
      break;
    case KIND.label:
      writeFact(fold, { kind: KIND.label, value: record.value, quality: "good" });
      break;
    case KIND.void:
      undoEntry(fold, record);
      break;
    case KIND.event:
      reportEvent(fold, record);
      break;
    case KIND.gap:
      break;
  }
}

/** Completes the present instant and moves to the next one. */
export function advance(fold: Fold, instant: Instant): void {
  const { state, record } = fold;
  const { new_boot, mono, at } = instant;
  if (!new_boot && mono === state.clock.mono && at === state.clock.now) return;
  const before = { ...state.clock };
  finish(fold);
  moveClock(state, record, instant);
  passTemperatures(state);
  for (const bay of state.bays) {
    passTime(fold, bay, { before, instant });
    // Moves the start of the contradiction with the clock, because a jump of the clock doesn't count as elapsed time.
    if (bay.conflict !== null && bay.conflict !== undefined) bay.conflict += instant.jump_ms;
    checkBay(fold, bay);
  }
  passConflicts(fold, instant.jump_ms);
  finishTime(fold);
}

function takeReading(fold: Fold, reading: Reading): void {
  const { state } = fold;
  const { tag, value, quality } = reading;
  checkSourceTime(fold, reading);
  passWork(state);
  passTemperatures(state);
  const latest = state.latest[tag];
  if (quality !== "bad" || latest === undefined) state.latest[tag] = { value, at: state.clock.now, quality };
  else latest.quality = quality;
  if (state.parameters?.tags[tag]?.role !== undefined) state.pending.push({ tag, value, quality });
}

/** Completes the present instant, which no further record belongs to. */
export function finish(fold: Fold): void {
  const { state } = fold;
  const { parameters, pending } = state;
  if (parameters === null) {
    pending.length = 0;
    return;
  }
  judgeReadings(fold, parameters);
  for (const bay of state.bays) finishBay(fold, bay);
  followBakes(state);
  noteCandidates(state);
  beginFilters(fold);
  samplePressures(state);
  if (pending.length > 0) {
    checkReadings(fold);
    checkPlcClocks(fold);
    checkCross(fold);
  }
  pending.length = 0;
  finishTime(fold);
}

function finishBay(fold: Fold, bay: BayState): void {
  const reading = fold.state.pending.findLast(({ tag }) => tag === bay.tag);
  if (reading === undefined) {
    if (!bay.live || bay.restart !== null) finishInstant(fold, bay, undefined);
    return;
  }
  const raw = reading.quality === "bad" || reading.value === null ? null : rawMode(reading.value);
  finishInstant(fold, bay, raw);
  if (raw === null) return;
  // Ends the contradiction unless two process modes are on at once.
  if (modesIn(raw).filter((mode) => PROCESS.includes(mode)).length < 2) bay.conflict = null;
  else bay.conflict ??= fold.state.clock.now;
  checkMode(fold, bay, raw);
}

/** Handles everything that is due by the present instant. */
function finishTime(fold: Fold): void {
  passWork(fold.state);
  passCandidates(fold);
  reportRemovals(fold);
  writeHours(fold);
  writeSheet(fold);
  passDay(fold);
  continueIncidents(fold);
  resolveExpired(fold);
}

/**
 * Counts the work of machines up to the present instant, beginning with the first reading of the mode. A good load is valid until the next
 * reading of its tag, unless the group has a gap longer than the bridge (the longest gap over which a value stays valid). Must run before a
 * load changes, and after the parameters or a group's coverage changed.
 */
function passWork(state: DeriveState): void {
  const { parameters, clock, groups, latest } = state;
  if (parameters === null) return;
  const loads = loadsOf(parameters);
  for (const machine of MACHINES) {
    const load = loads[machine];
    const group = groups[load?.group ?? ""];
    if (load === null || group?.boot !== clock.boot) continue;
    const marks = (state.worked ??= {});
    const mark = marks[machine];
    if (mark?.boot !== clock.boot) {
      marks[machine] = { boot: clock.boot, mono: clock.mono };
      continue;
    }
    const from = Math.max(group.from, mark.mono);
    const end = Math.min(clock.mono, group.to);
    if (end <= from) continue;
    mark.mono = end;
    const reading = latest[load.tag];
    if (reading === undefined || reading.quality === "bad" || typeof reading.value !== "number") continue;
    const rate = workRate(machine, load.size, inFigureUnit(reading.value, parameters.tags[load.tag]));
    const to = clock.now - (clock.mono - end);
    const work = { machine, rate, from: to - (end - from), to };
    if (load.meter === null) addWork(state, work);
    else estimateWork(state, work);
  }
}

/** Puts parameters into force from the present instant on. Time with a final mode keeps the rules that were in force then. */
export function applyParameters(fold: Fold, parameters: Parameters): void {
  const { state } = fold;
  state.parameters = parameters;
  state.bays = baysOf(state, parameters);
  if (state.bays.length > 1) state.booth ??= { open: null, settled: 0 };
  else state.booth = null;
  // Judges the present code again, because a new mode map may give it another mode. A mode reading of this same instant takes precedence.
  for (const { tag, raw, live } of state.bays) {
    const isRead = state.pending.some((reading) => reading.tag === tag);
    if (live && raw !== null && !isRead) state.pending.push({ tag, value: raw, quality: "good" });
  }
  fitFilters(fold, parameters);
  prepareChecks(fold, parameters);
  noteRules(state, parameters);
}

function baysOf({ bays }: DeriveState, { tags }: Parameters): BayState[] {
  const modes = Object.entries(tags).filter(([, { role }]) => role === "mode");
  return modes.map(([tag, { bay, group }]) => {
    const number = modes.length === 1 ? 0 : bay;
    const known = bays.find((candidate) => candidate.bay === number);
    return known === undefined ? newBay(number, tag, group) : Object.assign(known, { tag, group });
  });
}

function newBay(bay: number, tag: string, group: string): BayState {
  return {
    bay,
    tag,
    group,
    raw: null,
    live: false,
    good_until: 0,
    good_boot: "",
    good_mono: 0,
    gap: null,
    resume: null,
    restart: null,
    inferred: null,
    closed: [],
    open: null,
    settled: 0,
    run: null,
    cycle: null,
    slices: [],
  };
}
