import type { FilterType } from "../../../src/domain/booth.ts";
import { minuteTags, lostMemory } from "./filter-changes.ts";
import { type BoothLog, minuteSamplesOf, parametersAt, type Sample } from "./log.ts";
import type { Restarts } from "./restarts.ts";
import { firstAfter } from "../base/search.ts";
import { goodBefore } from "./search.ts";
import { msWithin } from "./window.ts";
import type { Span } from "../base/span.ts";

/** Below any counter's step. */
const A_TRIFLE_MINUTES = 1e-6;

/** Minutes in use since installation, at an instant; and the first instant of a range at which they reach a limit. */
export interface Usage {
  readonly minutesAt: (time: number) => number | null;
  /** At its removal. */
  readonly minutesAtEnd: () => number | null;
  readonly reaches: (limit: number, range: Span) => number | undefined;
}

export interface Installed {
  readonly installed_at: number;
  readonly removed_at: number;
  /** The filter's use before this instant is unknown: its usage is the PLC's count, or null. */
  readonly assumed: boolean;
  /** When a person entered that it went in, or came out; undefined: the PLC said so. */
  readonly entered_at: number | undefined;
  readonly removal_entered_at: number | undefined;
}

/** Returns the usage by the PLC's counter if there is one, otherwise by the time in use. */
export function usageOf(
  log: BoothLog,
  filter: FilterType,
  at: { installed: Installed; inUse: readonly Span[]; restarts: Restarts },
): Usage {
  const [tag] = minuteTags(log, filter);
  if (tag !== undefined) return counted(log, tag, at);
  if (!at.installed.assumed) return timed(at.installed, at.inUse);
  return { minutesAt: () => null, minutesAtEnd: () => null, reaches: () => undefined };
}

function timed({ installed_at, removed_at }: Installed, inUse: readonly Span[]): Usage {
  const minutesAt = (time: number): number => msWithin(inUse, { start: installed_at, end: time }) / 60_000;
  const reaches = (limit: number, range: Span): number | undefined => {
    let left = limit * 60_000;
    for (const span of inUse) {
      const start = Math.max(span.start, installed_at);
      if (span.end <= start) continue;
      if (span.end - start >= left) return within(start + left, range);
      left -= span.end - start;
    }
    return undefined;
  };
  return { minutesAt, minutesAtEnd: () => minutesAt(removed_at), reaches };
}

function within(time: number, range: Span): number | undefined {
  if (time >= range.end) return undefined;
  return Math.max(time, range.start);
}

interface Point {
  readonly time: number;
  readonly minutes: number;
}

interface Counting {
  readonly installed: Installed;
  readonly inUse: readonly Span[];
  readonly restarts: Restarts;
}

function counted(log: BoothLog, tag: string, at: Counting): Usage {
  const { installed, inUse } = at;
  const points = pointsOf(log, tag, at);
  const own = installed.entered_at === undefined ? undefined : timed(installed, inUse);
  const minutesAt = (time: number): number | null =>
    points.findLast((point) => point.time <= time)?.minutes ?? own?.minutesAt(time) ?? (installed.assumed ? null : 0);
  const reaches = (limit: number, range: Span): number | undefined => {
    if (isUsedUp(minutesAt(range.start) ?? -1, limit)) return range.start;
    const before = own?.reaches(limit, { ...range, end: Math.min(range.end, points[0]?.time ?? Infinity) });
    if (before !== undefined) return before;
    return points.find(({ time, minutes }) => time >= range.start && time < range.end && isUsedUp(minutes, limit))
      ?.time;
  };
  // Use counted between the removal and a person's entry of it belongs to the next filter.
  const minutesAtEnd = (): number | null => {
    const { removed_at, removal_entered_at = removed_at } = installed;
    const known = minutesAt(removal_entered_at);
    const end = Math.max(removed_at, seenUntil(log, tag, removal_entered_at));
    return known === null ? null : known - msWithin(inUse, { start: removed_at, end }) / 60_000;
  };
  return { minutesAt, minutesAtEnd, reaches };
}

/**
 * Compares with a tolerance, because sums of decimal steps are slightly inexact in binary: 17756.1 + 150.8 + 93.1 isn't
 * 18,000.
 */
function isUsedUp(minutes: number, limit: number): boolean {
  return minutes > limit - A_TRIFLE_MINUTES;
}

/** Returns the instant up to which the counter was observed. During a silence its last value stays. */
function seenUntil(log: BoothLog, tag: string, time: number): number {
  const group = parametersAt(log, time)?.tags[tag]?.group ?? "";
  const cover = log.covers.get(group)?.findLast(({ from }) => from <= time);
  return cover === undefined ? time : Math.min(time, cover.to);
}

/** Whether that reading, of that instant, was lower than the one before it. */
function fellAt(samples: readonly Sample[], { time, value }: Sample, at: number): boolean {
  const before = goodBefore(samples, time - 1);
  return time === at && before !== undefined && Number(value) < Number(before.value);
}

/** The counter's readings as minutes since installation; what lost memory takes away is put back as an offset. */
function pointsOf(log: BoothLog, tag: string, { installed, inUse, restarts }: Counting): Point[] {
  const { installed_at, entered_at, assumed } = installed;
  const samples = minuteSamplesOf(log, tag);
  // A filter entered by hand is followed from the next reading on, where our own count stands.
  const from = entered_at ?? installed_at - 1;
  const start = entered_at === undefined ? goodBefore(samples, installed_at) : undefined;
  const until = installed.removal_entered_at ?? installed.removed_at - 1;
  // A reading from before the first contact with the booth applies at first contact.
  const points: Point[] = assumed && start !== undefined ? [{ time: start.time, minutes: Number(start.value) }] : [];
  let before = start === undefined ? undefined : { time: start.time, value: Number(start.value) };
  // Its own reset may show with the very reading that dates it, and what that shows it has counted since; the button pressed once
  // more takes nothing away.
  const began = start !== undefined && fellAt(samples, start, installed_at);
  let offset = assumed || began || before === undefined ? 0 : -before.value;
  let awaits_reset = !assumed && entered_at === undefined && !began;
  for (let i = firstAfter(samples, from, ({ time }) => time); i < samples.length; i += 1) {
    const sample = samples[i];
    if (sample === undefined || sample.time > until) break;
    const value = Number(sample.value);
    if (before === undefined && entered_at !== undefined) {
      offset = msWithin(inUse, { start: installed_at, end: sample.time }) / 60_000 - value;
    } else if (before !== undefined && value < before.value) {
      const lost = lostMemory(restarts, before.time, sample.time) && sample.time > installed_at;
      offset = lost || !awaits_reset ? offset + before.value - value : 0;
      if (!lost) awaits_reset = false;
    }
    points.push({ time: sample.time, minutes: Math.max(0, value + offset) });
    before = { time: sample.time, value };
  }
  return points;
}
