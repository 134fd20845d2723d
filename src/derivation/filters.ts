import { FILTER_TYPES, type FilterType } from "../domain/booth.ts";
import type { Parameters } from "../domain/parameters.ts";
import type { Maintenance } from "../domain/record.ts";
import type { EpochMs } from "../domain/units.ts";
import { addCycleEnd } from "./hours.ts";
import { tagWithRole } from "./roles.ts";
import { rememberEnd } from "./recent.ts";
import type { FilterState, Installation } from "./installation.ts";
import { type BayState, type DeriveState, type Fold, type Slice, stamp } from "./state.ts";
import {
  addCycles,
  changeLimits,
  isOverLimit,
  newInstallation,
  overuseMs,
  overuseSince,
  startOveruse,
  takeOff,
  useCounting,
  usedMinutes,
} from "./usage.ts";

import { withAndWithout } from "./without-entry.ts";

const MINUTE_MS = 60_000;

/** What was there at first contact is told of from the booth's first good mode reading on: until that has come, from no instant. */
const NOT_YET: EpochMs = Number.MAX_SAFE_INTEGER;

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
      const since = isSeen(state) ? state.clock.now : NOT_YET;
      const current = newInstallation(since, "assumed", { limits: fitted.limits, flagged: true });
      state.filters[type] = {
        current,
        former: null,
        reported: false,
        last_reset: null,
        awaits_fall: false,
        entry: null,
        without_entry: null,
      };
      if (since !== NOT_YET) pushService(fold, type, { installation: current, maintenance: null });
    } else {
      for (const { current } of withAndWithout(filter)) changeLimits(current, fitted.limits, state.clock.now);
    }
  }
}

/** A mode of the booth was read well at some time. */
export function isSeen({ bays, recent }: DeriveState): boolean {
  return recent.slices.length > 0 || bays.some(({ open }) => open !== null);
}

/** The booth's first good mode reading: what is in it now has been there since, as far as is known. */
export function beginFilters(fold: Fold): void {
  const { now } = fold.state.clock;
  for (const type of FILTER_TYPES) {
    const filter = fold.state.filters[type];
    for (const { current } of withAndWithout(filter)) {
      if (current.installed_at !== NOT_YET) continue;
      current.installed_at = now;
      if (isOverLimit(current, now)) startOveruse(current, now);
      if (current === filter?.current) pushService(fold, type, { installation: current, maintenance: null });
    }
  }
}

/** Settled time, for every filter that was in, with what the PLC's cycle counter showed meanwhile, where it has one. */
export function useFilters(fold: Fold, slice: Slice, in_use: boolean): void {
  const { state } = fold;
  const { increments } = state.recent;
  const counts = isCounted(state) ? increments.filter(([at]) => at >= slice.from && at < slice.to) : [];
  for (const { current, former, reported } of filtersOf(state)) {
    const { installed_at } = current;
    if (former !== null && !reported) {
      const before = counts.filter(([at]) => at <= installed_at);
      useCounting(former, { slice, in_use, counts: before });
      if (in_use) takeOff(former, slice);
    }
    useCounting(current, { slice, in_use, counts: counts.filter(([at]) => at > installed_at) });
  }
}

/** A counted cycle ended. It counts for the filter that was in at its end, unless the PLC counts. */
export function countCycle(fold: Fold, end: EpochMs): void {
  const { state } = fold;
  rememberEnd(state, end);
  addCycleEnd(state, end);
  state.checks.cycles += 1;
  if (isCounted(state)) return;
  for (const { current, former, reported } of filtersOf(state)) {
    if (end > current.installed_at) addCycles(current, [end, 1]);
    else if (former !== null && !reported) addCycles(former, [end, 1]);
  }
}

/** The PLC's cycle counter is what cycles are counted by. */
function isCounted({ parameters }: DeriveState): boolean {
  return tagWithRole(parameters, "cycle_counter") !== undefined;
}

/** Takes a change in: `next` replaces the filter that is in. The old one's record follows once it is complete. */
export function replaceFilter(fold: Fold, type: FilterType, next: Installation): void {
  const filter = fold.state.filters[type];
  if (filter === undefined) return;
  if (filter.current.source === "assumed" && next.installed_at <= filter.current.installed_at) {
    // Changed before the booth was first seen: of the one that came out nothing is known at all.
    filter.current = next;
    pushService(fold, type, { installation: next, maintenance: null });
    return;
  }
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
