import type { FilterType, Quality, TagValue } from "../../domain/booth.ts";
import { type Parameters, type TagParameters, unitsPerHour, maxRateOf } from "../../domain/parameters.ts";
import type { Sample } from "../../domain/taken.ts";
import { type ModbusTag, pointWidth } from "../../domain/profile.ts";
import type { Milliseconds, TagName } from "../../domain/units.ts";
import { recordText } from "../../domain/record-text.ts";
import { HOUR_MS } from "../../domain/time.ts";

interface Logged {
  value: TagValue;
  quality: Quality;
  mono: Milliseconds;
}

/**
 * The last logged sample of each tag in this boot. The map is modified in place, because copies would be most of a poll's garbage. An empty
 * map at the start and after a gap makes the next sample of every tag be logged.
 */
export type FilterState = Map<TagName, Logged>;

/**
 * Conditions under which a tag's sample is logged. A fall of an uptime, or of a counter by at least a step, is always logged, because it
 * means a restart or a reset.
 */
type LogRule = Pick<TagParameters, "deadband" | "deadband_percent" | "heartbeat_ms" | "role" | "counter"> & {
  /**
   * Threshold at which a number is logged at once. Its consequence, such as overuse, then starts at that reading and not a deadband later.
   */
  readonly mark?: number;
};

/** Offsets of usage counters in minutes, by filter type. */
export type CounterOffsets = Readonly<Partial<Record<FilterType, number>>>;

/** Rule for a tag without parameters: log every change, and one record every 15 min. */
const DEFAULTS: LogRule = { deadband: 0, heartbeat_ms: 900_000 };
/** Rounding error of binary fractions, relative to a threshold or a step. */
const ROUNDING = 1e-9;

/**
 * Returns the logging rule of each tag. For a tag that counts a filter's minutes, the threshold (`mark`) is the filter's limit, because
 * overuse starts there.
 * @param offsets minutes by which a filter's usage exceeds its counter, for example after a filter change that the PLC doesn't know about
 */
export function logRules({ tags, filters }: Pick<Parameters, "tags" | "filters">, offsets: CounterOffsets = {}) {
  const rules: Record<TagName, LogRule> = { ...tags };
  for (const [name, tag] of Object.entries(tags)) {
    const { role, filter, factor, unit } = tag;
    const limit = role !== "filter_minutes" || filter === undefined ? undefined : filters[filter]?.limits.minutes;
    if (limit === undefined || filter === undefined) continue;
    const minutes = limit - (offsets[filter] ?? 0);
    rules[name] = { ...tag, mark: (minutes * unitsPerHour(unit)) / 60 / factor };
  }
  return rules;
}

export interface PolledSamples {
  readonly mono: Milliseconds;
  readonly samples: readonly Sample[];
}

/**
 * Returns the samples of a poll that must be logged, and remembers them in the state. A non-finite number becomes null, bad, "nan". A
 * sample is logged in these cases:
 * - It is the first sample of its tag, or the tag's heartbeat is due.
 * - Its quality, text or boolean has changed.
 * - Its number differs from the LAST LOGGED one by more than the deadband (so slow drift can't hide), or reaches its threshold.
 * - It is a counter or an uptime that fell.
 */
export function filterChanges(state: FilterState, poll: PolledSamples, tags: Readonly<Record<TagName, LogRule>>) {
  const changes: Sample[] = [];
  for (const polled of poll.samples) {
    const sample = withoutNonFinite(polled);
    const { tag, value, quality } = sample;
    const last = state.get(tag);
    const rule = Object.hasOwn(tags, tag) ? (tags[tag] ?? DEFAULTS) : DEFAULTS;
    if (last !== undefined && !isDue(last, poll.mono, rule) && !isChange(last, sample, rule)) continue;
    changes.push(sample);
    if (last === undefined) state.set(tag, { value, quality, mono: poll.mono });
    else Object.assign(last, { value, quality, mono: poll.mono });
  }
  return changes;
}

function isDue(last: Logged, mono: Milliseconds, parameters: LogRule): boolean {
  return mono - last.mono >= parameters.heartbeat_ms;
}

function isChange(last: Logged, sample: Sample, rule: LogRule): boolean {
  const { deadband, deadband_percent = 0, mark } = rule;
  if (sample.quality !== last.quality) return true;
  if (typeof sample.value !== "number" || typeof last.value !== "number") return sample.value !== last.value;
  if (isFall(last.value - sample.value, rule)) return true;
  const band = Math.max(deadband, (Math.abs(last.value) * deadband_percent) / 100);
  if (Math.abs(sample.value - last.value) > band) return true;
  return mark !== undefined && isAt(sample.value, mark) && !isAt(last.value, mark);
}

/** Returns whether a fall means a reset or a restart. A counter that falls by less than a step is only rounded by the meter. */
function isFall(fall: number, { role, counter }: LogRule): boolean {
  if (counter !== undefined) return fall >= counter.step * (1 - ROUNDING);
  return role === "uptime" && fall > 0;
}

function isAt(value: number, mark: number): boolean {
  return value >= mark - Math.abs(mark) * ROUNDING;
}

function withoutNonFinite(sample: Sample): Sample {
  if (typeof sample.value !== "number" || Number.isFinite(sample.value)) return sample;
  return { tag: sample.tag, value: null, quality: "bad", reason: "nan" };
}

/** Monotonic time at which an event about each odd tag was last logged in this boot; modified in place. */
export type OddState = Map<TagName, Milliseconds>;

/**
 * Faults that only acquisition can see, by the reason of the bad sample. Each value names the check that reports the fault, and the fault's
 * text.
 */
const CHECKS: Readonly<Record<string, readonly [check: string, detail: string]>> = {
  sentinel: ["sentinel", recordText("incident.sentinel")],
  nan: ["sentinel", recordText("incident.nan")],
  inf: ["sentinel", recordText("incident.inf")],
  not_bcd: ["sentinel", recordText("incident.not_bcd")],
  below_min: ["between", recordText("incident.below_min")],
  above_max: ["between", recordText("incident.above_max")],
  all_zero: ["all_zero", recordText("incident.all_zero")],
  torn: ["torn", recordText("incident.torn")],
};

/**
 * Interval at which an event is logged again while its fault lasts. It is half of the 10 min without an event after which an incident is
 * resolved.
 */
const LOG_AGAIN_MS = 300_000;

/**
 * Returns the events of one poll. An event is logged when a tag becomes odd (its value is implausible), and every 5 min while it stays odd.
 */
export function oddEvents(state: OddState, { mono, samples }: PolledSamples) {
  return samples.flatMap(({ tag, reason }) => {
    const check = reason === undefined || !Object.hasOwn(CHECKS, reason) ? undefined : CHECKS[reason];
    if (check === undefined) {
      state.delete(tag);
      return [];
    }
    if (mono - (state.get(tag) ?? -Infinity) < LOG_AGAIN_MS) return [];
    state.set(tag, mono);
    return [{ event: check[0], detail: check[1], tag }];
  });
}

interface Seen {
  value: number;
  mono: Milliseconds;
}

/**
 * Values that were accepted, as a reference for new ones. Acquisition reads suspicious values twice. Counters of several registers may be
 * torn: a PLC can change one half between the reads of both halves. Whole blocks may suddenly be zero: some servers zero their registers
 * when they lose their own link. The reference outlives a connection and is modified in place. It is stored by tag, not by block, because
 * blocks differ between polls.
 */
export interface Believed {
  readonly counts: Map<TagName, Seen>;
  /** Tags whose registers were not all zero when they were last accepted. */
  readonly lively: Set<TagName>;
  /** Number of polls for which a tag's zeros have been held back. */
  readonly held: Map<TagName, number>;
}

export function nothingBelieved(): Believed {
  return { counts: new Map(), lively: new Set(), held: new Map() };
}

/** Factor on the fastest plausible growth of a counter, as in derivation. */
const RATE_SLACK = 1.5;
/** Number of polls for which an all-zero block is held back. */
const HELD_POLLS = 2;
/** Least number of registers in a block whose zeros are suspicious. A shorter block can be all zero in a booth that is switched off. */
const LEAST_REGISTERS = 8;
/** Empty parameters, because a driver doesn't know the burner size. A gas counter without a max_rate_per_h is only checked for falls. */
const NO_PARAMETERS = {} as Parameters;

const NOTHING: ReadonlySet<TagName> = new Set();

/** Tags with a counter, by name. */
type Counters = ReadonlyMap<TagName, TagParameters>;

/** Returns the counters of a poll that fell, or grew faster than possible, compared with their last accepted value. */
export function suspects(believed: Believed, poll: PolledSamples, counters: Counters): ReadonlySet<TagName> {
  if (counters.size === 0) return NOTHING;
  const odd = poll.samples.filter(({ tag, value }) => {
    const counted = counters.get(tag);
    const before = believed.counts.get(tag);
    if (counted === undefined || before === undefined || typeof value !== "number") return false;
    return !follows(counted, before, { value, mono: poll.mono });
  });
  return odd.length === 0 ? NOTHING : new Set(odd.map(({ tag }) => tag));
}

/** Returns whether a counter can have changed from the first value to the second. */
function follows(tag: TagParameters, before: Seen, now: Seen): boolean {
  const step = tag.counter?.step ?? 0;
  const rate = maxRateOf(tag, NO_PARAMETERS);
  const hours = Math.max(0, now.mono - before.mono) / HOUR_MS;
  const allowedRise = rate === undefined ? Infinity : step + rate * hours * RATE_SLACK;
  const delta = now.value - before.value;
  return delta >= 0 && delta <= allowedRise + step * 1e-6;
}

/**
 * Replaces each suspicious counter by the second read of the same poll if both reads agree (it may have counted on). Otherwise the sample
 * becomes bad, "torn".
 * @param second the second read's sample of each suspicious counter
 */
export function agreed(
  first: readonly Sample[],
  second: PolledSamples & { readonly first_mono: Milliseconds },
  counters: Counters,
): readonly Sample[] {
  const again = new Map(second.samples.map((sample) => [sample.tag, sample]));
  return first.map((sample) => {
    const repeated = again.get(sample.tag);
    const tag = counters.get(sample.tag);
    if (repeated === undefined || tag === undefined) return sample;
    const a = sample.value;
    const b = repeated.value;
    const agrees =
      typeof a === "number" &&
      typeof b === "number" &&
      follows(tag, { value: a, mono: second.first_mono }, { value: b, mono: second.mono });
    return agrees ? repeated : { tag: sample.tag, value: null, quality: "bad", reason: "torn" };
  });
}

/** Stores the values of accepted counters. */
export function believe({ counts }: Believed, { mono, samples }: PolledSamples, counters: Counters): void {
  if (counters.size === 0) return;
  for (const { tag, value } of samples) {
    if (typeof value !== "number" || !counters.has(tag)) continue;
    const seen = counts.get(tag);
    if (seen === undefined) counts.set(tag, { value, mono });
    else Object.assign(seen, { value, mono });
  }
}

/** Registers that were read together, and their tags. */
interface ReadBlock {
  readonly address: number;
  readonly words: readonly number[];
  readonly tags: readonly Pick<ModbusTag, "name" | "point">[];
}

/**
 * Returns the tags whose samples are held back: the tags of a block that is all zero although it wasn't before.
 * @param isRestarted the PLC has just started, so zeros are expected
 */
export function zerosToHold(believed: Believed, blocks: readonly ReadBlock[], isRestarted: boolean) {
  const { lively, held } = believed;
  const toHold = new Set<TagName>();
  for (const block of blocks) {
    const { words, tags } = block;
    const isZero = words.length >= LEAST_REGISTERS && words.every((word) => word === 0) && !isRestarted;
    const doubted = isZero ? tags.filter(({ name }) => (held.get(name) ?? 0) < HELD_POLLS) : [];
    if (doubted.some(({ name }) => lively.has(name))) {
      for (const { name } of doubted) {
        held.set(name, (held.get(name) ?? 0) + 1);
        toHold.add(name);
      }
      continue;
    }
    for (const tag of tags) {
      if (!isZero) held.delete(tag.name);
      if (isLively(tag, block)) lively.add(tag.name);
      else lively.delete(tag.name);
    }
  }
  return toHold;
}

function isLively({ point }: ReadBlock["tags"][number], { address, words }: ReadBlock): boolean {
  const from = point.address - address;
  const end = from + pointWidth(point);
  for (let at = from; at < end; at += 1) if (words[at] !== 0) return true;
  return false;
}
