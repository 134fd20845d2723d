import { modesIn } from "../../domain/mode-bits.ts";
import { inFigureUnit, type Parameters } from "../../domain/parameters.ts";
import { KIND, type Reading } from "../../domain/record.ts";
import { type Instant, moveClock, placeOf, reclock } from "../clock.ts";
import { cover, finishInstant, passTime } from "./gaps.ts";
import { loadsOf, MACHINES, workRate, rawMode } from "../parameters.ts";
import type { Fold } from "./events.ts";
import { judgeReadings } from "./readings.ts";
import type { BayState, LatestValue, TimelineState } from "./state.ts";

/**
 * Takes machines' work to the present instant: a good load holds until the next reading of its tag, as far as its group was
 * polled without a gap over the bridge; counted from the first mode on. To be called before a load changes and after the
 * parameters or a group's coverage did.
 */
function passWork(fold: Fold): void {
  const { state } = fold;
  const { parameters, clock } = state;
  if (parameters === null) return;
  const loads = loadsOf(parameters);
  for (const machine of MACHINES) {
    const load = loads[machine];
    const group = load === null ? undefined : state.groups[load.group];
    if (load === null || group?.boot !== clock.boot) continue;
    const marks = (state.worked ??= {});
    const mark = marks[machine];
    if (mark?.boot !== clock.boot) {
      marks[machine] = { boot: clock.boot, mono: clock.mono };
      continue;
    }
    const from = Math.max(group.from, mark.mono);
    const to = Math.min(clock.mono, group.to);
    if (to <= from) continue;
    mark.mono = to;
    const level = goodNumber(state.latest[load.tag]);
    if (level === null) continue;
    const percent = inFigureUnit(level, parameters.tags[load.tag]);
    const at = clock.now - (clock.mono - to);
    const rate = workRate(machine, load.size, percent);
    fold.tell({ kind: "work", machine, rate, from: at - (to - from), to: at, metered: load.meter !== null });
  }
}

function goodNumber(latest: LatestValue | undefined): number | null {
  return latest === undefined || latest.quality === "bad" || typeof latest.value !== "number" ? null : latest.value;
}

/** Modes of the process: a booth can be in one at a time. */
const PROCESS: readonly string[] = ["spray", "flash", "purge", "bake", "cool_down"];

/** Takes the record under the fold's feet in. */
export function takeRecord(fold: Fold): void {
  const { state, record } = fold;
  advance(fold, placeOf(state, record));
  switch (record.kind) {
    case KIND.reading:
      takeReading(fold, record);
      break;
    case KIND.coverage:
      cover(state, record);
      passWork(fold);
      break;
    case KIND.clock: {
      fold.tell({ kind: "clock_record", record });
      const instant = reclock(state.clock, record);
      if (instant !== null) advance(fold, instant);
      break;
    }
    case KIND.parameters:
      applyParameters(fold, record.value);
      passWork(fold);
      break;
    case KIND.filter:
      fold.tell({ kind: "entry", record });
      break;
    case KIND.void:
      fold.tell({ kind: "void", record });
      break;
    case KIND.event:
      fold.tell({ kind: "noticed", record });
      break;
    case KIND.gap:
      break;
  }
}

/** Closes the present instant and goes to the next one. */
export function advance(fold: Fold, instant: Instant): void {
  const { clock } = fold.state;
  if (!instant.new_boot && instant.mono === clock.mono && instant.at === clock.now) return;
  finish(fold);
  const was = { ...clock };
  moveClock(fold.state, fold.record, instant);
  for (const bay of fold.state.bays) {
    passTime(fold, bay, { was, instant });
    // A clock put forward isn't time.
    if (bay.conflict !== null && bay.conflict !== undefined) bay.conflict += instant.jump_ms;
    fold.tell({ kind: "bay_passed", bay });
  }
  fold.tell({ kind: "passed", jump_ms: instant.jump_ms });
  finishTime(fold);
}

function takeReading(fold: Fold, reading: Reading): void {
  const { state } = fold;
  const { tag, value, quality } = reading;
  if (reading.source_at !== undefined) fold.tell({ kind: "source_time", reading });
  passWork(fold);
  const latest = state.latest[tag];
  if (quality !== "bad" || latest === undefined) state.latest[tag] = { value, at: state.clock.now, quality };
  else latest.quality = quality;
  if (state.parameters?.tags[tag]?.role !== undefined) state.pending.push({ tag, value, quality });
}

/** The present instant is complete: no further record belongs to it. */
export function finish(fold: Fold): void {
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
  for (const bay of state.bays) finishBay(fold, bay);
  fold.tell({ kind: "instant_over" });
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
  // Two process bits at once contradict each other.
  if (modesIn(raw).filter((mode) => PROCESS.includes(mode)).length < 2) bay.conflict = null;
  else bay.conflict ??= fold.state.clock.now;
  fold.tell({ kind: "mode_read", bay, raw });
}

function finishTime(fold: Fold): void {
  passWork(fold);
  fold.tell({ kind: "due" });
}

/** Puts parameters in force from the present instant on. Time already settled keeps the rules that held then. */
export function applyParameters(fold: Fold, parameters: Parameters): void {
  const { state } = fold;
  state.parameters = parameters;
  state.bays = baysOf(state, parameters);
  if (state.bays.length > 1) state.booth ??= { open: null, settled: 0 };
  else state.booth = null;
  // A new mode map may give the code that holds another mode; one that was read at this very instant is the newer one.
  for (const { tag, raw, live } of state.bays) {
    const is_read = state.pending.some((reading) => reading.tag === tag);
    if (live && raw !== null && !is_read) state.pending.push({ tag, value: raw, quality: "good" });
  }
  fold.tell({ kind: "parameters", parameters });
}

function baysOf({ bays }: TimelineState, { tags }: Parameters): BayState[] {
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
