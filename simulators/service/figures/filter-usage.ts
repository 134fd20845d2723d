import type { FilterType } from "../../../src/core/types/booth.ts";
import { minuteTags, lostMemory } from "./filter-changes.ts";
import { goodSamplesOf } from "./log.ts";
import type { BoothLog, Sample } from "./log.ts";
import type { Restarts } from "./restarts.ts";
import { firstAfter, goodBefore } from "./search.ts";
import { msWithin } from "./window.ts";
import type { Span } from "./span.ts";

/** Minutes in use since installation, at an instant; and the first instant of a range at which they reach a limit. */
export interface Usage {
  readonly minutesAt: (time: number) => number | null;
  readonly reaches: (limit: number, range: Span) => number | undefined;
}

export interface Installed {
  readonly installed_at: number;
  readonly removed_at: number;
  /** What it was before is unknown: its usage is the PLC's, or null. */
  readonly assumed: boolean;
}

/** Usage by the PLC's counter where there is one, else by the time in use. */
export function usageOf(
  log: BoothLog,
  filter: FilterType,
  at: { installed: Installed; inUse: readonly Span[]; restarts: Restarts },
): Usage {
  const [tag] = minuteTags(log, filter);
  if (tag !== undefined) return counted(log, tag, at);
  return at.installed.assumed ? { minutesAt: () => null, reaches: () => undefined } : timed(at.installed, at.inUse);
}

function timed({ installed_at }: Installed, inUse: readonly Span[]): Usage {
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
  return { minutesAt, reaches };
}

function within(time: number, range: Span): number | undefined {
  if (time >= range.end) return undefined;
  return Math.max(time, range.start);
}

interface Point {
  readonly time: number;
  readonly minutes: number;
}

function counted(log: BoothLog, tag: string, at: { installed: Installed; restarts: Restarts }): Usage {
  const points = pointsOf(log, tag, at);
  const minutesAt = (time: number): number | null =>
    points.findLast((point) => point.time <= time)?.minutes ?? (at.installed.assumed ? null : 0);
  const reaches = (limit: number, range: Span): number | undefined => {
    if ((minutesAt(range.start) ?? -1) >= limit) return range.start;
    return points.find((point) => point.time >= range.start && point.time < range.end && point.minutes >= limit)?.time;
  };
  return { minutesAt, reaches };
}

/** Whether that reading, of that instant, was lower than the one before it. */
function fellAt(samples: readonly Sample[], { time, value }: Sample, at: number): boolean {
  const before = goodBefore(samples, time - 1);
  return time === at && before !== undefined && Number(value) < Number(before.value);
}

/** The counter's readings as minutes since installation; what lost memory takes away is put back as an offset. */
function pointsOf(
  log: BoothLog,
  tag: string,
  { installed, restarts }: { installed: Installed; restarts: Restarts },
): Point[] {
  const samples = goodSamplesOf(log, tag);
  const start = goodBefore(samples, installed.installed_at);
  const points: Point[] = [];
  let before = start === undefined ? undefined : { time: start.time, value: Number(start.value) };
  // A filter entered by hand begins at what the counter stood at then; a counter that begins again does so from 0.
  let offset = installed.assumed || before === undefined ? 0 : -before.value;
  // Its own reset may show with the very reading that dates it; the button pressed once more takes nothing away.
  let awaits_reset = !installed.assumed && !(start !== undefined && fellAt(samples, start, installed.installed_at));
  for (let i = firstAfter(samples, installed.installed_at - 1, ({ time }) => time); i < samples.length; i += 1) {
    const sample = samples[i];
    if (sample === undefined || sample.time >= installed.removed_at) break;
    if (sample.time < installed.installed_at) continue;
    const value = Number(sample.value);
    if (before !== undefined && value < before.value) {
      const lost = lostMemory(restarts, before.time, sample.time) && sample.time > installed.installed_at;
      offset = lost || !awaits_reset ? offset + before.value - value : 0;
      if (!lost) awaits_reset = false;
    }
    points.push({ time: sample.time, minutes: Math.max(0, value + offset) });
    before = { time: sample.time, value };
  }
  return points;
}
