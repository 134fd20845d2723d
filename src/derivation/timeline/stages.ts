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
import { addSheetTime } from "../sheet.ts";
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
/** Maximum number of ended stages that wait to become final. Limits the state if a bay often changes between good and bad readings. */
const MAX_WAITING = 4;

interface Entry {
  readonly mode: Mode;
  readonly raw: string;
  readonly at: EpochMs;
  /** Reason for the end of the previous stage. */
  readonly reason: ClosedStage["end_reason"];
  readonly uncertainty_ms: Milliseconds;
}

/**
 * Returns the length below which a stage is merged into the next one: the parameters' value, or else the larger of 2 s and one poll
 * interval.
 */
export function minStageMs(parameters: Parameters | null, group: string): Milliseconds {
  return parameters?.min_stage_ms ?? Math.max(MIN_STAGE_AT_LEAST_MS, pollIntervalMs(parameters, group));
}

/** Changes the bay's mode to the entry's mode, from the entry's instant on. */
export function enterStage(fold: Fold, bay: BayState, { mode, raw, at, reason, uncertainty_ms }: Entry): void {
  const { open } = bay;
  const fresh = { mode, raw, start: at, uncertain_ms: 0, uncertainty_ms, before: null, entered: false };
  if (open === null) {
    bay.open = fresh;
    bay.settled = at;
    return;
  }
  // Keeps a stage of any length if its end was not seen (before a gap or a restart), or if its time is already final.
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
 * Makes stages and time final whose mode is certain by the instant `known`. An open stage longer than min_stage can't be merged any more,
 * so its time counts, and earlier stages become facts. After a gap, nothing becomes final for min_stage, because evidence of a restart
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
 * Makes the stage before a gap final, even if it is short, because its end was not seen: a single reading suffices for a stage and for the
 * cycle that it starts. A stage without length between two times without data may still be merged into them.
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

/** Returns whether a stage in that mode is never merged away: a fault, or a time without data, whose end was not seen. */
function isKept(mode: Mode): boolean {
  return mode === "fault" || mode === "estop" || mode === "no_data";
}

/** Returns the mode before the given mode. Skips a stage without data. */
function modeBefore(stage: OpenStage, mode: Mode): Mode | null {
  if (mode === "no_data") return stage.mode;
  return stage.mode === "no_data" ? stage.before : null;
}

/** Merges adjacent stages with the same mode, so that the second one doesn't count as a new start. */
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

/** Writes a stage as a fact. The stage must be final: no later record can change it. */
function writeStage(fold: Fold, bay: number, stage: ClosedStage): void {
  const { mode, raw, start, end, end_reason, uncertain_ms, uncertainty_ms } = stage;
  const is_new_start = isNewStart(stage);
  const value = { bay, mode, start, end, end_reason, is_new_start, uncertain_ms, uncertainty_ms, raw };
  writeFact(fold, { kind: KIND.stage, value, quality: uncertain_ms > 0 ? "uncertain" : "good" });
}

/** Returns whether the stage counts as a start. It doesn't after a time without data between two stages of the same mode. */
export function isNewStart(stage: OpenStage): boolean {
  return stage.before !== stage.mode;
}

/** Makes the bay's mode final for all time up to `to`: no later record can change it. */
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

/** Passes a period to hours, filters and checks, once the period's mode can't change anymore. */
function passSettled(state: DeriveState, settled: Settled): void {
  addTime(state, settled);
  addSheetTime(state, settled);
  useFilters(state, settled);
  addCheckedTime(state, settled);
}

/** Returns the next span up to `to` whose mode becomes final. A span never crosses the border of an inferred span. */
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
 * Returns the time that is final in all bays, with the booth's mode: the bays' mode with the highest priority. When the booth's mode
 * changes, its stage (bay 0) becomes a fact. Adjacent stages with the same mode are merged; min_stage doesn't apply.
 */
function unitedTime(fold: Fold): Settled[] {
  const { bays, booth } = fold.state;
  const united: Settled[] = [];
  if (booth === null || bays.some((bay) => bay.open === null)) return united;
  const until = Math.min(...bays.map((bay) => bay.settled));
  // Starts the booth's time when the last bay has its first time.
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
