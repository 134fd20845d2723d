import type { Mode } from "../../../src/domain/booth.ts";
import { bridgeMs } from "./bridge.ts";
import { judgeGap } from "./gaps.ts";
import { type BoothLog, parametersAt } from "./log.ts";
import { evidenceSlackMs, markRestarts, type RestartedSegment } from "./restart-ends.ts";
import type { Restarts } from "./restarts.ts";
import { isInRun } from "./runs.ts";
import type { Stage } from "./stage.ts";
import { observe, type Segment } from "./segments.ts";

/** A bay's stages up to its last good reading; the last one is open and may be counted on for `bridge_ms`. */
export interface Timeline {
  readonly bay: number;
  readonly stages: readonly Stage[];
  readonly last_good: number;
  readonly bridge_ms: number;
}

/** Returns the timeline of a mode tag; undefined before its first good reading. */
export function timelineOf(log: BoothLog, modeTag: string, restarts: Restarts): Timeline | undefined {
  const segments = observe(log, modeTag);
  const last = segments.at(-1);
  if (last === undefined) return undefined;
  const last_good = Math.max(...tail(segments).map((segment) => segment.to));
  const parameters = parametersAt(log, last_good);
  const tag = parameters?.tags[modeTag];
  const marked = markRestarts(log, modeTag, { segments: inOrder(segments), restarts });
  const stages = mergeShort(log, modeTag, withoutInstants(join(log, modeTag, marked)));
  return { bay: tag?.bay ?? 0, stages, last_good, bridge_ms: bridgeMs(parameters, tag?.group ?? "") };
}

/** Enough of the end of a list to hold its latest segment. */
function tail(segments: readonly Segment[]): readonly Segment[] {
  return segments.slice(-16);
}

/** Joins segments by the gap rule. */
function join(log: BoothLog, modeTag: string, segments: readonly RestartedSegment[]): Stage[] {
  const out: Stage[] = [];
  let before: Segment | undefined;
  for (const after of segments) {
    if (before === undefined) out.push(stage(after.mode, after.from, after.to));
    else append(log, modeTag, { out, before, after });
    before = after;
  }
  return out;
}

/** Each segment begins where the one before it ended, or later. */
function inOrder(segments: readonly Segment[]): Segment[] {
  const out: Segment[] = [];
  let before: Segment | undefined;
  for (const segment of segments) {
    if (before === undefined) out.push(segment);
    else if (segment.to < before.to || (segment.to === before.to && segment.from < before.from)) continue;
    else out.push(startingAt(segment, before.to));
    before = segment;
  }
  return out;
}

function startingAt(segment: Segment, earliest: number): Segment {
  const shift = Math.max(0, earliest - segment.from);
  return shift === 0 ? segment : { ...segment, from: segment.from + shift, mono_from: segment.mono_from + shift };
}

function stage(mode: Mode, start: number, end: number): Stage {
  return { mode, start, end, is_new_start: true, after_restart: false, uncertain_ms: 0 };
}

interface Appending {
  readonly out: Stage[];
  readonly before: Segment;
  readonly after: RestartedSegment;
}

function append(log: BoothLog, modeTag: string, { out, before, after }: Appending): void {
  const last = out.at(-1);
  if (last === undefined) return;
  const verdict = judgeGap(log, modeTag, [before, after]);
  const run = parametersAt(log, before.to)?.mode_sets.run ?? [];
  const restarted =
    after.after_restart && isInRun(out, run, before.to) && !isSameRestart(log, modeTag, { last, before });
  const same = last.mode === after.mode;
  // Up to the bridge the mode continues: one coverage record may span as much, so the instant of the restart is
  // unknown.
  if (verdict === "bridged" || (verdict === "attributed" && !restarted)) {
    const uncertain_ms = last.uncertain_ms + (verdict === "attributed" ? after.from - before.to : 0);
    const goes_on = same && !restarted;
    out[out.length - 1] = { ...last, end: goes_on ? after.to : after.from, uncertain_ms };
    if (!goes_on) out.push({ ...stage(after.mode, after.from, after.to), after_restart: restarted });
    return;
  }
  if (after.from > before.to) out.push(stage("no_data", before.to, after.from));
  out.push({ ...stage(after.mode, after.from, after.to), is_new_start: !same, after_restart: restarted });
}

/** Counters of a slower poll group show a restart again that has ended its stage already. */
function isSameRestart(log: BoothLog, modeTag: string, { last, before }: { last: Stage; before: Segment }): boolean {
  return last.after_restart && before.to - last.start <= evidenceSlackMs(parametersAt(log, before.to), modeTag);
}

/**
 * Drops stages of a single reading between two silences; a restart of the PLC seen in one is passed to the next
 * stage.
 */
function withoutInstants(stages: readonly Stage[]): Stage[] {
  const out: Stage[] = [];
  let after_restart = false;
  stages.forEach((entry, i) => {
    const last = out.at(-1);
    const isBetween = last?.mode === "no_data" && stages[i + 1]?.mode === "no_data";
    if (isBetween && entry.start === entry.end && !isKept(entry.mode)) after_restart ||= entry.after_restart;
    else if (last?.mode === "no_data" && entry.mode === "no_data") out[out.length - 1] = { ...last, end: entry.end };
    else {
      out.push(entry.mode === "no_data" ? entry : { ...entry, after_restart: entry.after_restart || after_restart });
      after_restart &&= entry.mode === "no_data";
    }
  });
  return out;
}

function isKept(mode: Mode): boolean {
  return mode === "fault" || mode === "estop" || mode === "no_data";
}

/**
 * Merges a stage that is too short into its successor. fault, estop and no_data are kept, and nothing becomes no_data.
 */
function mergeShort(log: BoothLog, modeTag: string, stages: readonly Stage[]): Stage[] {
  const out: Stage[] = [];
  let carried: number | undefined;
  stages.forEach((entry, i) => {
    const current = carried === undefined ? entry : { ...entry, start: carried };
    const next = stages[i + 1];
    carried = undefined;
    const last = out.at(-1);
    if (last?.mode === current.mode && !current.after_restart) {
      const uncertain_ms = last.uncertain_ms + current.uncertain_ms;
      out[out.length - 1] = { ...last, end: current.end, uncertain_ms };
    } else if (
      !isKept(current.mode) &&
      next !== undefined &&
      next.mode !== "no_data" &&
      current.end - current.start < minStage(log, modeTag, current.start)
    ) {
      carried = current.start;
    } else out.push(current);
  });
  return out.map((entry, i) =>
    out[i - 1]?.mode === "no_data" ? { ...entry, is_new_start: out[i - 2]?.mode !== entry.mode } : entry,
  );
}

function minStage(log: BoothLog, modeTag: string, time: number): number {
  const parameters = parametersAt(log, time);
  const group = parameters?.tags[modeTag]?.group ?? "";
  return parameters?.min_stage_ms ?? Math.max(2000, parameters?.groups[group]?.poll_interval_ms ?? 0);
}

/** Returns the stages at `now`: the open one lasts up to its last good reading plus the bridge, and no_data follows. */
export function stagesAt(timeline: Timeline, now: number): Stage[] {
  const out = timeline.stages.slice(0, -1);
  const open = timeline.stages.at(-1);
  if (open === undefined) return out;
  const end = Math.max(open.start, Math.min(now, timeline.last_good + timeline.bridge_ms));
  out.push({ ...open, end });
  if (now > end)
    out.push({ mode: "no_data", start: end, end: now, is_new_start: true, after_restart: false, uncertain_ms: 0 });
  return out;
}
