import type { FirstOf } from "../../domain/profile.ts";
import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../../domain/time.ts";

/** This module finds counters among all registers: values that only grow, with their rate and the modes in which they grow. Pure. */

/** The values of all addresses by table:address, with the mode at that time; null if the mode isn't known. */
export interface CounterReading {
  readonly at_ms: number;
  readonly mode: string | null;
  readonly places: ReadonlyMap<string, number>;
}

/** The growth of a value in one mode. */
interface Growth {
  readonly mode: string;
  readonly minutes: number;
  readonly grown: number;
}

/** A probable counter: a whole number in one or two registers that grew and never fell. Its numbers are in steps of the raw value. */
export interface CounterFinding {
  /** The first register of the value. */
  readonly place: string;
  readonly type: "uint16" | "uint32";
  /** The word order; absent for a value of one register. */
  readonly word_order?: FirstOf;
  readonly first: number;
  readonly last: number;
  readonly per_h: number;
  readonly growth: readonly Growth[];
  /** Other ways to read the same register that grew alike. A person chooses the right way by the value on the machine's display. */
  readonly also: readonly { readonly place: string; readonly word_order: FirstOf; readonly last: number }[];
}

/** The minimum number of times that a counter's value must change. A single change could happen to any value. */
const LEAST_STEPS = 2;
/** The maximum number of steps per second of a counter. No counter of a booth is faster. */
const MOST_PER_S = 100;
const WORD = 65_536;

/** Finds the counters, in the order of their addresses. `usual`: the profile's word order. */
export function counterFindings(readings: readonly CounterReading[], usual: FirstOf): readonly CounterFinding[] {
  const [first, ...others] = readings;
  if (first === undefined || others.length < LEAST_STEPS) return [];
  const series = new Map<string, readonly number[]>();
  for (const place of first.places.keys()) {
    if (/^(coil|discrete):/.test(place)) continue;
    const values = readings.flatMap(({ places }) => places.get(place) ?? []);
    if (values.length === readings.length) series.set(place, values);
  }
  const orders =
    usual === "high_first" ? (["high_first", "low_first"] as const) : (["low_first", "high_first"] as const);
  return [...series].flatMap(([place, low]): CounterFinding[] => {
    if (new Set(low).size <= LEAST_STEPS) return [];
    const [best, ...rest] = orders.flatMap((word_order) => wideAt(place, word_order, series) ?? []);
    const values = best?.values ?? low;
    const grown = growthOf(values, readings);
    if (grown === null) return [];
    const also = rest.map((one) => ({ place: one.place, word_order: one.word_order, last: one.values.at(-1) ?? 0 }));
    const about = { first: values[0] ?? 0, last: values.at(-1) ?? 0, ...grown, also };
    if (best === undefined) return [{ place, type: "uint16", ...about }];
    return [{ place: best.place, type: "uint32", word_order: best.word_order, ...about }];
  });
}

interface Wide {
  readonly place: string;
  readonly word_order: FirstOf;
  readonly values: readonly number[];
}

/**
 * Reads a register as the low word of a two-register value. Returns null unless the high word is constant, or goes up by one whenever the
 * low word restarts.
 */
function wideAt(place: string, word_order: FirstOf, series: ReadonlyMap<string, readonly number[]>): Wide | null {
  const [table = "", address = ""] = place.split(":");
  const neighbor = `${table}:${Number(address) + (word_order === "high_first" ? -1 : 1)}`;
  const low = series.get(place) ?? [];
  const high = series.get(neighbor);
  if (high === undefined) return null;
  const values = low.map((word, i) => (high[i] ?? 0) * WORD + word);
  const isWide = high.every((word, i) => {
    const before = high[i - 1] ?? word;
    return word === before || (word === before + 1 && (low[i] ?? 0) < (low[i - 1] ?? 0));
  });
  const grows = values.every((value, i) => value >= (values[i - 1] ?? value));
  return isWide && grows ? { place: word_order === "high_first" ? neighbor : place, word_order, values } : null;
}

/** Returns the growth in total and by mode. Returns null if the value fell, or grew faster than any counter. */
function growthOf(values: readonly number[], readings: readonly CounterReading[]) {
  const modes = new Map<string, { minutes: number; grown: number }>();
  for (const [i, { at_ms }] of readings.entries()) {
    const was = readings[i - 1];
    if (was === undefined) continue;
    const grown = (values[i] ?? 0) - (values[i - 1] ?? 0);
    const passed_ms = at_ms - was.at_ms;
    if (grown < 0 || grown > Math.max(1, (MOST_PER_S * passed_ms) / SECOND_MS)) return null;
    // Adds growth at a change of mode to the mode that ended, because a cycle is counted when its bake is over.
    const mode = was.mode ?? "unknown";
    const sum = modes.get(mode) ?? { minutes: 0, grown: 0 };
    modes.set(mode, { minutes: sum.minutes + passed_ms / MINUTE_MS, grown: sum.grown + grown });
  }
  const hours = ((readings.at(-1)?.at_ms ?? 0) - (readings[0]?.at_ms ?? 0)) / HOUR_MS;
  const grown = (values.at(-1) ?? 0) - (values[0] ?? 0);
  return { per_h: grown / hours, growth: [...modes].map(([mode, sum]) => ({ mode, ...sum })) };
}

/** The usual tag (a tag of a shipped profile) that a counter probably is, with the scale from steps to the tag's unit. */
export interface Guess {
  readonly tag: string;
  readonly scale: number;
}

/** Steps per hour of counters that measure time, with their scale to minutes. (The PLC's uptime counts seconds.) */
const TIME_RATES: readonly (readonly [per_h: number, scale: number])[] = [
  [60, 1],
  [600, 0.1],
  [6000, 0.01],
];
const RATE_TOLERANCE = 0.1;
const RUN = ["spray", "flash", "purge", "bake", "cool_down"];

/** Guesses a counter's tag by its growth over time and modes. Returns null if several tags are possible. */
export function guessOf({ growth, per_h }: CounterFinding): Guess | null {
  const grew = growth.filter(({ grown }) => grown > 0);
  const rested = growth.filter(({ grown, minutes }) => grown === 0 && minutes > 1);
  const isAlways = rested.length === 0 && growth.some(({ mode }) => !RUN.includes(mode));
  if (isAlways && near(per_h, 3600)) return { tag: "uptime_s", scale: 1 };
  const isInRun =
    grew.length > 0 && grew.every(({ mode }) => RUN.includes(mode)) && rested.some(({ mode }) => !RUN.includes(mode));
  if (!isInRun) return null;
  const minutes = grew.reduce((sum, one) => sum + one.minutes, 0);
  const steps = grew.reduce((sum, one) => sum + one.grown, 0);
  const rate = TIME_RATES.find(([most]) => near((steps / minutes) * 60, most));
  if (rate === undefined) return null;
  // Distinguishes run minutes from a filter's minutes, which rest in cool_down because the booth runs but is not in use.
  return grew.some(({ mode }) => mode === "cool_down") ? { tag: "run_minutes", scale: rate[1] } : null;
}

function near(value: number, wanted: number): boolean {
  return Math.abs(value - wanted) <= RATE_TOLERANCE * wanted;
}
