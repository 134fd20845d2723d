import { FILTER_TYPES, type FilterType } from "../domain/booth.ts";
import { overlapOf, united, type Interval } from "../domain/time-zone.ts";
import type { Window } from "../store/port.ts";
import { removalsOf } from "./filters.ts";
import { countedWithin } from "./cycles.ts";
import { timeIn } from "./rules.ts";
import { stateOf, timeLineOf, type Source } from "./source.ts";

/** The booth's overuse: the union over its filters. */
export function overuse(source: Source, window: Window) {
  const line = timeLineOf(source, window);
  const episodes = episodesIn(source, line.window);
  const union = united(episodes);
  // What was counted at the very instant at which overuse began wasn't in it, at the very removal it was.
  const after = union.map(({ start, end }) => ({
    start: Math.max(start + 1, line.window.start),
    end: Math.min(end + 1, line.window.end),
  }));
  const spans = after.filter(({ start, end }) => start < end);
  const counted = countedWithin(source, line, spans);
  return {
    /** In-use time with one or more filters in overuse: each minute once. */
    overuse_ms: overlapOf(timeIn(line, "in_use"), union),
    /** Cycles counted in such time: each once. */
    overuse_cycles: counted.cycle_count,
    cycles_source: counted.source,
    approximate: counted.approximate,
    /** Episodes that overlap the window; doesn't add up over adjacent windows. */
    overuse_count: episodes.length,
    coverage: line.coverage,
  };
}

/** Episodes of overuse that overlap the window, whole; one that runs ends now. */
export function episodesIn(source: Source, window: Window) {
  return FILTER_TYPES.flatMap((type) => episodesOf(source, type).map((episode) => ({ ...episode, type }))).filter(
    ({ start, end }) => start < window.end && end > window.start,
  );
}

function episodesOf(source: Source, type: FilterType): Interval[] {
  const filter = stateOf(source).filters[type];
  const past = removalsOf(source, type).flatMap(({ overuse_since, removed_at }) =>
    overuse_since === null ? [] : [{ start: overuse_since, end: removed_at }],
  );
  const unwritten =
    filter === undefined ? [] : [filter.current, ...(filter.reported || !filter.former ? [] : [filter.former])];
  const present = unwritten.flatMap(({ overuse: list, removed_at }) =>
    list.map(({ since, until }) => ({ start: since, end: until ?? removed_at ?? source.now_ms })),
  );
  return [...past, ...present];
}
