import type { EpochMs, Milliseconds, TagName } from "../domain/units.ts";
import type { BoothStage, Window } from "../store/port.ts";
import { type Source, stateOf, timeLineOf } from "./source.ts";
import { latestValuesBefore } from "./values.ts";

/** The least and the most that a tag said in one step of a trend; null: nothing good is known of it there. */
export interface TagTrend {
  readonly tag: TagName;
  readonly unit: string;
  readonly min: readonly (number | null)[];
  readonly max: readonly (number | null)[];
}

/** A value holds until the next one is logged: only what differs is. */
interface Step {
  min: number | null;
  max: number | null;
}

/** A screen has no more columns that an eye could tell apart: two days at five minutes, 25 at an hour. */
const MAX_STEPS = 600;

/**
 * How tags went over a window, in steps of `step_ms`: least and most of each, so that a peak of one second is still seen in a month.
 * A value goes on until the next reading, not over time without data. The last step is as the window, clipped to now, cuts it.
 * Throws a RangeError for more steps than a chart may have.
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
  const held = new Map<TagName, Held>();
  for (const { tag, value, quality } of latestValuesBefore(source, start, tags)) {
    if (typeof value === "number" && quality !== "bad") held.set(tag, { value, at: start });
  }
  const silent = spans.filter(({ mode }) => mode === "no_data");
  const grid = { start, step_ms, silent };
  for (const { tag, value, quality, time } of source.reader.readings(source.stream, clipped, new Set(tags))) {
    const steps = found.get(tag);
    if (steps === undefined) continue;
    hold(steps, held.get(tag), { ...grid, until: time });
    if (quality === "bad" || typeof value !== "number" || !Number.isFinite(value)) held.delete(tag);
    else {
      held.set(tag, { value, at: time });
      take(steps[Math.floor((time - start) / step_ms)], value);
    }
  }
  for (const [tag, steps] of found) hold(steps, held.get(tag), { ...grid, until: end });
  const { parameters } = stateOf(source);
  const trends = [...found].map(([tag, steps]): TagTrend => ({
    tag,
    unit: parameters?.tags[tag]?.unit ?? "",
    min: steps.map(({ min }) => min),
    max: steps.map(({ max }) => max),
  }));
  return { start, step_ms, end, trends };
}

interface Held {
  readonly value: number;
  readonly at: EpochMs;
}

interface Grid {
  readonly start: EpochMs;
  readonly step_ms: Milliseconds;
  /** Stretches without data. */
  readonly silent: readonly BoothStage[];
  readonly until: EpochMs;
}

/** The value goes into the steps that it held in, up to the first silence. */
function hold(steps: readonly Step[], held: Held | undefined, { start, step_ms, silent, until }: Grid): void {
  if (held === undefined) return;
  const gap = silent.find(({ start: from, end }) => end > held.at && from < until);
  const end = Math.min(until, gap === undefined ? until : Math.max(held.at, gap.start));
  for (let index = Math.floor((held.at - start) / step_ms); start + index * step_ms < end; index += 1) {
    take(steps[index], held.value);
  }
}

function take(step: Step | undefined, value: number): void {
  if (step === undefined) return;
  step.min = Math.min(step.min ?? value, value);
  step.max = Math.max(step.max ?? value, value);
}
