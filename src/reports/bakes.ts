import type { BakeRule } from "../domain/parameters.ts";
import { type BakeCurve, type BakeFact, KIND } from "../domain/record.ts";
import { MINUTE_MS } from "../domain/time.ts";
import type { Milliseconds } from "../domain/units.ts";
import type { Window } from "../store/port.ts";
import { type Source, stateOf } from "./source.ts";

const TENTHS = 10;

/** A minute of a bake, or a time between its stages. null: the temperature was unknown for a part of it (low) or for all of it (high). */
export interface BakeMinute {
  /** Time since the start of the bake. */
  readonly at_ms: Milliseconds;
  readonly ms: Milliseconds;
  readonly low: number | null;
  readonly high: number | null;
}

/** The verdict of a rule. met and not_met are certain; cannot_tell has a reason. */
export interface BakeVerdict {
  readonly rule: BakeRule;
  readonly verdict: "met" | "not_met" | "cannot_tell";
  /**
   * Why nothing is certain. no_sensor: the bay has no such sensor. no_data: values are missing. accuracy: the temperature was within the
   * sensor's deadband of the rule's. minute: the time is within a minute of the rule's. "": it is certain.
   */
  readonly reason: "" | "no_sensor" | "no_data" | "accuracy" | "minute";
  /** Time certainly at or above `at_least_c`; null: the rule has none, or there is no sensor. */
  readonly above_ms: Milliseconds | null;
  readonly longest_ms: Milliseconds | null;
  /** Time certainly above `at_most_c`. */
  readonly over_ms: Milliseconds | null;
}

/** Figures of one temperature of a bake. */
export interface BakeFigures {
  readonly peak_c: number | null;
  readonly lowest_c: number | null;
  readonly deadband: number;
  /** Time in which the temperature was unknown, including time without data of the mode. */
  readonly unknown_ms: Milliseconds;
  readonly minutes: readonly BakeMinute[];
}

export interface Bake extends Omit<BakeFact["value"], "parts" | "supersedes"> {
  /** null: the bay has no such sensor. */
  readonly air: BakeFigures | null;
  readonly metal: BakeFigures | null;
  readonly parts: readonly (Window & Pick<BakeFact["value"]["parts"][number], "mode">)[];
  readonly verdicts: readonly BakeVerdict[];
}

/** Returns the bakes that start in the window, oldest first, each judged by the rules that are in force now. */
export function bakesIn(source: Source, window: Window): Bake[] {
  const rules = stateOf(source).parameters?.bake_rules ?? [];
  return source.reader
    .facts(source.stream, KIND.bake, window)
    .filter(({ value }) => value.start >= window.start)
    .map(({ value }) => bakeOf(value, rules));
}

/** Returns the figures of a bake, and the rules' verdicts. */
export function bakeOf({ parts, ...bake }: Omit<BakeFact["value"], "supersedes">, rules: readonly BakeRule[]): Bake {
  const air = figuresOf({ parts, ...bake }, "air");
  const metal = figuresOf({ parts, ...bake }, "metal");
  const sensed = { air, metal };
  return {
    ...bake,
    parts: parts.map(({ mode, start, end }) => ({ mode, start, end })),
    air,
    metal,
    verdicts: rules.map((rule) => verdictOf(sensed[rule.sensor], rule)),
  };
}

function figuresOf(
  { start, parts }: Pick<BakeFact["value"], "start" | "parts">,
  sensor: "air" | "metal",
): BakeFigures | null {
  const curves = parts.map((part) => part[sensor]).filter((curve) => curve !== undefined);
  if (curves.length === 0) return null;
  const minutes: BakeMinute[] = [];
  let at = start;
  for (const part of parts) {
    // The temperature between two stages isn't recorded.
    if (part.start > at) minutes.push({ at_ms: at - start, ms: part.start - at, low: null, high: null });
    minutes.push(...minutesOf(part, start, part[sensor]));
    at = part.end;
  }
  const highs = minutes.flatMap(({ high }) => high ?? []);
  const lows = minutes.flatMap(({ low }) => low ?? []);
  return {
    peak_c: highs.length === 0 ? null : Math.max(...highs),
    lowest_c: lows.length === 0 ? null : Math.min(...lows),
    deadband: Math.max(...curves.map(({ deadband }) => deadband)),
    unknown_ms: sumOf(minutes, ({ low }) => low === null),
    minutes,
  };
}

/** Reads the minutes of a stage back from their differences. A time without a curve is one unknown minute. */
function minutesOf({ start, end }: Window, origin: number, curve: BakeCurve | undefined): BakeMinute[] {
  const list: BakeMinute[] = [];
  let low = 0;
  let high = 0;
  for (const [nth, step] of (curve?.low ?? []).entries()) {
    const at = start + nth * MINUTE_MS;
    const rise = curve?.high[nth] ?? null;
    low += step ?? 0;
    high += rise ?? 0;
    const known = { low: step === null ? null : low / TENTHS, high: rise === null ? null : high / TENTHS };
    list.push({ at_ms: at - origin, ms: Math.min(MINUTE_MS, end - at), ...known });
  }
  const covered = start + list.length * MINUTE_MS;
  if (covered < end) list.push({ at_ms: covered - origin, ms: end - covered, low: null, high: null });
  return list;
}

function sumOf(minutes: readonly BakeMinute[], isCounted: (minute: BakeMinute) => boolean): Milliseconds {
  return minutes.reduce((sum, minute) => sum + (isCounted(minute) ? minute.ms : 0), 0);
}

/** Returns the longest unbroken time of minutes that count. */
function longestOf(minutes: readonly BakeMinute[], isCounted: (minute: BakeMinute) => boolean): readonly BakeMinute[] {
  let longest: BakeMinute[] = [];
  let present: BakeMinute[] = [];
  for (const minute of minutes) {
    present = isCounted(minute) ? [...present, minute] : [];
    if (lengthOf(present) > lengthOf(longest)) longest = present;
  }
  return longest;
}

function lengthOf(minutes: readonly BakeMinute[]): Milliseconds {
  return minutes.reduce((sum, { ms }) => sum + ms, 0);
}

/** A part of a rule, judged alone. */
type Judged = Pick<BakeVerdict, "verdict" | "reason">;

const CERTAIN: Readonly<Record<"met" | "not_met", Judged>> = {
  met: { verdict: "met", reason: "" },
  not_met: { verdict: "not_met", reason: "" },
};

/** Judges a bake by a rule. Nothing is met or not met unless the recorded values prove it. */
export function verdictOf(figures: BakeFigures | null, rule: BakeRule): BakeVerdict {
  if (figures === null) {
    return { rule, verdict: "cannot_tell", reason: "no_sensor", above_ms: null, longest_ms: null, over_ms: null };
  }
  const { minutes, deadband } = figures;
  const { at_least_c, minutes: needed = 0, at_most_c } = rule;
  const isAbove = ({ low }: BakeMinute): boolean => low !== null && low - deadband >= (at_least_c ?? Infinity);
  const isOver = ({ high }: BakeMinute): boolean => high !== null && high - deadband > (at_most_c ?? Infinity);
  const longest_ms = lengthOf(longestOf(minutes, isAbove));
  const parts = [
    ...(at_least_c === undefined
      ? []
      : [judgeCure(figures, { at_least_c, needed_ms: needed * MINUTE_MS, longest_ms })]),
    ...(at_most_c === undefined ? [] : [judgeLimit(figures, at_most_c)]),
  ];
  const worst =
    parts.find(({ verdict }) => verdict === "not_met") ??
    parts.find(({ verdict }) => verdict === "cannot_tell") ??
    CERTAIN.met;
  return {
    rule,
    ...worst,
    above_ms: at_least_c === undefined ? null : sumOf(minutes, isAbove),
    longest_ms: at_least_c === undefined ? null : longest_ms,
    over_ms: at_most_c === undefined ? null : sumOf(minutes, isOver),
  };
}

/** Judges whether the temperature was at or above a limit for long enough. */
function judgeCure(
  { minutes, deadband }: BakeFigures,
  { at_least_c, needed_ms, longest_ms }: { at_least_c: number; needed_ms: Milliseconds; longest_ms: Milliseconds },
): Judged {
  if (longest_ms >= needed_ms) return CERTAIN.met;
  // The longest time that the values allow: unknown minutes, values within the deadband, and the minutes in which the limit was crossed.
  const possible = longestOf(minutes, ({ high }) => high === null || high + deadband >= at_least_c);
  if (lengthOf(possible) < needed_ms) return CERTAIN.not_met;
  const reachedMs = (isReached: (minute: BakeMinute) => boolean): Milliseconds =>
    lengthOf(longestOf(minutes, isReached));
  const known = reachedMs(({ high }) => high !== null && high + deadband >= at_least_c);
  if (known < needed_ms || possible.some(({ low }) => low === null))
    return { verdict: "cannot_tell", reason: "no_data" };
  const exact = reachedMs(({ high }) => high !== null && high >= at_least_c);
  const sure = reachedMs(({ low }) => low !== null && low >= at_least_c);
  return { verdict: "cannot_tell", reason: exact < needed_ms || sure >= needed_ms ? "accuracy" : "minute" };
}

/** Judges whether the temperature stayed at or below a limit. */
function judgeLimit({ minutes, deadband, peak_c, unknown_ms }: BakeFigures, at_most_c: number): Judged {
  if (minutes.some(({ high }) => high !== null && high - deadband > at_most_c)) return CERTAIN.not_met;
  if (unknown_ms > 0 || peak_c === null) return { verdict: "cannot_tell", reason: "no_data" };
  return peak_c + deadband > at_most_c ? { verdict: "cannot_tell", reason: "accuracy" } : CERTAIN.met;
}
