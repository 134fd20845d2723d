import type { FilterType, Quality, TagValue } from "../../domain/booth.ts";
import { unitsPerHour } from "../../domain/counter-rates.ts";
import type { Parameters, TagParameters } from "../../domain/parameters.ts";
import type { Sample } from "../../domain/sample.ts";
import type { Milliseconds, TagName } from "../../domain/units.ts";

interface Logged {
  readonly value: TagValue;
  readonly quality: Quality;
  readonly mono: Milliseconds;
}

/** What was last logged of each tag in this boot. Start with, and after a gap go back to, `EMPTY_FILTER`. */
export type FilterState = ReadonlyMap<TagName, Logged>;

/** Nothing logged yet: the next sample of every tag is let through once. */
export const EMPTY_FILTER: FilterState = new Map();

/** When a tag's sample goes to the log. Of an uptime any fall does, of a counter one by a step: only a restart or a reset makes them fall. */
export type LogRule = Pick<TagParameters, "deadband" | "deadband_percent" | "heartbeat_ms" | "role" | "counter"> & {
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
export function logRules(
  { tags, filters }: Pick<Parameters, "tags" | "filters">,
  offsets: CounterOffsets = {},
): Readonly<Record<TagName, LogRule>> {
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
 * comes out as null, bad, "nan". The state is a new map only where something was let through.
 */
export function filterChanges(
  state: FilterState,
  poll: PolledSamples,
  tags: Readonly<Record<TagName, LogRule>>,
): { readonly state: FilterState; readonly changes: readonly Sample[] } {
  const changes = poll.samples.map(withoutNonFinite).filter((sample) => {
    const last = state.get(sample.tag);
    const parameters = Object.hasOwn(tags, sample.tag) ? (tags[sample.tag] ?? DEFAULTS) : DEFAULTS;
    return last === undefined || isDue(last, poll.mono, parameters) || isChange(last, sample, parameters);
  });
  if (changes.length === 0) return { state, changes };
  const next = new Map(state);
  for (const { tag, value, quality } of changes) next.set(tag, { value, quality, mono: poll.mono });
  return { state: next, changes };
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
