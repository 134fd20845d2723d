import type { FilterType } from "../types/booth.ts";
import { FILTER_TYPES } from "../types/booth.ts";
import type { Parameters } from "../types/parameters.ts";
import type { Maintenance } from "../types/record.ts";
import type { EpochMs } from "../types/units.ts";
import { addCycleEnd } from "./hours.ts";
import { rememberEnd } from "./recent.ts";
import type { FilterState, Installation } from "./installation.ts";
import type { BayState, DeriveState, Fold, Slice } from "./state.ts";
import { stamp } from "./state.ts";
import {
  changeLimits,
  isOverLimit,
  newInstallation,
  overuseMs,
  overuseSince,
  runningEpisode,
  startOveruse,
  takeOff,
  usedMinutes,
  useFilter,
} from "./usage.ts";

import { withAndWithout } from "./without-entry.ts";

const MINUTE_MS = 60_000;

/** Brings the fitted filters in line with the parameters. What was there at first contact has an unknown history. */
export function fitFilters(fold: Fold, parameters: Parameters): void {
  const { state } = fold;
  for (const type of FILTER_TYPES) {
    const fitted = parameters.filters[type];
    const filter = state.filters[type];
    if (fitted === undefined) {
      // eslint-disable-next-line @typescript-eslint/no-dynamic-delete -- a type that isn't fitted is absent, not empty
      delete state.filters[type];
    } else if (filter === undefined) {
      const current = newInstallation(state.clock.now, "assumed", { limits: fitted.limits, flagged: true });
      state.filters[type] = {
        current,
        former: null,
        reported: false,
        last_reset: null,
        awaits_fall: false,
        entry: null,
        without_entry: null,
      };
      pushService(fold, type, { installation: current, maintenance: null });
    } else {
      for (const { current } of withAndWithout(filter)) changeLimits(current, fitted.limits, state.clock.now);
    }
  }
}

/** Settled time, for every filter that was in. */
export function useFilters(fold: Fold, slice: Slice, in_use: boolean): void {
  for (const { current, former, reported } of filtersOf(fold.state)) {
    if (former !== null && !reported) {
      useFilter(former, slice, in_use);
      if (in_use) takeOff(former, slice);
    }
    useFilter(current, slice, in_use);
  }
}

/** A counted cycle ended. It counts for the filter that was in at its end. */
export function countCycle(fold: Fold, end: EpochMs): void {
  rememberEnd(fold.state, end);
  addCycleEnd(fold.state, end);
  fold.state.checks.cycles += 1;
  for (const { current, former, reported } of filtersOf(fold.state)) {
    if (end > current.installed_at) addCycle(current, end);
    else if (former !== null && !reported) addCycle(former, end);
  }
}

/** A counted cycle that ended while the filter was in. */
export function addCycle(filter: Installation, end: EpochMs): void {
  filter.cycles += 1;
  const episode = runningEpisode(filter);
  if (episode !== null && episode.since < end) filter.overuse_cycles += 1;
  if (isOverLimit(filter, end)) startOveruse(filter, end);
}

/** Takes a change in: `next` replaces the filter that is in. The old one's record follows once it is complete. */
export function replaceFilter(fold: Fold, type: FilterType, next: Installation): void {
  const filter = fold.state.filters[type];
  if (filter === undefined) return;
  if (filter.former !== null && !filter.reported) reportRemoval(fold, type, filter);
  filter.former = filter.current;
  filter.former.removed_at = next.installed_at;
  filter.current = next;
  filter.reported = false;
}

/**
 * Writes the records of removed filters whose figures can't change any more: all time up to the removal is settled,
 * and no cycle can still turn out to have ended before it.
 */
export function reportRemovals(fold: Fold): void {
  for (const type of FILTER_TYPES) {
    const filter = fold.state.filters[type];
    const { removed_at = null, counted_until = 0 } = filter?.former ?? {};
    if (filter === undefined || removed_at === null || filter.reported) continue;
    const isFinal = (horizon: EpochMs): boolean => horizon > removed_at && horizon >= counted_until;
    if (fold.state.bays.every((bay) => isFinal(horizonOf(bay)))) reportRemoval(fold, type, filter);
  }
}

/** Before this instant neither time nor cycles of the bay can change. */
function horizonOf({ open, settled, cycle, run }: BayState): EpochMs {
  if (open === null) return Infinity;
  return cycle === null ? settled : Math.min(settled, run?.pause?.since ?? settled);
}

function reportRemoval(fold: Fold, type: FilterType, filter: FilterState): void {
  filter.reported = true;
  if (filter.former === null) return;
  pushService(fold, type, { installation: filter.current, maintenance: maintenanceOf(type, filter.former) });
}

/** Writes that a filter went in, with the record of the one that came out. */
export function pushService(
  fold: Fold,
  filter: FilterType,
  { installation, maintenance }: { installation: Installation; maintenance: Maintenance | null },
): void {
  const { source, installed_at, flagged } = installation;
  const value = { filter, source, installed_at, flagged, maintenance };
  const former = maintenance === null ? null : (fold.state.filters[filter]?.former ?? null);
  const unsure = flagged || former?.overuse.at(-1)?.flagged === true;
  fold.facts.push({ kind: "f", ...stamp(fold), value, quality: unsure ? "uncertain" : "good" });
}

function maintenanceOf(filter_type: FilterType, filter: Installation): Maintenance | null {
  const { installed_at, removed_at, limits, spray_ms, cycles } = filter;
  const minutes = usedMinutes(filter);
  if (removed_at === null) return null;
  const since = overuseSince(filter);
  return {
    filter_type,
    installed_at,
    removed_at,
    duration_ms: removed_at - installed_at,
    overuse_ms: overuseMs(filter, removed_at),
    overuse_since: since,
    active_spray_ms: spray_ms,
    booth_in_use_ms: minutes === null ? filter.in_use_ms : Math.round(minutes * MINUTE_MS),
    booth_overuse_cycles: filter.overuse_cycles,
    booth_overuse_ms: filter.overuse_in_use_ms,
    cycles,
    limits,
    service: since !== null && since < removed_at ? "late" : "on_time",
  };
}

function filtersOf(state: DeriveState): FilterState[] {
  return FILTER_TYPES.flatMap((type) => withAndWithout(state.filters[type]));
}
