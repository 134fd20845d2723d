import { KIND } from "../../domain/record.ts";
import { type Mode, MODES_BY_PRIORITY } from "../../domain/booth.ts";
import type { Parameters } from "../../domain/parameters.ts";
import type { EpochMs, Milliseconds } from "../../domain/units.ts";
import { pollIntervalMs } from "../parameters.ts";
import { enterMode, leaveStage, passRunTime } from "./runs.ts";
import type { Fold, EventOf } from "./events.ts";
import type { BayState, ClosedStage, OpenStage, Settled } from "./state.ts";

const MIN_STAGE_AT_LEAST_MS = 2000;
/** A bay that flaps between good and bad must not pile up stages that wait. */
const MAX_WAITING = 4;

interface Entry {
  readonly mode: Mode;
  readonly raw: string;
  readonly at: EpochMs;
  /** Why the stage before it ended. */
  readonly reason: ClosedStage["end_reason"];
  readonly uncertainty_ms: Milliseconds;
}

/** Stages shorter than this are taken for a passing state: the parameters' value, else the larger of 2 s and one poll. */
export function minStageMs(parameters: Parameters | null, group: string): Milliseconds {
  return parameters?.min_stage_ms ?? Math.max(MIN_STAGE_AT_LEAST_MS, pollIntervalMs(parameters, group));
}

/** The bay is in the entry's mode from its instant on. */
export function enterStage(fold: Fold, bay: BayState, entry: Entry): void {
  const { mode, raw, uncertainty_ms } = entry;
  const { open } = bay;
  if (open === null) {
    bay.open = { mode, raw, start: entry.at, uncertain_ms: 0, uncertainty_ms, before: null, entered: false };
    bay.settled = entry.at;
    return;
  }
  if (mergesAway(open, entry, minStageMs(fold.state.parameters, bay.group))) {
    bay.open = { ...open, mode, raw, before: mode === "no_data" ? lastMode(bay) : open.before };
  } else {
    bay.closed.push({ ...open, end: entry.at, end_reason: entry.reason });
    bay.open = {
      mode,
      raw,
      start: entry.at,
      uncertain_ms: 0,
      uncertainty_ms,
      before: modeBefore(open, mode),
      entered: false,
    };
  }
  unite(bay);
  while (bay.closed.length > MAX_WAITING) flushOne(fold, bay);
}

/**
 * Tells what has become final once the mode is known up to `known`: an open stage that lasted min_stage can't be
 * merged away any more, so those before it are facts; and its own time counts. Right after a gap nothing becomes
 * final for min_stage, as evidence of a restart comes with the other groups' polls.
 */
export function confirm(fold: Fold, bay: BayState, known: EpochMs): void {
  const { open, resume } = bay;
  if (open === null) return;
  const least = minStageMs(fold.state.parameters, bay.group);
  if (resume !== null && fold.state.clock.now - resume.at >= least) bay.resume = null;
  if (!isKept(open.mode)) {
    if (bay.resume !== null || known - open.start < least) return;
  }
  makeFinal(fold, bay, { open, known });
}

/**
 * A gap opens: what came before it can't be merged away any more, however short, as its end wasn't seen: a reading is enough for a
 * stage, and for the cycle that it begins. Between two times without data an instant may still give way to them.
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

/** A fault may be as short as it likes; time without data was never seen to be short. */
function isKept(mode: Mode): boolean {
  return mode === "fault" || mode === "estop" || mode === "no_data";
}

/**
 * The end of a stage before a gap or a restart wasn't seen: it is kept however short it looks. So is one whose time counts
 * already, as after a gap in which the wall clock was put back, so that no corrected time passed.
 */
function mergesAway(open: OpenStage, entry: Entry, least: Milliseconds): boolean {
  if (isKept(open.mode) || open.entered) return false;
  const length = entry.at - open.start;
  return entry.mode === "no_data" || entry.reason === "restart" ? length === 0 : length < least;
}

function lastMode(bay: BayState): Mode | null {
  const last = bay.closed.at(-1);
  return last === undefined ? null : last.mode === "no_data" ? last.before : last.mode;
}

/** The mode that `mode`, which follows on a stage, is compared with: time without data in between doesn't count. */
function modeBefore(stage: OpenStage, mode: Mode): Mode | null {
  if (mode === "no_data") return stage.mode;
  return stage.mode === "no_data" ? stage.before : null;
}

/** Equal neighbours become one stage, and the second no new start. */
function unite(bay: BayState): void {
  const last = bay.closed.at(-1);
  const { open } = bay;
  if (last === undefined || open === null) return;
  if (last.mode !== open.mode || last.end_reason === "restart") return;
  bay.closed.pop();
  const { mode, raw, start, uncertainty_ms, before, entered } = last;
  const uncertain_ms = last.uncertain_ms + open.uncertain_ms;
  bay.open = { mode, raw, start, uncertain_ms, uncertainty_ms, before, entered };
}

function flushOne(fold: Fold, bay: BayState): void {
  const stage = bay.closed.shift();
  if (stage === undefined) return;
  if (!stage.entered) enterMode(fold, bay, stage);
  const next = (bay.closed[0] ?? bay.open)?.mode ?? "no_data";
  passRunTime(fold, bay, stage.end);
  settle(fold, bay, { mode: stage.mode, to: stage.end });
  leaveStage(fold, bay, { stage, next });
  closeStage(fold, { bay: bay.bay, tag: bay.tag, stage, next });
}

/** A stage can't change any more: it is told of, and written. */
function closeStage(fold: Fold, closed: Omit<EventOf<"stage_closed">, "kind">): void {
  const { bay, stage } = closed;
  const { mode, raw, start, end, end_reason, uncertain_ms, uncertainty_ms } = stage;
  fold.tell({ kind: "stage_closed", ...closed });
  const is_new_start = isNewStart(stage);
  const value = { bay, mode, start, end, end_reason, is_new_start, uncertain_ms, uncertainty_ms, raw };
  fold.fact({ kind: KIND.stage, value, quality: uncertain_ms > 0 ? "uncertain" : "good" });
}

/** After no_data into the same mode there is no new start; into another one there is. */
export function isNewStart(stage: OpenStage): boolean {
  return stage.before !== stage.mode;
}

/** The bay was in `mode` from where it was settled to `to`, for good. */
function settle(fold: Fold, bay: BayState, { mode, to }: { mode: Mode; to: EpochMs }): void {
  while (bay.settled < to) {
    const settled = nextPiece(bay, mode, to);
    bay.settled = settled.to;
    if (fold.state.booth === null) fold.tell({ kind: "time", settled });
    else {
      bay.slices.push(settled);
      for (const united of unitedTime(fold)) fold.tell({ kind: "time", settled: united });
    }
  }
}

/** Up to `to`, but not across the border of an inferred span. */
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
 * Settled time that all bays have reached, in the booth's mode: the one with the highest priority among its bays'.
 * Where it changes, the booth's stage (bay 0) becomes a fact; equal neighbours unite, without min_stage.
 */
function unitedTime(fold: Fold): Settled[] {
  const { bays, booth } = fold.state;
  const united: Settled[] = [];
  if (booth === null || bays.some((bay) => bay.open === null)) return united;
  const until = Math.min(...bays.map((bay) => bay.settled));
  // A bay that came later has no time before: the booth's time starts with the last one.
  booth.settled = Math.max(
    booth.settled,
    ...bays.map((bay) => bay.slices[0]?.from ?? 0).filter(() => booth.open === null),
  );
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
    closeStage(fold, { bay: 0, tag: null, stage, next: mode });
  }
  const before = open === null ? null : modeBefore(open, mode);
  const raw = bays.map((bay) => bay.raw ?? "").join("/");
  booth.open = { mode, raw, start: from, uncertain_ms, uncertainty_ms: 0, before, entered: true };
}
