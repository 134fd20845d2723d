import type { EpochMs, Milliseconds, TagName } from "../domain/units.ts";
import type { BoothStage, Window } from "../store/port.ts";
import { type Source, stateOf, timeLineOf } from "./source.ts";
import { latestValuesBefore } from "./values.ts";

/** Minimum and maximum of a tag in a time step; null: no good value is known in it. */
interface Step {
  min: number | null;
  max: number | null;
}

/** Maximum number of steps in one chart: two days at five minutes, 25 days at an hour. More can't be distinguished on a screen. */
const MAX_STEPS = 600;

/**
 * Returns the minimum and maximum of tags in steps of `step_ms`, so that a peak of one second is visible in a month. A value is valid until
 * the next reading, because only changes are logged, but not during time without data. The last step may be shorter. Throws a RangeError if
 * there are too many steps.
 */
export function trend(
  source: Source,
  window: Window,
  { tags, step_ms }: { readonly tags: readonly TagName[]; readonly step_ms: Milliseconds },
) {
  const { window: clipped, spans } = timeLineOf(source, window);
  const { start, end } = clipped;
  const count = Math.ceil((end - start) / step_ms);
  if (count > MAX_STEPS)
    throw new RangeError(`too many steps in the window: at most ${MAX_STEPS}; take a longer interval`);
  const found = new Map(
    tags.map((tag) => [tag, Array.from({ length: count }, (): Step => ({ min: null, max: null }))]),
  );
  const valid = new Map<TagName, Valid>();
  for (const { tag, value, quality } of latestValuesBefore(source, start, tags)) {
    if (typeof value === "number" && quality !== "bad") valid.set(tag, { value, at: start });
  }
  const silent = spans.filter(({ mode }) => mode === "no_data");
  const grid = { start, step_ms, silent };
  for (const { tag, value, quality, time } of source.reader.readings(source.stream, clipped, new Set(tags))) {
    const steps = found.get(tag);
    if (steps === undefined) continue;
    addToSteps(steps, valid.get(tag), { ...grid, until: time });
    if (quality === "bad" || typeof value !== "number" || !Number.isFinite(value)) valid.delete(tag);
    else {
      valid.set(tag, { value, at: time });
      extend(steps[Math.floor((time - start) / step_ms)], value);
    }
  }
  for (const [tag, steps] of found) addToSteps(steps, valid.get(tag), { ...grid, until: end });
  const { parameters } = stateOf(source);
  const trends = [...found].map(([tag, steps]) => ({
    tag,
    unit: parameters?.tags[tag]?.unit ?? "",
    min: steps.map(({ min }) => min),
    max: steps.map(({ max }) => max),
  }));
  return { start, step_ms, end, tags: trends };
}

interface Valid {
  readonly value: number;
  readonly at: EpochMs;
}

interface Grid {
  readonly start: EpochMs;
  readonly step_ms: Milliseconds;
  /** Spans without data, in which no value is valid. */
  readonly silent: readonly BoothStage[];
  readonly until: EpochMs;
}

/** Adds a value to the steps in which it is valid, up to the first span without data. */
function addToSteps(steps: readonly Step[], value: Valid | undefined, { start, step_ms, silent, until }: Grid): void {
  if (value === undefined) return;
  const gap = silent.find(({ start: from, end }) => end > value.at && from < until);
  const end = Math.min(until, Math.max(value.at, gap?.start ?? until));
  for (let index = Math.floor((value.at - start) / step_ms); start + index * step_ms < end; index += 1) {
    extend(steps[index], value.value);
  }
}

function extend(step: Step | undefined, value: number): void {
  if (step === undefined) return;
  step.min = Math.min(step.min ?? value, value);
  step.max = Math.max(step.max ?? value, value);
}
