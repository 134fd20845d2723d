import { FILTER_TYPES, type FilterType } from "../../../src/domain/booth.ts";
import type { BoothState, FilterState, FilterTruth, Rules } from "./types.ts";
import { MINUTE_MS, DAY_MS } from "../../../src/domain/time.ts";

/** Two presses of a reset button within this time are one change. */
const SAME_CHANGE_MS = 600_000;
const CLEAN_PA: Readonly<Record<FilterType, number>> = { exhaust_filter: 18, pre_filter: 14, intake_filter: 22 };
/** Use of a booth in steady work: 395 in-use minutes a day, with 34 of 79 minutes spray and 79 minutes a cycle. */
const USUAL_IN_USE_MINUTES_PER_DAY = 395;

/** Returns a filter that has been used for this many minutes at the start of the story, when the integrals are 0. */
export function usedFilter(filter: FilterType, minutes: number, origin: number): FilterState {
  const in_use_ms = Math.round(minutes * MINUTE_MS);
  return {
    installed_at: origin - Math.ceil(minutes / USUAL_IN_USE_MINUTES_PER_DAY) * DAY_MS,
    in_use0_ms: -in_use_ms,
    spray0_ms: -Math.round((in_use_ms * 34) / 79),
    cycles0: -Math.floor(minutes / 79),
    counter0_ms: -in_use_ms,
    pressed_at: null,
    overuse_since: null,
    clean_pa: CLEAN_PA[filter],
  };
}

/** Returns a filter's truth at the state's instant. */
export function filterTruth(state: BoothState, filter: FilterState, removed: number | null): FilterTruth {
  return {
    installed_at: filter.installed_at,
    removed,
    minutes: (state.totals.in_use_ms - filter.in_use0_ms) / MINUTE_MS,
    spray_minutes: (state.totals.spray_ms - filter.spray0_ms) / MINUTE_MS,
    overuse_since: filter.overuse_since,
  };
}

interface Pressed {
  readonly filter: FilterState;
  /** The removed filter; null if the press belongs to the previous change. */
  readonly removed: FilterTruth | null;
}

/** Presses the reset button: the PLC's counter is set to 0 each time, but a new filter counts once per change. */
export function pressReset(state: BoothState, old: FilterState): Pressed {
  const counted: FilterState = { ...old, counter0_ms: state.totals.in_use_ms, pressed_at: state.at };
  const same = old.pressed_at !== null && state.at - old.pressed_at <= SAME_CHANGE_MS;
  if (same) return { filter: counted, removed: null };
  const fresh: FilterState = {
    ...counted,
    installed_at: state.at,
    in_use0_ms: state.totals.in_use_ms,
    spray0_ms: state.totals.spray_ms,
    cycles0: state.totals.cycles,
    overuse_since: null,
  };
  return { filter: fresh, removed: filterTruth(state, old, state.at) };
}

function reachesLimit(state: BoothState, type: FilterType, rules: Rules): number {
  const filter = state.filters[type];
  const limits = rules.limits[type];
  if (!filter || !limits || filter.overuse_since !== null) return Infinity;
  const left = (limits.minutes ?? Infinity) * MINUTE_MS - (state.totals.in_use_ms - filter.in_use0_ms);
  const inUse = rules.mode_sets.in_use.includes(state.mode);
  const byMinutes = left <= 0 ? state.at : inUse ? state.at + left : Infinity;
  const byDays = filter.installed_at + (limits.days ?? Infinity) * DAY_MS;
  const byCycles = state.totals.cycles - filter.cycles0 >= (limits.cycles ?? Infinity) ? state.at : Infinity;
  return Math.ceil(Math.max(state.at, Math.min(byMinutes, byDays, byCycles)));
}

/**
 * Returns the next instant at which a filter reaches a limit of minutes, days or cycles if the mode lasts. The pressure
 * limit is ignored, because the minutes of a simulated filter end before its pressure limit.
 */
export function nextOveruse(
  state: BoothState,
  rules: Rules,
): { readonly at: number; readonly filter: FilterType | null } {
  let next: { readonly at: number; readonly filter: FilterType | null } = { at: Infinity, filter: null };
  for (const filter of FILTER_TYPES) {
    const at = reachesLimit(state, filter, rules);
    if (at < next.at) next = { at, filter };
  }
  return next;
}
