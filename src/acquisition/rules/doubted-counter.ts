import { maxRateOf } from "../../domain/counter-rates.ts";
import type { Parameters, TagParameters } from "../../domain/parameters.ts";
import type { Sample } from "../../domain/sample.ts";
import type { Milliseconds, TagName } from "../../domain/units.ts";

/**
 * What acquisition looks at twice before it believes it: counters of several registers that fell or ran (a PLC may
 * change the one half between the reading of the two), and blocks that are suddenly all zero (some servers zero their
 * registers when they lose their own link).
 */

interface Seen {
  readonly value: number;
  readonly mono: Milliseconds;
}

/** What was believed so far; outlives a connection. */
export interface DoubtedCounter {
  readonly counts: ReadonlyMap<TagName, Seen>;
  /** By block: whether it held anything else, and for how many polls its zeros have been held. */
  readonly blocks: ReadonlyMap<string, { readonly lively: boolean; readonly held: number }>;
}

export const NO_WITNESS: DoubtedCounter = { counts: new Map(), blocks: new Map() };

/** Slack on the fastest plausible growth, as in derivation. */
const RATE_SLACK = 1.5;
const HOUR_MS = 3_600_000;
/** All-zero frames are held for so many polls. */
const HELD_POLLS = 2;
/** A shorter block may be all zero in a booth that is off. */
const LEAST_REGISTERS = 8;
/** Burner size isn't known to a driver: a gas counter without a max_rate_per_h is watched for falls only. */
const NO_PARAMETERS = {} as Parameters;

const NOTHING: ReadonlySet<TagName> = new Set();

type CountTag = TagParameters & { readonly name: TagName };

/** Of one poll's samples those counters, of the given tags, that fell or exceeded their rate since they were last believed. */
export function suspects(
  witness: DoubtedCounter,
  poll: { readonly mono: Milliseconds; readonly samples: readonly Sample[] },
  tags: readonly CountTag[],
): ReadonlySet<TagName> {
  const byName = new Map(tags.filter(({ counter }) => counter !== undefined).map((tag) => [tag.name, tag]));
  if (byName.size === 0) return NOTHING;
  const odd = poll.samples.filter(({ tag, value }) => {
    const counted = byName.get(tag);
    const before = witness.counts.get(tag);
    if (counted === undefined || before === undefined || typeof value !== "number") return false;
    return !follows(counted, before, { value, mono: poll.mono });
  });
  return new Set(odd.map(({ tag }) => tag));
}

/** Whether a counter can have got from one value to the other. */
function follows(tag: CountTag, before: Seen, now: Seen): boolean {
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
  second: { readonly mono: Milliseconds; readonly samples: readonly Sample[]; readonly first_mono: Milliseconds },
  tags: readonly CountTag[],
): readonly Sample[] {
  const again = new Map(second.samples.map((sample) => [sample.tag, sample]));
  return first.map((sample) => {
    const repeated = again.get(sample.tag);
    const tag = tags.find(({ name }) => name === sample.tag);
    if (repeated === undefined || tag === undefined) return sample;
    const [a, b] = [sample.value, repeated.value];
    const agrees =
      typeof a === "number" &&
      typeof b === "number" &&
      follows(tag, { value: a, mono: second.first_mono }, { value: b, mono: second.mono });
    return agrees ? repeated : { tag: sample.tag, value: null, quality: "bad", reason: "torn" };
  });
}

/** Remembers the counters that were believed. */
export function believe(
  witness: DoubtedCounter,
  poll: { readonly mono: Milliseconds; readonly samples: readonly Sample[] },
  tags: readonly CountTag[],
): DoubtedCounter {
  const names = new Set(tags.filter(({ counter }) => counter !== undefined).map(({ name }) => name));
  if (names.size === 0) return witness;
  const counts = new Map(witness.counts);
  for (const { tag, value } of poll.samples) {
    if (names.has(tag) && typeof value === "number") counts.set(tag, { value, mono: poll.mono });
  }
  return { ...witness, counts };
}

export interface ZeroCheck {
  /** Names the block from poll to poll. */
  readonly key: string;
  readonly words: readonly number[];
}

/** Which blocks of a poll are all zero after they weren't, and to be held; `restarted`: zeros are to be expected. */
export function zerosToHold(
  witness: DoubtedCounter,
  blocks: readonly ZeroCheck[],
  restarted: boolean,
): { readonly witness: DoubtedCounter; readonly held: ReadonlySet<string> } {
  const known = new Map(witness.blocks);
  const held = new Set<string>();
  for (const { key, words } of blocks) {
    const before = known.get(key) ?? { lively: false, held: 0 };
    const isZero = words.length >= LEAST_REGISTERS && words.every((word) => word === 0);
    const isHeld = isZero && before.lively && !restarted && before.held < HELD_POLLS;
    if (isHeld) held.add(key);
    known.set(key, isHeld ? { lively: true, held: before.held + 1 } : { lively: !isZero, held: 0 });
  }
  return { witness: { ...witness, blocks: known }, held };
}
