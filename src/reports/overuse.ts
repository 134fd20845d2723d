import { FILTER_TYPES, type FilterType } from "../domain/booth.ts";
import { type Interval, overlapOf, united } from "../domain/time-zone.ts";
import type { Window } from "../store/port.ts";
import { countedWithin } from "./cycles.ts";
import { removalsOf } from "./filters.ts";
import { timeIn } from "./rules.ts";
import { type Source, stateOf, timeLineOf } from "./source.ts";

/** Returns the overuse of the booth: the time in which at least one filter is in overuse. */
export function overuse(source: Source, window: Window) {
  const line = timeLineOf(source, window);
  const { start: from, end: to } = line.window;
  const episodes = episodesIn(source, line.window);
  const union = united(episodes);
  // Excludes a cycle that ends exactly at the start of overuse, and includes a cycle that ends exactly at the removal.
  const spans = union
    .map(({ start, end }) => ({ start: Math.max(start + 1, from), end: Math.min(end + 1, to) }))
    .filter(({ start, end }) => start < end);
  const counted = countedWithin(source, line, spans);
  return {
    /** Time in use with at least one filter in overuse. Each minute counts once. */
    overuse_ms: overlapOf(timeIn(line, "in_use"), union),
    /** Cycles counted during overuse. Each cycle counts once. */
    overuse_cycles: counted.cycle_count,
    cycles_source: counted.source,
    approximate: counted.approximate,
    /** Number of episodes that overlap the window. An episode that crosses the border of two windows counts in both. */
    overuse_count: episodes.length,
    coverage: line.coverage,
  };
}

/** Returns the episodes of overuse that overlap the window, in full length. An episode that still lasts ends now. */
export function episodesIn(source: Source, window: Window) {
  return FILTER_TYPES.flatMap((type) => episodesOf(source, type).map((episode) => ({ ...episode, type }))).filter(
    ({ start, end }) => start < window.end && end > window.start,
  );
}

function episodesOf(source: Source, type: FilterType): Interval[] {
  const past = removalsOf(source, type).flatMap(({ overuse_since: start, removed_at: end }) =>
    start === null ? [] : [{ start, end }],
  );
  const filter = stateOf(source).filters[type];
  const unwritten = [filter?.current, filter?.reported === false ? filter.former : null];
  const present = unwritten.flatMap((installation) =>
    (installation?.overuse ?? []).map(({ since: start, until }) => {
      return { start, end: until ?? installation?.removed_at ?? source.now_ms };
    }),
  );
  return [...past, ...present];
}
