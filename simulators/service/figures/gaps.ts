import type { Parameters } from "../../../src/domain/parameters.ts";
import { bridgeMs } from "./bridge.ts";
import { bookingsOf, type Booking } from "./counters.ts";
import { type BoothLog, parametersAt, perLog, type RoleTag, type Sample, samplesOf, tagsOfRole } from "./log.ts";
import { findRestarts } from "./restarts.ts";
import { firstAfter } from "../base/search.ts";
import { firstWithin, goodBefore } from "./search.ts";
import type { Segment } from "./segments.ts";

const MAX_INFERRED_MS = 12 * 3_600_000;
const MAX_UNPROVED_MS = 120_000;
/** Any other unit is converted to hours by the tag's factor. */
const UNIT_MS: Readonly<Record<string, number>> = { s: 1000, min: 60_000, h: 3_600_000 };

type GapVerdict = "bridged" | "attributed" | "no_data";

/** Length of the silence between two segments: monotonic within a boot, corrected time across boots. */
export function gapMs(before: Segment, after: Segment): number {
  return before.boot === after.boot ? after.mono_from - before.mono_to : after.from - before.to;
}

/** Judges a silence between two segments of one mode tag. */
export function judgeGap(log: BoothLog, modeTag: string, [before, after]: readonly [Segment, Segment]): GapVerdict {
  const parameters = parametersAt(log, before.to);
  const gap = gapMs(before, after);
  if (gap <= bridgeMs(parameters, parameters?.tags[modeTag]?.group ?? "")) return "bridged";
  if (parameters === undefined || before.mode !== after.mode || gap > MAX_INFERRED_MS) return "no_data";
  const bay = parameters.tags[modeTag]?.bay ?? 0;
  const cycles = tagOfBay(tagsOfRole(log, "cycle_counter"), bay);
  const meter = tagOfBay(tagsOfRole(log, "hour_meter"), bay);
  if (cycles === undefined || meter === undefined) return "no_data";
  if (advance(log, parameters, { name: cycles.name, before, after }) !== 0) return "no_data";
  const scale = UNIT_MS[meter.tag.unit] ?? UNIT_MS["h"] ?? 0;
  const step = (meter.tag.counter?.step ?? 0) * meter.tag.factor * scale;
  if (step > gap / 2) return gap <= MAX_UNPROVED_MS ? "attributed" : "no_data";
  const advanced = advance(log, parameters, { name: meter.name, before, after });
  if (advanced === undefined) return "no_data";
  const expected = parameters.mode_sets.runtime.includes(before.mode) ? gap : 0;
  const tolerance = Math.max(gap / 10, step);
  // A hair for the meter's decimal fractions.
  return Math.abs(advanced * scale - expected) <= tolerance + 0.5 ? "attributed" : "no_data";
}

function tagOfBay(tags: readonly RoleTag[], bay: number): RoleTag | undefined {
  return tags.find(({ tag }) => tag.bay === bay) ?? tags.find(({ tag }) => tag.bay === 0);
}

/**
 * Returns a counter's increase over the gap, by its first reading at or after the return of the mode. Undefined if
 * one of the two readings is missing or bad, or if the counter was reset in between.
 */
function advance(
  log: BoothLog,
  parameters: Parameters,
  at: { name: string; before: Segment; after: Segment },
): number | undefined {
  const samples = samplesOf(log, at.name);
  const late = bridgeMs(parameters, parameters.tags[at.name]?.group ?? "");
  const from = goodBefore(samples, at.before.to);
  const start = at.after.from;
  const end = at.after.from + late;
  const to =
    heldOver(log, parameters, { name: at.name, start, end: start }) ??
    firstWithin(samples, start, end) ??
    heldOver(log, parameters, { name: at.name, start, end });
  if (from === undefined || to?.good !== true) return undefined;
  const all = bookingsIn(log, at.name);
  const booked = all.slice(...[from, to].map(({ time }) => firstAfter(all, time, (booking) => booking.time)));
  if (booked.some(({ kind }) => kind === "reset" || kind === "unexplained")) return undefined;
  return booked.reduce((sum, { amount }) => sum + amount, 0);
}

const bookingsIn = perLog((log, name): readonly Booking[] => bookingsOf(log, name, findRestarts(log).instants));

/**
 * Returns the counter's last reading if it still applies: a tag that was polled all along is logged only on a change.
 * After a silence of its own group it would have been logged again.
 */
function heldOver(
  log: BoothLog,
  parameters: Parameters,
  { name, start, end }: { readonly name: string; readonly start: number; readonly end: number },
): Sample | undefined {
  const covers = log.covers.get(parameters.tags[name]?.group ?? "") ?? [];
  if (!covers.some(({ from, to }) => from <= end && to >= start)) return undefined;
  return samplesOf(log, name).findLast(({ time }) => time <= end);
}
