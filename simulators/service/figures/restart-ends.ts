import type { Parameters } from "../../../src/domain/parameters.ts";
import { bridgeMs } from "./bridge.ts";
import { gapMs } from "./gaps.ts";
import { type BoothLog, parametersAt } from "./log.ts";
import type { Restarts } from "./restarts.ts";
import { sinceLastPoll } from "./search.ts";
import type { Segment } from "./segments.ts";

/** A segment, and whether what stood before it ended by a restart of the PLC, if that was in a run. */
export interface RestartedSegment extends Segment {
  readonly after_restart: boolean;
}

/** Evidence of a restart may come with the polls before and after. */
export function evidenceSlackMs(parameters: Parameters | undefined, modeTag: string): number {
  return 2 * (parameters?.groups[parameters.tags[modeTag]?.group ?? ""]?.poll_interval_ms ?? 0);
}

/**
 * Finds where restarts ended something. Each belongs to the one change of mode, or silence over the bridge, that is nearest to its
 * evidence. Without one the PLC was back within the bridge in the same mode: with its counters kept nothing ended, else the reading
 * that shows their fall is the end. Where a coverage record happens to begin says nothing of either.
 */
export function markRestarts(
  log: BoothLog,
  modeTag: string,
  { segments, restarts }: { readonly segments: readonly Segment[]; readonly restarts: Restarts },
): readonly RestartedSegment[] {
  const left = segments.flatMap((after, i) => {
    const before = segments[i - 1];
    return before === undefined ? [] : leavingAt(log, modeTag, { before, after });
  });
  const ended = new Set(restarts.instants.map((at) => nearest(left, at)?.after));
  const cuts = restarts.losses.filter((at) => nearest(left, at) === undefined);
  return segments.flatMap((segment, i) =>
    cutAt(segment, { cuts, before: segments[i - 1], next: segments[i + 1], after_restart: ended.has(segment) }),
  );
}

/** The end of a mode, or of its being known. */
interface Leaving {
  readonly after: Segment;
  readonly from: number;
  readonly to: number;
  readonly slack_ms: number;
}

function leavingAt(log: BoothLog, modeTag: string, pair: { before: Segment; after: Segment }): Leaving[] {
  const { before, after } = pair;
  const parameters = parametersAt(log, before.to);
  const group = parameters?.tags[modeTag]?.group ?? "";
  const bridge_ms = bridgeMs(parameters, group);
  if (before.mode === after.mode && gapMs(before, after) <= bridge_ms) return [];
  const slack_ms = evidenceSlackMs(parameters, modeTag);
  // A mode that holds over the bridge was last known at the poll before it.
  const unpolled_ms = sinceLastPoll(log.covers.get(group) ?? [], after.from) ?? 0;
  const from = unpolled_ms <= slack_ms ? before.to : Math.min(before.to, after.from - unpolled_ms);
  return [{ after, from, to: after.from, slack_ms }];
}

/** Returns the nearest; the first of two that are equally near. */
function nearest(left: readonly Leaving[], at: number): Leaving | undefined {
  const away = ({ from, to }: Leaving): number => Math.max(from - at, at - to, 0);
  let found: Leaving | undefined;
  for (const one of left)
    if (away(one) <= one.slack_ms && (found === undefined || away(one) < away(found))) found = one;
  return found;
}

interface Cutting {
  readonly cuts: readonly number[];
  readonly before: Segment | undefined;
  readonly next: Segment | undefined;
  readonly after_restart: boolean;
}

/** The segment in parts; each cut after the end of the one before and up to the segment's own end begins a part. */
function cutAt(segment: Segment, { cuts, before, next, after_restart }: Cutting): readonly RestartedSegment[] {
  const { from, to, mono_from } = segment;
  const isOwn = (at: number): boolean =>
    (at > (before?.to ?? from) || at === from) && (at < to || (at === to && next?.from !== to));
  const own = cuts.filter(isOwn);
  const inside = own.filter((at) => at > from);
  const parts = [from, ...inside].map((start, i): RestartedSegment => {
    const end = inside[i] ?? to;
    const mono = { mono_from: mono_from + (start - from), mono_to: mono_from + (end - from) };
    return {
      ...segment,
      ...mono,
      from: start,
      to: end,
      after_restart: i > 0 || after_restart || own.length > inside.length,
    };
  });
  return parts;
}
