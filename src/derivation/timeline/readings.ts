import type { FilterType } from "../../domain/booth.ts";
import {
  type CounterParameters,
  maxRateOf,
  type Parameters,
  type TagParameters,
  unitsPerHour,
} from "../../domain/parameters.ts";
import { recordText } from "../../domain/record-text.ts";
import { HOUR_MS } from "../../domain/time.ts";
import type { Milliseconds, TagName } from "../../domain/units.ts";
import { pressReset, readMinutes } from "../filters/changes.ts";
import { addCount } from "../hours.ts";
import { report, reportOver } from "../incidents.ts";
import { bridgeMs } from "../parameters.ts";
import { readVersion } from "../revisions.ts";
import type { CounterState, DeriveState, Fold, PendingReading } from "../state.ts";

interface CounterReading {
  readonly tag: string;
  readonly value: number;
  readonly parameters: TagParameters;
  readonly before: CounterState | undefined;
  readonly fell: boolean;
}

/**
 * Judges all readings of an instant together, because several counters that fall at once have another cause than a single counter that
 * falls. Notes a restart of the PLC in the bays. The caller handles modes.
 */
export function judgeReadings(fold: Fold, parameters: Parameters): void {
  const { state } = fold;
  let restarted = false;
  const pressed = new Set<FilterType>();
  const counters: CounterReading[] = [];
  for (const reading of state.pending) {
    const tag = parameters.tags[reading.tag];
    if (tag === undefined || reading.quality === "bad" || reading.value === null) continue;
    if (tag.role !== undefined) readVersion(state, tag.role, reading.value);
    // Ends the incident about a foreign PLC: readings exist only if the booth's own PLC answered the poll.
    if (tag.role === "plc_serial") reportOver(fold, "identity", reading.tag);
    if (isRestart(state, reading, tag)) restarted = true;
    if (tag.role === "filter_reset" && tag.filter !== undefined && isPress(state, reading)) pressed.add(tag.filter);
    if (tag.counter !== undefined) counters.push(counterReading(state, reading, tag));
  }
  const falls = counters.filter(
    ({ fell, parameters: { filter } }) => fell && (filter === undefined || !pressed.has(filter)),
  );
  const isJoint = falls.length >= 2 && !areFreshFilters(state, parameters, falls);
  if (isJoint || falls.some((reading) => isForgotten(state, reading))) restarted = true;
  for (const filter of pressed) pressReset(fold, filter);
  for (const reading of counters) takeCount(fold, reading, restarted);
  const lost = restarted && falls.length > 0;
  if (lost) {
    const reason = recordText("incident.memory_loss", { tags: falls.map(({ tag }) => tag).join(", ") });
    report(fold, { tag_name: "", check: "memory_loss", logic: { op: "monotonic" }, reason });
  }
  if (restarted) for (const bay of state.bays) bay.restart = { at: state.clock.now, lost };
}

/** Returns whether the reading shows a restart of the PLC: its uptime fell, or its first-scan bit was set. */
function isRestart({ witnesses }: DeriveState, { tag, value }: PendingReading, { role }: TagParameters): boolean {
  if (role !== "uptime" && role !== "first_scan") return false;
  if (typeof value !== "number" && typeof value !== "boolean") return false;
  const before = witnesses[tag];
  witnesses[tag] = value;
  if (before === undefined) return false;
  return typeof value === "boolean" ? value && before === false : value < Number(before);
}

function isPress({ witnesses }: DeriveState, { tag, value }: PendingReading): boolean {
  const before = witnesses[tag];
  const isPressed = value === true || value === 1;
  witnesses[tag] = isPressed;
  return before === false && isPressed;
}

function counterReading(state: DeriveState, reading: PendingReading, parameters: TagParameters): CounterReading {
  const value = Number(reading.value);
  const before = state.counters[reading.tag];
  const candidate = { tag: reading.tag, value, parameters, before };
  const fell = before !== undefined && value < before.raw && countReading(state, candidate, false).kind !== "wrap";
  return { ...candidate, fell };
}

/** Returns whether a counter in volatile memory started again from 0 after the link was lost. */
function isForgotten(state: DeriveState, { parameters, before }: CounterReading): boolean {
  if (before === undefined || parameters.counter === undefined || parameters.counter.retained) return false;
  return (
    elapsedMs(state, before) > bridgeMs(state.parameters, parameters.group) && wasUncovered(state, parameters, before)
  );
}

/**
 * Returns whether the falling counters mean that several filters were changed in one visit: their buttons were pressed within one poll, or
 * while nothing was polled. The proof is another counter of the group that didn't fall, although a loss of memory would have reset it too.
 */
function areFreshFilters(state: DeriveState, parameters: Parameters, falls: readonly CounterReading[]): boolean {
  const others = Object.entries(parameters.tags).filter(([name]) => !falls.some(({ tag }) => tag === name));
  return falls.every(({ parameters: tag, before }) => {
    if (tag.role !== "filter_minutes" || before === undefined) return false;
    const unseen_ms = wasUncovered(state, tag, before) ? elapsedMs(state, before) : null;
    return others.some(([name, other]) => {
      const { counter, group } = other;
      if (counter === undefined || group !== tag.group) return false;
      if (counter.retained && tag.counter?.retained !== true) return false;
      if (unseen_ms === null) return hasCounted(state, name, 0);
      // Allows for a counter that was reset at the start of the gap and then counted from 0.
      const most = mostCounted({ counter, elapsed_ms: unseen_ms, max_rate_per_h: maxRateOf(other, parameters) });
      return hasCounted(state, name, most) && state.pending.some((reading) => reading.tag === name);
    });
  });
}

/** Returns whether the counter can be read and had counted more than `most`. */
function hasCounted({ counters, latest }: DeriveState, name: TagName, most: number): boolean {
  return (counters[name]?.raw ?? 0) > most && latest[name]?.quality !== "bad";
}

/** Returns whether the group's present coverage began after the last reading of the counter. */
function wasUncovered({ groups }: DeriveState, { group }: TagParameters, before: CounterState): boolean {
  const coverage = groups[group];
  return coverage !== undefined && (coverage.boot !== before.boot || coverage.from > before.mono);
}

function elapsedMs({ clock }: DeriveState, before: CounterState): Milliseconds {
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
    const { kind, delta } = countReading(state, reading, restarted);
    const { step } = parameters.counter;
    const steps = Math.round(delta / step);
    before.total_steps += steps;
    if (kind === "reset" || kind === "unexplained") before.odd += 1;
    const amount = steps * step * parameters.factor;
    if (amount > 0) addCount(state, parameters.role, amount);
    if (kind === "unexplained") {
      const reason = recordText("incident.monotonic", { from: before.raw, to: value });
      report(fold, { tag_name: tag, check: "monotonic", logic: { op: "monotonic" }, reason });
    }
  }
  if (parameters.role === "filter_minutes") takeMinutes(fold, reading, restarted);
  if (before !== undefined) Object.assign(before, { raw: value, boot, mono, at });
}

function takeMinutes(fold: Fold, { parameters: tag, value, before, fell }: CounterReading, lost: boolean): void {
  const { filter, group, factor, unit } = tag;
  if (filter === undefined) return;
  const { state } = fold;
  const minutes = (value * factor * 60) / unitsPerHour(unit);
  const seen = before === undefined || !wasUncovered(state, tag, before);
  const known_until = Math.max(before?.at ?? 0, state.groups[group]?.known_until ?? 0);
  readMinutes(fold, { filter, minutes, seen, known_until, fell, lost });
}

/** Factor by which a counter may exceed its highest plausible rate. */
const RATE_SLACK = 1.5;

export interface Count {
  readonly kind: "normal" | "wrap" | "reset" | "unexplained";
  /** The amount counted since the previous reading, in the tag's unit; never negative. */
  readonly delta: number;
}

/** Two consecutive good readings of a counter. */
export interface Pair {
  readonly previous: number;
  readonly next: number;
  readonly elapsed_ms: Milliseconds;
  /** Whether the PLC restarted between the two readings. */
  readonly restarted: boolean;
  readonly counter: CounterParameters;
  /** Highest plausible rate in the tag's unit per hour; absent: any growth is plausible. */
  readonly max_rate_per_h: number | undefined;
}

/**
 * Returns the amount that a counter counted between two readings. A wrap needs a known modulus and a plausible rate. A reset needs evidence
 * of a restart, or a value small enough to have been counted from 0 in that time. Any other fall is unexplained and counts nothing. The
 * same applies to a jump of more than one step + rate x time x 1.5.
 */
export function countOf(pair: Pair): Count {
  const { previous, next, counter } = pair;
  const rate = pair.max_rate_per_h;
  const most = mostCounted(pair);
  // Allows for rounding errors of scaled values.
  const fits = (delta: number): boolean => delta <= most + counter.step * 1e-6;
  const delta = next - previous;
  if (delta >= 0) return fits(delta) ? { kind: "normal", delta } : { kind: "unexplained", delta: 0 };
  const { modulus } = counter;
  if (modulus !== undefined && rate !== undefined && previous < modulus && fits(delta + modulus)) {
    return { kind: "wrap", delta: delta + modulus };
  }
  if (rate !== undefined && next >= 0 && fits(next)) return { kind: "reset", delta: next };
  return { kind: pair.restarted ? "reset" : "unexplained", delta: 0 };
}

/** Returns the highest plausible count in that time, in the tag's unit. */
function mostCounted(pair: Pick<Pair, "elapsed_ms" | "counter" | "max_rate_per_h">): number {
  const { elapsed_ms, counter, max_rate_per_h: rate } = pair;
  return rate === undefined ? Infinity : counter.step + ((rate * Math.max(elapsed_ms, 0)) / HOUR_MS) * RATE_SLACK;
}
