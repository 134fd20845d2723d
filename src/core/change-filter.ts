import type { Quality, TagValue } from "./types/booth.ts";
import type { TagParameters } from "./types/parameters.ts";
import type { Sample } from "./types/sample.ts";
import type { Milliseconds, TagName } from "./types/units.ts";

interface Logged {
  readonly value: TagValue;
  readonly quality: Quality;
  readonly mono: Milliseconds;
}

/** What was last logged of each tag in this boot. Start with, and after a gap go back to, `EMPTY_FILTER`. */
export type FilterState = ReadonlyMap<TagName, Logged>;

/** Nothing logged yet: the next sample of every tag is let through once. */
export const EMPTY_FILTER: FilterState = new Map();

type FilterParameters = Pick<TagParameters, "deadband" | "heartbeat_ms">;

/** For a tag without parameters: every change, and one record in a quarter of an hour. */
const DEFAULTS: FilterParameters = { deadband: 0, heartbeat_ms: 900_000 };

export interface PolledSamples {
  readonly mono: Milliseconds;
  readonly samples: readonly Sample[];
}

/**
 * Which samples of a poll go to the log: the first of a tag; another quality, text or boolean; a number further than the
 * deadband from the one LAST LOGGED (so slow drift can't hide); a heartbeat that is due. Never a non-finite number: it
 * comes out as null, bad, "nan". The state is a new map only where something was let through.
 */
export function filterChanges(
  state: FilterState,
  poll: PolledSamples,
  tags: Readonly<Record<TagName, FilterParameters>>,
): { readonly state: FilterState; readonly changes: readonly Sample[] } {
  const changes = poll.samples.map(withoutNonFinite).filter((sample) => {
    const last = state.get(sample.tag);
    const parameters = Object.hasOwn(tags, sample.tag) ? (tags[sample.tag] ?? DEFAULTS) : DEFAULTS;
    return last === undefined || isDue(last, poll.mono, parameters) || isChange(last, sample, parameters.deadband);
  });
  if (changes.length === 0) return { state, changes };
  const next = new Map(state);
  for (const { tag, value, quality } of changes) next.set(tag, { value, quality, mono: poll.mono });
  return { state: next, changes };
}

function isDue(last: Logged, mono: Milliseconds, parameters: FilterParameters): boolean {
  return mono - last.mono >= parameters.heartbeat_ms;
}

function isChange(last: Logged, sample: Sample, deadband: number): boolean {
  if (sample.quality !== last.quality) return true;
  if (typeof sample.value !== "number" || typeof last.value !== "number") return sample.value !== last.value;
  return Math.abs(sample.value - last.value) > deadband;
}

function withoutNonFinite(sample: Sample): Sample {
  if (typeof sample.value !== "number" || Number.isFinite(sample.value)) return sample;
  return { tag: sample.tag, value: null, quality: "bad", reason: "nan" };
}
