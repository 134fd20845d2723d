import type { FilterType } from "../domain/booth.ts";
import type { Parameters, TagParameters } from "../domain/parameters.ts";
import type { TagName } from "../domain/units.ts";
import { pressReset, readMinutes } from "./changes.ts";
import { book, type Count, countOf, roomOf } from "./counters.ts";
import { maxRateOf, unitsPerHour } from "../domain/counter-rates.ts";
import { bridgeMs } from "./coverage.ts";
import { addCount } from "./hours.ts";
import { clear, report } from "./incidents.ts";
import { isRestart } from "./restart.ts";
import { rememberIncrement } from "./recent.ts";
import { readRevision } from "./revisions.ts";
import type { CounterState, DeriveState, Fold, PendingReading } from "./state.ts";

interface CounterReading {
  readonly tag: string;
  readonly value: number;
  readonly parameters: TagParameters;
  readonly before: CounterState | undefined;
  readonly fell: boolean;
}

/** What an instant's readings say of the PLC itself. */
export interface Evidence {
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
    if (tag.role !== undefined) readRevision(state, tag.role, reading.value);
    // Only polls of the booth's own PLC have readings.
    if (tag.role === "plc_serial") clear(fold, "identity", reading.tag);
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
  for (const type of pressed) pressReset(fold, type);
  for (const reading of counters) takeCount(fold, reading, restarted);
  if (restarted && falls.length > 0) reportLoss(fold, falls);
  return { restarted, lost: restarted && falls.length > 0 };
}

function isEdge(state: DeriveState, { tag, value }: PendingReading): boolean {
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
function areFreshFilters(state: DeriveState, parameters: Parameters, falls: readonly CounterReading[]): boolean {
  const beside = Object.entries(parameters.tags).filter(([name]) => !falls.some(({ tag }) => tag === name));
  return falls.every(({ parameters: tag, before }) => {
    if (tag.role !== "filter_minutes" || before === undefined) return false;
    const unseen_ms = wasUncovered(state, tag, before) ? elapsedMs(state, before) : null;
    return beside.some(([name, witness]) => {
      const { counter, group } = witness;
      if (counter === undefined || group !== tag.group) return false;
      if (counter.retained && tag.counter?.retained !== true) return false;
      if (unseen_ms === null) return stands(state, name, 0);
      // It may have been lost at once, and have counted on from 0.
      const most = roomOf({ counter, elapsed_ms: unseen_ms, max_rate_per_h: maxRateOf(witness, parameters) });
      return stands(state, name, most) && state.pending.some((reading) => reading.tag === name);
    });
  });
}

/** It is readable, and had counted more than that. */
function stands({ counters, latest }: DeriveState, name: TagName, most: number): boolean {
  return (counters[name]?.raw ?? 0) > most && latest[name]?.quality !== "bad";
}

/** The group's present coverage began after the counter was last read. */
function wasUncovered(state: DeriveState, { group }: TagParameters, before: CounterState): boolean {
  const coverage = state.groups[group];
  return coverage !== undefined && (coverage.boot !== before.boot || coverage.from > before.mono);
}

function elapsedMs({ clock }: DeriveState, before: CounterState): number {
  return before.boot === clock.boot ? clock.mono - before.mono : clock.now - before.at;
}

function countReading(state: DeriveState, reading: Omit<CounterReading, "fell">, restarted: boolean): Count {
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
    if (steps > 0) bookFigure(state, parameters, steps);
    if (count.kind === "unexplained") reportCounter(fold, reading, before.raw);
  }
  if (parameters.role === "filter_minutes") takeMinutes(fold, reading, restarted);
  if (before !== undefined) Object.assign(before, { raw: value, boot, mono, at });
}

function bookFigure(state: DeriveState, { role, counter, factor }: TagParameters, steps: number): void {
  const amount = steps * (counter?.step ?? 1) * factor;
  if (role === "gas") addCount(state, "gas_therm", amount);
  if (role === "kwh") addCount(state, "energy_kwh", amount);
  if (role === "cycle_counter") {
    addCount(state, "counted_cycles", amount);
    rememberIncrement(state, state.clock.now, amount);
  }
}

function takeMinutes(fold: Fold, { parameters: tag, value, before, fell }: CounterReading, lost: boolean): void {
  if (tag.filter === undefined) return;
  const { state } = fold;
  const minutes = (value * tag.factor * 60) / unitsPerHour(tag.unit);
  const seen = before === undefined || !wasUncovered(state, tag, before);
  const known_until = Math.max(before?.at ?? 0, state.groups[tag.group]?.known_until ?? 0);
  readMinutes(fold, { type: tag.filter, minutes, seen, known_until, fell, lost });
}

function reportCounter(fold: Fold, { tag, value }: CounterReading, before: number): void {
  const reason = `went from ${before} to ${value}, which is neither counting, a known wrap nor a reset: nothing was booked`;
  report(fold, { tag_name: tag, check: "monotonic", logic: { op: "monotonic" }, reason, severity: "warning" });
}

function reportLoss(fold: Fold, falls: readonly CounterReading[]): void {
  const reason = `counters fell with a restart of the PLC: ${falls.map(({ tag }) => tag).join(", ")}; usage goes on from before`;
  report(fold, { tag_name: "", check: "memory_loss", logic: { op: "monotonic" }, reason, severity: "warning" });
}
