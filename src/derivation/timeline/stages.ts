import { type Mode, MODES_BY_PRIORITY } from "../../domain/booth.ts";
import type { Parameters } from "../../domain/parameters.ts";
import { KIND } from "../../domain/record.ts";
import type { EpochMs, Milliseconds } from "../../domain/units.ts";
import { addCheckedTime } from "../checks/checks.ts";
import { checkSuccession } from "../checks/cross.ts";
import { useFilters } from "../filters/filters.ts";
import { endSpray } from "../filters/pressure.ts";
import { addTime } from "../hours.ts";
import { pollIntervalMs } from "../parameters.ts";
import {
  type BayState,
  type ClosedStage,
  type DeriveState,
  type Fold,
  type OpenStage,
  type Settled,
  writeFact,
} from "../state.ts";
import { enterMode, leaveStage, passRunTime } from "./runs.ts";

const MIN_STAGE_AT_LEAST_MS = 2000;
/** Ended stages that may wait to become final, so that a bay that flaps between good and bad cannot pile them up. */
const MAX_WAITING = 4;

interface Entry {
  readonly mode: Mode;
  readonly raw: string;
  readonly at: EpochMs;
  /** Why the previous stage ended. */
  readonly reason: ClosedStage["end_reason"];
  readonly uncertainty_ms: Milliseconds;
}

/** Returns the length below which a stage is merged into the next one: the parameters' value, else the larger of 2 s and one poll. */
export function minStageMs(parameters: Parameters | null, group: string): Milliseconds {
  return parameters?.min_stage_ms ?? Math.max(MIN_STAGE_AT_LEAST_MS, pollIntervalMs(parameters, group));
}

/** Puts the bay into the entry's mode from its instant on. */
export function enterStage(fold: Fold, bay: BayState, { mode, raw, at, reason, uncertainty_ms }: Entry): void {
  const { open } = bay;
  const fresh = { mode, raw, start: at, uncertain_ms: 0, uncertainty_ms, before: null, entered: false };
  if (open === null) {
    bay.open = fresh;
    bay.settled = at;
    return;
  }
  // A stage is kept however short, if its end was not seen (before a gap or a restart) or its time is settled already.
  const length = at - open.start;
  const isTooShort =
    mode === "no_data" || reason === "restart" ? length === 0 : length < minStageMs(fold.state.parameters, bay.group);
  if (isTooShort && !isKept(open.mode) && !open.entered) {
    const last = bay.closed.at(-1);
    const lastMode = (last?.mode === "no_data" ? last.before : last?.mode) ?? null;
    bay.open = { ...open, mode, raw, before: mode === "no_data" ? lastMode : open.before };
  } else {
    bay.closed.push({ ...open, end: at, end_reason: reason });
    bay.open = { ...fresh, before: modeBefore(open, mode) };
  }
  unite(bay);
  while (bay.closed.length > MAX_WAITING) flushOne(fold, bay);
}

/**
 * Makes final what the mode known up to `known` settles: an open stage that lasted min_stage cannot be merged away any more, so the
 * stages before it become facts, and its own time counts. After a gap, nothing becomes final for min_stage, because evidence of a restart
 * comes with the polls of other groups.
 */
export function confirm(fold: Fold, bay: BayState, known: EpochMs): void {
  const { open, resume } = bay;
  if (open === null) return;
  const least = minStageMs(fold.state.parameters, bay.group);
  if (resume !== null && fold.state.clock.now - resume.at >= least) bay.resume = null;
  if (isKept(open.mode) || (bay.resume === null && known - open.start >= least)) makeFinal(fold, bay, { open, known });
}

/**
 * Makes final what came before a gap, however short, because its end was not seen: a reading is enough for a stage, and for the cycle
 * that it starts. A stage without length between two times without data may still be merged into them.
 */
export function confirmAtGap(fold: Fold, bay: BayState): void {
  const { open, good_until } = bay;
  bay.resume = null;
  if (open === null) return;
  if (open.start < good_until || isKept(open.mode) || bay.closed.at(-1)?.mode !== "no_data") {
    makeFinal(fold, bay, { open, known: good_until });
    return;
  }
  while (bay.closed.length > 1) flushOne(fold, bay);
  const [before] = bay.closed;
  if (before !== undefined) settle(fold, bay, { mode: "no_data", to: before.end });
}

function makeFinal(fold: Fold, bay: BayState, { open, known }: { open: OpenStage; known: EpochMs }): void {
  while (bay.closed.length > 0) flushOne(fold, bay);
  if (!open.entered) {
    open.entered = true;
    enterMode(fold, bay, open);
  }
  if (known <= bay.settled) return;
  passRunTime(fold, bay, known);
  settle(fold, bay, { mode: open.mode, to: known });
}

/** Returns whether a stage of that mode is kept however short: a fault is, and a time without data, whose end was not seen. */
function isKept(mode: Mode): boolean {
  return mode === "fault" || mode === "estop" || mode === "no_data";
}

/** Returns the mode that the mode after a stage is compared with. A time without data in between does not count. */
function modeBefore(stage: OpenStage, mode: Mode): Mode | null {
  if (mode === "no_data") return stage.mode;
  return stage.mode === "no_data" ? stage.before : null;
}

/** Makes one stage of equal neighbours, so that the second one is no new start. */
function unite(bay: BayState): void {
  const last = bay.closed.at(-1);
  const { open } = bay;
  if (last === undefined || open === null) return;
  if (last.mode !== open.mode || last.end_reason === "restart") return;
  bay.closed.pop();
  const { end: _end, end_reason: _reason, ...stage } = last;
  bay.open = { ...stage, uncertain_ms: stage.uncertain_ms + open.uncertain_ms };
}

function flushOne(fold: Fold, bay: BayState): void {
  const stage = bay.closed.shift();
  if (stage === undefined) return;
  if (!stage.entered) enterMode(fold, bay, stage);
  const next = (bay.closed[0] ?? bay.open)?.mode ?? "no_data";
  passRunTime(fold, bay, stage.end);
  settle(fold, bay, { mode: stage.mode, to: stage.end });
  leaveStage(fold, bay, { stage, next });
  if (bay.bay === 0 && stage.mode === "spray") endSpray(fold.state, stage);
  checkSuccession(fold, bay.tag, { stage, next });
  writeStage(fold, bay.bay, stage);
}

/** Writes a final stage as a fact. */
function writeStage(fold: Fold, bay: number, stage: ClosedStage): void {
  const { mode, raw, start, end, end_reason, uncertain_ms, uncertainty_ms } = stage;
  const is_new_start = isNewStart(stage);
  const value = { bay, mode, start, end, end_reason, is_new_start, uncertain_ms, uncertainty_ms, raw };
  writeFact(fold, { kind: KIND.stage, value, quality: uncertain_ms > 0 ? "uncertain" : "good" });
}

/** Returns whether the stage counts as a start: it does not after a time without data in the same mode. */
export function isNewStart(stage: OpenStage): boolean {
  return stage.before !== stage.mode;
}

/** Settles the bay's time up to `to` in `mode`. */
function settle(fold: Fold, bay: BayState, { mode, to }: { mode: Mode; to: EpochMs }): void {
  while (bay.settled < to) {
    const settled = nextPiece(bay, mode, to);
    bay.settled = settled.to;
    if (fold.state.booth === null) passSettled(fold.state, settled);
    else {
      bay.slices.push(settled);
      for (const united of unitedTime(fold)) passSettled(fold.state, united);
    }
  }
}

/** Gives settled time of the booth to hours, filters and checks. */
function passSettled(state: DeriveState, settled: Settled): void {
  addTime(state, settled);
  useFilters(state, settled);
  addCheckedTime(state, settled);
}

/** Returns the next span to settle, up to `to`, but not across the border of an inferred span. */
function nextPiece(bay: BayState, mode: Mode, to: EpochMs): Settled {
  const { settled: from, inferred } = bay;
  if (inferred === null || to <= inferred.from) return { mode, from, to, inferred: false };
  if (from < inferred.from) return { mode, from, to: inferred.from, inferred: false };
  bay.inferred = null;
  if (from >= inferred.to) return { mode, from, to, inferred: false };
  if (to < inferred.to) bay.inferred = inferred;
  return { mode, from, to: Math.min(to, inferred.to), inferred: true };
}

/**
 * Returns the settled time that all bays have reached, in the booth's mode, which is the bays' mode with the highest priority. When it
 * changes, the booth's stage (bay 0) becomes a fact. Equal neighbours become one stage; min_stage does not apply.
 */
function unitedTime(fold: Fold): Settled[] {
  const { bays, booth } = fold.state;
  const united: Settled[] = [];
  if (booth === null || bays.some((bay) => bay.open === null)) return united;
  const until = Math.min(...bays.map((bay) => bay.settled));
  // The booth's time starts with the first time of the last bay.
  if (booth.open === null) booth.settled = Math.max(booth.settled, ...bays.map((bay) => bay.slices[0]?.from ?? 0));
  while (booth.settled < until) {
    for (const bay of bays) while (bay.slices[0] !== undefined && bay.slices[0].to <= booth.settled) bay.slices.shift();
    const heads = bays.map((bay) => bay.slices[0]).filter((piece) => piece !== undefined);
    if (heads.length < bays.length) break;
    const mode = highest(heads.map((piece) => piece.mode));
    const piece = {
      mode,
      from: booth.settled,
      to: Math.min(...heads.map(({ to }) => to)),
      inferred: heads.some((head) => head.mode === mode && head.inferred),
    };
    booth.settled = piece.to;
    growBoothStage(fold, piece);
    united.push(piece);
  }
  return united;
}

/** Returns the mode with the highest priority. */
export function highest(modes: readonly Mode[]): Mode {
  return MODES_BY_PRIORITY.find((mode) => modes.includes(mode)) ?? "no_data";
}

function growBoothStage(fold: Fold, { mode, from, to, inferred }: Settled): void {
  const { booth, bays } = fold.state;
  if (booth === null) return;
  const uncertain_ms = inferred ? to - from : 0;
  const { open } = booth;
  if (open?.mode === mode) {
    open.uncertain_ms += uncertain_ms;
    return;
  }
  if (open !== null) {
    const stage = { ...open, end: from, end_reason: mode === "no_data" ? "gap" : "changed" } as const;
    if (stage.mode === "spray") endSpray(fold.state, stage);
    writeStage(fold, 0, stage);
  }
  const before = open === null ? null : modeBefore(open, mode);
  const raw = bays.map((bay) => bay.raw ?? "").join("/");
  booth.open = { mode, raw, start: from, uncertain_ms, uncertainty_ms: 0, before, entered: true };
}
