import type { FilterType } from "../../domain/booth.ts";
import {
  maxRateOf,
  type Parameters,
  type TagParameters,
  unitsPerHour,
  type CounterParameters,
} from "../../domain/parameters.ts";
import type { TagName, Milliseconds } from "../../domain/units.ts";
import { isRestart } from "./gaps.ts";
import { bridgeMs } from "../parameters.ts";
import type { CountKind, Fold } from "./events.ts";
import type { CounterState, PendingReading, TimelineState } from "./state.ts";
import { HOUR_MS } from "../../domain/time.ts";

interface CounterReading {
  readonly tag: string;
  readonly value: number;
  readonly parameters: TagParameters;
  readonly before: CounterState | undefined;
  readonly fell: boolean;
}

/** What an instant's readings say of the PLC itself. */
interface Evidence {
  readonly restarted: boolean;
  /** Its counters fell with it. */
  readonly lost: boolean;
}

/**
 * Judges the readings of one instant together: counters that fall at once mean something else than one that falls
 * alone. Modes are left to the caller.
 */
export function judgeReadings(fold: Fold, parameters: Parameters): Evidence {
  const { state } = fold;
  let restarted = false;
  const pressed = new Set<FilterType>();
  const counters: CounterReading[] = [];
  for (const reading of state.pending) {
    const tag = parameters.tags[reading.tag];
    if (tag === undefined || reading.quality === "bad" || reading.value === null) continue;
    if (tag.role !== undefined) fold.tell({ kind: "reading", reading, role: tag.role });
    if (isRestart(state, reading, tag)) restarted = true;
    if (tag.role === "filter_reset" && tag.filter !== undefined && isEdge(state, reading)) pressed.add(tag.filter);
    if (tag.counter !== undefined) counters.push(counterReading(fold, reading, tag));
  }
  if (counters.length === 0 && pressed.size === 0) return { restarted, lost: false };
  const falls = counters.filter(
    ({ fell, parameters: { filter } }) => fell && (filter === undefined || !pressed.has(filter)),
  );
  const is_joint = falls.length >= 2 && !areFreshFilters(state, parameters, falls);
  if (is_joint || falls.some((reading) => isForgotten(fold, reading))) restarted = true;
  for (const filter of pressed) fold.tell({ kind: "reset_pressed", filter });
  for (const reading of counters) takeCount(fold, reading, restarted);
  const lost = restarted && falls.length > 0;
  if (lost) fold.tell({ kind: "memory_lost", tags: falls.map(({ tag }) => tag) });
  return { restarted, lost };
}

function isEdge(state: TimelineState, { tag, value }: PendingReading): boolean {
  const before = state.witnesses[tag];
  const pressed = value === true || value === 1;
  state.witnesses[tag] = pressed;
  return before === false && pressed;
}

function counterReading(fold: Fold, reading: PendingReading, parameters: TagParameters): CounterReading {
  const value = Number(reading.value);
  const before = fold.state.counters[reading.tag];
  const candidate = { tag: reading.tag, value, parameters, before };
  const count = before === undefined ? null : countReading(fold.state, candidate, false);
  return { ...candidate, fell: before !== undefined && value < before.raw && count?.kind !== "wrap" };
}

/** A value that the PLC keeps in volatile memory started over after the link was lost. */
function isForgotten({ state }: Fold, { parameters, before }: CounterReading): boolean {
  if (before === undefined || parameters.counter === undefined || parameters.counter.retained) return false;
  return (
    elapsedMs(state, before) > bridgeMs(state.parameters, parameters.group) && wasUncovered(state, parameters, before)
  );
}

/**
 * Filters are changed in one visit, and their buttons pressed within one poll, or while nobody polled: where a counter beside them
 * stands that a loss of memory would have taken too, their minutes were set back and nothing was lost.
 */
function areFreshFilters(state: TimelineState, parameters: Parameters, falls: readonly CounterReading[]): boolean {
  const beside = Object.entries(parameters.tags).filter(([name]) => !falls.some(({ tag }) => tag === name));
  return falls.every(({ parameters: tag, before }) => {
    if (tag.role !== "filter_minutes" || before === undefined) return false;
    const unseen_ms = wasUncovered(state, tag, before) ? elapsedMs(state, before) : null;
    return beside.some(([name, other]) => {
      const { counter, group } = other;
      if (counter === undefined || group !== tag.group) return false;
      if (counter.retained && tag.counter?.retained !== true) return false;
      if (unseen_ms === null) return stands(state, name, 0);
      // It may have been lost at once, and have counted on from 0.
      const most = roomOf({ counter, elapsed_ms: unseen_ms, max_rate_per_h: maxRateOf(other, parameters) });
      return stands(state, name, most) && state.pending.some((reading) => reading.tag === name);
    });
  });
}

/** It is readable, and had counted more than that. */
function stands({ counters, latest }: TimelineState, name: TagName, most: number): boolean {
  return (counters[name]?.raw ?? 0) > most && latest[name]?.quality !== "bad";
}

/** The group's present coverage began after the counter was last read. */
function wasUncovered(state: TimelineState, { group }: TagParameters, before: CounterState): boolean {
  const coverage = state.groups[group];
  return coverage !== undefined && (coverage.boot !== before.boot || coverage.from > before.mono);
}

function elapsedMs({ clock }: TimelineState, before: CounterState): number {
  return before.boot === clock.boot ? clock.mono - before.mono : clock.now - before.at;
}

function countReading(state: TimelineState, reading: Omit<CounterReading, "fell">, restarted: boolean): Count {
  const { parameters: tag, before, value } = reading;
  if (before === undefined || tag.counter === undefined || state.parameters === null)
    return { kind: "normal", delta: 0 };
  return countOf({
    previous: before.raw,
    next: value,
    elapsed_ms: elapsedMs(state, before),
    restarted,
    counter: tag.counter,
    max_rate_per_h: maxRateOf(tag, state.parameters),
  });
}

function takeCount(fold: Fold, reading: CounterReading, restarted: boolean): void {
  const { state } = fold;
  const { tag, value, parameters, before } = reading;
  const { boot, mono, now: at } = state.clock;
  if (!Number.isFinite(value) || parameters.counter === undefined) return;
  if (before === undefined) {
    state.counters[tag] = { raw: value, total_steps: 0, unattributed_steps: 0, odd: 0, boot, mono, at };
  } else {
    const count = countReading(state, reading, restarted);
    const steps = book(before, count, parameters.counter.step);
    const amount = steps * parameters.counter.step * parameters.factor;
    if (steps > 0 || count.kind === "unexplained")
      fold.tell({ kind: "count", tag, role: parameters.role, amount, as: count.kind, from: before.raw, to: value });
  }
  if (parameters.role === "filter_minutes") takeMinutes(fold, reading, restarted);
  if (before !== undefined) Object.assign(before, { raw: value, boot, mono, at });
}

function takeMinutes(fold: Fold, { parameters: tag, value, before, fell }: CounterReading, lost: boolean): void {
  if (tag.filter === undefined) return;
  const { state } = fold;
  const minutes = (value * tag.factor * 60) / unitsPerHour(tag.unit);
  const seen = before === undefined || !wasUncovered(state, tag, before);
  const known_until = Math.max(before?.at ?? 0, state.groups[tag.group]?.known_until ?? 0);
  fold.tell({ kind: "minutes", filter: tag.filter, minutes, seen, known_until, fell, lost });
}

/** Slack on the fastest plausible growth. */
const RATE_SLACK = 1.5;

interface Count {
  readonly kind: CountKind;
  /** What it counted since the reading before, in the tag's unit; never negative. */
  readonly delta: number;
}

export interface Pair {
  readonly previous: number;
  readonly next: number;
  /** Since the last good reading. */
  readonly elapsed_ms: Milliseconds;
  /** The PLC restarted, or the reset was declared. */
  readonly restarted: boolean;
  readonly counter: CounterParameters;
  /** In the tag's unit per hour; absent: any growth is plausible. */
  readonly max_rate_per_h: number | undefined;
}

/**
 * What two readings of a counter mean. A wrap needs a known modulus and a plausible rate; a reset needs restart
 * evidence or a value small enough to have been counted from 0 since; any other fall, and a jump beyond
 * one step + rate x time x 1.5, is unexplained and books nothing.
 */
export function countOf(pair: Pair): Count {
  const { previous, next, counter } = pair;
  const rate = pair.max_rate_per_h;
  const room = roomOf(pair);
  // Decoded values carry rounding of the scale; half a step is far below what two counts differ by.
  const fits = (delta: number): boolean => delta <= room + counter.step * 1e-6;
  const delta = next - previous;
  if (delta >= 0) return fits(delta) ? { kind: "normal", delta } : { kind: "unexplained", delta: 0 };
  const { modulus } = counter;
  if (modulus !== undefined && rate !== undefined && previous < modulus && fits(delta + modulus)) {
    return { kind: "wrap", delta: delta + modulus };
  }
  if (rate !== undefined && next >= 0 && fits(next)) return { kind: "reset", delta: next };
  return { kind: pair.restarted ? "reset" : "unexplained", delta: 0 };
}

/** The most that it can have counted in that time, in the tag's unit. */
function roomOf(pair: Pick<Pair, "elapsed_ms" | "counter" | "max_rate_per_h">): number {
  const { elapsed_ms, counter, max_rate_per_h: rate } = pair;
  return rate === undefined ? Infinity : counter.step + ((rate * Math.max(elapsed_ms, 0)) / HOUR_MS) * RATE_SLACK;
}

/** Books a count in whole steps. */
function book(state: CounterState, count: Count, step: number): number {
  const steps = Math.round(count.delta / step);
  state.total_steps += steps;
  if (count.kind === "reset" || count.kind === "unexplained") state.odd += 1;
  return steps;
}
