import type { FirstOf } from "../../domain/profile.ts";

/** What counts among all registers: what only grows, how fast, and in which modes. Pure. */

/** All places by table:address as they were read at one instant, and the mode then; null: nobody knows it. */
export interface CounterLook {
  readonly at_ms: number;
  readonly mode: string | null;
  readonly places: ReadonlyMap<string, number>;
}

/** Growth in one mode. */
export interface Growth {
  readonly mode: string;
  readonly minutes: number;
  readonly grown: number;
}

/** A whole number that grew and never fell, in steps of its raw value. */
export interface CounterFinding {
  /** The first register of the value. */
  readonly place: string;
  readonly type: "uint16" | "uint32";
  /** Of a wide one. */
  readonly word_order?: FirstOf;
  readonly first: number;
  readonly last: number;
  readonly per_h: number;
  readonly growth: readonly Growth[];
  /** Another way to read the same register that grew alike: the machine's display decides. */
  readonly also: readonly { readonly place: string; readonly word_order: FirstOf; readonly last: number }[];
}

/** Once could be anything. */
const LEAST_STEPS = 2;
/** A counter of a booth that goes faster than 100 steps a second isn't one. */
const MOST_PER_S = 100;
const WORD = 65_536;

/** In the order of their places. */
export function counterFindings(looks: readonly CounterLook[], usual: FirstOf): readonly CounterFinding[] {
  const [first, ...others] = looks;
  if (first === undefined || others.length < LEAST_STEPS) return [];
  const series = new Map<string, readonly number[]>();
  for (const place of first.places.keys()) {
    if (/^(coil|discrete):/.test(place)) continue;
    const values = looks.flatMap(({ places }) => places.get(place) ?? []);
    if (values.length === looks.length) series.set(place, values);
  }
  return [...series].flatMap(([place, low]) => findingAt(place, low, { series, looks, usual }) ?? []);
}

interface Seen {
  readonly series: ReadonlyMap<string, readonly number[]>;
  readonly looks: readonly CounterLook[];
  readonly usual: FirstOf;
}

function findingAt(place: string, low: readonly number[], seen: Seen): CounterFinding | null {
  if (new Set(low).size <= LEAST_STEPS) return null;
  const wide = (["high_first", "low_first"] as const).flatMap(
    (word_order) => wideAt(place, low, { ...seen, word_order }) ?? [],
  );
  const ranked = wide.toSorted((a, b) => Number(b.word_order === seen.usual) - Number(a.word_order === seen.usual));
  const [best, ...rest] = ranked;
  const values = best?.values ?? low;
  const grown = growthOf(values, seen.looks);
  if (grown === null) return null;
  const last = values.at(-1) ?? 0;
  const also = rest.map((one) => ({ place: one.place, word_order: one.word_order, last: one.values.at(-1) ?? 0 }));
  const about = { first: values[0] ?? 0, last, ...grown };
  if (best === undefined) return { place, type: "uint16", ...about, also };
  return { place: best.place, type: "uint32", word_order: best.word_order, ...about, also };
}

interface Wide {
  readonly place: string;
  readonly word_order: FirstOf;
  readonly values: readonly number[];
}

/** With the register beside it as the high word: that one rests, or goes one up where the low one begins anew. */
function wideAt(
  place: string,
  low: readonly number[],
  { series, word_order }: Seen & { readonly word_order: FirstOf },
): Wide | null {
  const [table = "", address = ""] = place.split(":");
  const beside = `${table}:${Number(address) + (word_order === "high_first" ? -1 : 1)}`;
  const high = series.get(beside);
  if (high === undefined) return null;
  const values = low.map((word, i) => (high[i] ?? 0) * WORD + word);
  const isOne = high.every((word, i) => {
    const before = high[i - 1] ?? word;
    return word === before || (word === before + 1 && (low[i] ?? 0) < (low[i - 1] ?? 0));
  });
  return isOne && values.every((value, i) => value >= (values[i - 1] ?? value))
    ? { place: word_order === "high_first" ? beside : place, word_order, values }
    : null;
}

/** Null where it fell, or runs faster than anything counts. */
function growthOf(values: readonly number[], looks: readonly CounterLook[]) {
  const modes = new Map<string, { minutes: number; grown: number }>();
  for (const [i, value] of values.entries()) {
    const before = values[i - 1];
    const look = looks[i];
    const was = looks[i - 1];
    if (before === undefined || look === undefined || was === undefined) continue;
    if (value < before) return null;
    if (value - before > Math.max(1, (MOST_PER_S * (look.at_ms - was.at_ms)) / 1000)) return null;
    // What grew between two modes belongs to the one that ended: a cycle is counted when its bake is over.
    const mode = was.mode ?? "unknown";
    const sum = modes.get(mode) ?? { minutes: 0, grown: 0 };
    modes.set(mode, { minutes: sum.minutes + (look.at_ms - was.at_ms) / 60_000, grown: sum.grown + value - before });
  }
  const hours = ((looks.at(-1)?.at_ms ?? 0) - (looks[0]?.at_ms ?? 0)) / 3_600_000;
  const grown = (values.at(-1) ?? 0) - (values[0] ?? 0);
  return { per_h: grown / hours, growth: [...modes].map(([mode, sum]) => ({ mode, ...sum })) };
}

/** A usual tag that grows so, and the scale that makes its unit of a step. */
export interface Guess {
  readonly tag: string;
  readonly scale: number;
}

/** Steps an hour of what counts time, with its scale in minutes; the PLC's uptime counts seconds. */
const TIME_RATES: readonly (readonly [per_h: number, scale: number])[] = [
  [60, 1],
  [600, 0.1],
  [6000, 0.01],
];
const RATE_TOLERANCE = 0.1;
const RUN = ["spray", "flash", "purge", "bake", "cool_down"];

/** What the growth over time and modes looks like; null: it could be several things. */
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
  // The minutes of a filter rest in cool_down, where the booth runs and isn't in use.
  return grew.some(({ mode }) => mode === "cool_down") ? { tag: "run_minutes", scale: rate[1] } : null;
}

function near(value: number, wanted: number): boolean {
  return Math.abs(value - wanted) <= RATE_TOLERANCE * wanted;
}
