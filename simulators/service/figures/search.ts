import { firstAfter } from "../base/search.ts";
import type { Cover, Sample } from "./log.ts";

/** Returns the last good sample at or before an instant. */
export function goodBefore(samples: readonly Sample[], at: number): Sample | undefined {
  for (let i = firstAfter(samples, at, (sample) => sample.time) - 1; i >= 0; i -= 1)
    if (samples[i]?.good) return samples[i];
  return undefined;
}

/** Returns the first sample in [from, to], good or bad. */
export function firstWithin(samples: readonly Sample[], from: number, to: number): Sample | undefined {
  let i = firstAfter(samples, from - 1, (sample) => sample.time);
  while ((samples[i]?.time ?? Infinity) < from) i += 1;
  const first = samples[i];
  return first !== undefined && first.time <= to ? first : undefined;
}

/**
 * Returns the time between the last answered poll before the instant and the instant; undefined before the first
 * coverage.
 */
export function sinceLastPoll(covers: readonly Cover[], at: number): number | undefined {
  const index = firstAfter(covers, at, (cover) => cover.from) - 1;
  const cover = covers[index];
  if (cover === undefined) return undefined;
  if (at > cover.from && at <= cover.to) return cover.max_interval_ms;
  if (at > cover.to) return at - cover.to;
  const before = covers[index - 1];
  return before === undefined ? undefined : at - before.to;
}
