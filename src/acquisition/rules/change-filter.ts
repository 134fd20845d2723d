import type { FilterType, Quality, TagValue } from "../../domain/booth.ts";
import { type Parameters, type TagParameters, unitsPerHour, maxRateOf } from "../../domain/parameters.ts";
import type { Sample } from "../../domain/taken.ts";
import { type ModbusTag, pointWidth } from "../../domain/profile.ts";
import type { Milliseconds, TagName } from "../../domain/units.ts";
import { say } from "../../domain/sentences.ts";
import { HOUR_MS } from "../../domain/time.ts";

interface Logged {
  value: TagValue;
  quality: Quality;
  mono: Milliseconds;
}

/**
 * What was last logged of each tag in this boot, written on in place: copied at each change, it would be what the collector finds most
 * of. Begin with an empty one, and after a gap anew: the next sample of every tag is let through once.
 */
export type FilterState = Map<TagName, Logged>;

/** When a tag's sample goes to the log. Of an uptime any fall does, of a counter one by a step: only a restart or a reset makes them fall. */
type LogRule = Pick<TagParameters, "deadband" | "deadband_percent" | "heartbeat_ms" | "role" | "counter"> & {
  /** A number that rises to this is logged at once: what begins with it begins at that reading, not a deadband later. */
  readonly mark?: number;
};

/** Minutes by filter. */
export type CounterOffsets = Readonly<Partial<Record<FilterType, number>>>;

/** For a tag without parameters: every change, and one record in a quarter of an hour. */
const DEFAULTS: LogRule = { deadband: 0, heartbeat_ms: 900_000 };
/** Share of a mark or a step by which decimal steps may be off in binary. */
const ROUNDING = 1e-9;

/**
 * The rules of all tags; a filter's own minutes have its limit for a mark, as overuse begins there. `offsets`: minutes by
 * which a filter's usage exceeds what its counter shows, as after a change that the PLC knows nothing of.
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
 * Which samples of a poll go to the log: the first of a tag; another quality, text or boolean; a number further than the
 * deadband from the one LAST LOGGED (so slow drift can't hide); one that reaches its mark; a counter or an uptime that fell; a heartbeat that is due. Never a non-finite number: it
 * comes out as null, bad, "nan". The state remembers what was let through.
 */
export function filterChanges(state: FilterState, poll: PolledSamples, tags: Readonly<Record<TagName, LogRule>>) {
  const changes: Sample[] = [];
  for (const told of poll.samples) {
    const sample = withoutNonFinite(told);
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

/** Less than a step of a counter is a meter's rounding. */
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

/** When each tag that shows something odd was last told of, in this boot. */
type OddState = ReadonlyMap<TagName, Milliseconds>;

export const NOTHING_ODD: OddState = new Map();

/** What only acquisition sees, by the reason of the bad sample: the check that it is evidence for, and why. */
const CHECKS: Readonly<Record<string, readonly [check: string, detail: string]>> = {
  sentinel: ["sentinel", say("incident.sentinel")],
  nan: ["sentinel", say("incident.nan")],
  inf: ["sentinel", say("incident.inf")],
  not_bcd: ["sentinel", say("incident.not_bcd")],
  below_min: ["between", say("incident.below_min")],
  above_max: ["between", say("incident.above_max")],
  all_zero: ["all_zero", say("incident.all_zero")],
  torn: ["torn", say("incident.torn")],
};

/** An incident is resolved when nothing was heard of it for 10 min; while it lasts it is told of twice in that time. */
const TELL_AGAIN_MS = 300_000;

/** The events of one poll, once when something begins and then every 5 min while it lasts. */
export function oddEvents(state: OddState, poll: PolledSamples) {
  if (state.size === 0 && poll.samples.every(({ reason }) => reason === undefined)) return { state, events: [] };
  const next = new Map(state);
  const events = poll.samples.flatMap(({ tag, reason }) => {
    const check = reason === undefined || !Object.hasOwn(CHECKS, reason) ? undefined : CHECKS[reason];
    const told = state.get(tag);
    if (check === undefined) {
      next.delete(tag);
      return [];
    }
    if (told !== undefined && poll.mono - told < TELL_AGAIN_MS) return [];
    next.set(tag, poll.mono);
    return [{ event: check[0], detail: check[1], tag }];
  });
  return { state: events.length === 0 && next.size === state.size ? state : next, events };
}

/**
 * What acquisition looks at twice before it believes it: counters of several registers that fell or ran (a PLC may
 * change the one half between the reading of the two), and blocks that are suddenly all zero (some servers zero their
 * registers when they lose their own link).
 */

interface Seen {
  value: number;
  mono: Milliseconds;
}

/** What was believed so far; outlives a connection. By tag, not by block: read with others it stands in another one. */
export interface Believed {
  /** Written on in place, as each poll changes all of it. */
  readonly counts: Map<TagName, Seen>;
  /** Tags whose registers held anything but zeros when they were believed last. */
  readonly lively: ReadonlySet<TagName>;
  /** For how many polls a tag's zeros have been held, as long as it shows nothing else. */
  readonly held: ReadonlyMap<TagName, number>;
}

export function nothingBelieved(): Believed {
  return { counts: new Map(), lively: new Set(), held: new Map() };
}

/** Slack on the fastest plausible growth, as in derivation. */
const RATE_SLACK = 1.5;
/** All-zero frames are held for so many polls. */
const HELD_POLLS = 2;
/** A shorter block may be all zero in a booth that is off. */
const LEAST_REGISTERS = 8;
/** Burner size isn't known to a driver: a gas counter without a max_rate_per_h is watched for falls only. */
const NO_PARAMETERS = {} as Parameters;

const NOTHING: ReadonlySet<TagName> = new Set();

/** Tags with a counter, by name. */
type Counters = ReadonlyMap<TagName, TagParameters>;

/** Of one poll's samples those counters that fell or exceeded their rate since they were last believed. */
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

/** Whether a counter can have got from one value to the other. */
function follows(tag: TagParameters, before: Seen, now: Seen): boolean {
  const step = tag.counter?.step ?? 0;
  const rate = maxRateOf(tag, NO_PARAMETERS);
  const hours = Math.max(0, now.mono - before.mono) / HOUR_MS;
  const room = rate === undefined ? Infinity : step + rate * hours * RATE_SLACK;
  const delta = now.value - before.value;
  return delta >= 0 && delta <= room + step * 1e-6;
}

/**
 * A suspect counter is taken only if the second read of the same poll agrees with the first (it may have counted on).
 * @param second what the second read gave for each suspect
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

/** Remembers the counters that were believed. */
export function believe({ counts }: Believed, { mono, samples }: PolledSamples, counters: Counters): void {
  if (counters.size === 0) return;
  for (const { tag, value } of samples) {
    if (typeof value !== "number" || !counters.has(tag)) continue;
    const seen = counts.get(tag);
    if (seen === undefined) counts.set(tag, { value, mono });
    else Object.assign(seen, { value, mono });
  }
}

/** Registers as they were read together, and whose they are. */
interface ReadBlock {
  readonly address: number;
  readonly words: readonly number[];
  readonly tags: readonly Pick<ModbusTag, "name" | "point">[];
}

/**
 * Tags that stand in a block which is all zero though it held something of them before, and are to be held; `restarted`: zeros are to
 * be expected.
 */
export function zerosToHold(believed: Believed, blocks: readonly ReadBlock[], restarted: boolean) {
  const held = new Set<TagName>();
  let { lively, held: since } = believed;
  for (const block of blocks) {
    const { words, tags } = block;
    const isZero = words.length >= LEAST_REGISTERS && words.every((word) => word === 0) && !restarted;
    const doubted = isZero ? tags.filter(({ name }) => (since.get(name) ?? 0) < HELD_POLLS) : [];
    if (doubted.some(({ name }) => lively.has(name))) {
      since = new Map([...since, ...doubted.map(({ name }) => [name, (since.get(name) ?? 0) + 1] as const)]);
      for (const { name } of doubted) held.add(name);
      continue;
    }
    if (!isZero && since.size > 0)
      since = new Map([...since].filter(([held]) => !tags.some(({ name }) => name === held)));
    if (tags.some((tag) => lively.has(tag.name) !== isLively(tag, block))) lively = livelyAfter(lively, block);
  }
  return { believed: { ...believed, lively, held: since }, held };
}

function livelyAfter(before: ReadonlySet<TagName>, block: ReadBlock): ReadonlySet<TagName> {
  const now = new Set(before);
  for (const tag of block.tags) {
    if (isLively(tag, block)) now.add(tag.name);
    else now.delete(tag.name);
  }
  return now;
}

function isLively({ point }: ReadBlock["tags"][number], { address, words }: ReadBlock): boolean {
  const from = point.address - address;
  const end = from + pointWidth(point);
  for (let at = from; at < end; at += 1) if (words[at] !== 0) return true;
  return false;
}
