import { FILTER_TYPES, type FilterType } from "../../domain/booth.ts";
import { KIND, type Maintenance } from "../../domain/record.ts";
import type { EpochMs, Milliseconds } from "../../domain/units.ts";
import { isIn, tagWithRole } from "../parameters.ts";
import { recentMs } from "../hours.ts";
import type { EventOf } from "../timeline/events.ts";
import {
  addCycles,
  type Count,
  isOverLimit,
  runningEpisode,
  startOveruse,
  takeOff,
  useCounting,
  overuseMs,
  overuseSince,
  sumOf,
} from "./overuse.ts";
import {
  type FiltersFold,
  type FiltersState,
  type FilterState,
  type Installation,
  newInstallation,
  takeBack,
  withAndWithout,
  usedMinutes,
} from "./installation.ts";
import { sharePressure } from "./pressure.ts";
import type { BayState, DeepReadonly } from "../timeline/state.ts";
import { MINUTE_MS } from "../../domain/time.ts";

/** A filter counter that falls below this share of its limit was reset on purpose. */
const RESET_SHARE = 0.05;

/** Two resets or entries within this are one change. */
export const DOUBLE_PRESS_MS: Milliseconds = 10 * 60_000;

/** A PLC reset and a technician's entry this close are one change. */
export const SAME_CHANGE_MS: Milliseconds = 12 * 3_600_000;

/** Follows a filter's counter: a fall is a change, a loss of memory, or unexplained; then our usage goes on. */
export function readMinutes(fold: FiltersFold, reading: EventOf<"minutes">): void {
  const filter = fold.own.filters[reading.filter];
  if (filter === undefined) return;
  const { now } = fold.seen.clock;
  const { minutes } = reading;
  const limit = filter.current.limits.minutes;
  const was_reset = reading.fell && !reading.lost && limit !== undefined && minutes < RESET_SHARE * limit;
  const is_change = was_reset && !filter.awaits_fall && resetFilter(fold, reading.filter, changeInstant(reading, now));
  for (const one of withAndWithout(filter)) {
    if (is_change || (was_reset && one.awaits_fall)) {
      one.awaits_fall = false;
      one.current.plc = { offset: 0, value: minutes };
    } else followCounter(one.current, reading, now);
    if (isOverLimit(one.current, now)) startOveruse(one.current, now, !reading.seen);
  }
}

function followCounter(filter: Installation, { minutes, fell }: EventOf<"minutes">, now: EpochMs): void {
  const { plc, known, in_use_ms } = filter;
  if (plc !== null) {
    filter.plc = { offset: plc.offset + (fell ? plc.value - minutes : 0), value: minutes };
    return;
  }
  // What the PLC counted before first contact belongs to the filter that was in; a known one starts from our count.
  filter.plc = { offset: known ? in_use_ms / MINUTE_MS - minutes : 0, value: minutes };
  if (known) filter.own_until = now;
}

/** A reset that happened unseen is dated back by what the counter has counted since, where that fits the gap. */
function changeInstant(reading: EventOf<"minutes">, now: EpochMs): ChangeInstant {
  if (reading.seen) return { at: now, flagged: false };
  const at = Math.round(now - reading.minutes * MINUTE_MS);
  return { at: at > reading.known_until ? at : now, flagged: true };
}

/** The PLC's reset button was pressed; the counter may fall with this poll or a later one. */
export function pressReset(fold: FiltersFold, type: FilterType): void {
  const filter = fold.own.filters[type];
  if (filter === undefined) return;
  // After an entry the old filter's account may be the only one that the counter has been read for.
  const counter = withAndWithout(filter).find(({ current }) => current.plc !== null)?.current.plc ?? null;
  if (!resetFilter(fold, type, { at: fold.seen.clock.now, flagged: false }) || counter === null) return;
  filter.current.plc = { offset: -counter.value, value: counter.value };
  filter.awaits_fall = true;
}

interface ChangeInstant {
  readonly at: EpochMs;
  readonly flagged: boolean;
}

/** The PLC says that its filter was changed. False: it is the same change as the last one. */
function resetFilter(fold: FiltersFold, type: FilterType, { at, flagged }: ChangeInstant): boolean {
  const filter = fold.own.filters[type];
  if (filter === undefined) return false;
  const { now } = fold.seen.clock;
  if (filter.last_reset !== null && now - filter.last_reset <= DOUBLE_PRESS_MS) return false;
  const { current } = filter;
  // The entry came first: the change is dated by the PLC, so the old filter was in until now.
  if (current.source === "technician" && at - current.installed_at <= SAME_CHANGE_MS) takeBack(filter);
  filter.last_reset = now;
  // What the PLC says of a change can't be withdrawn by the entry before it.
  filter.entry = null;
  filter.without_entry = null;
  replaceFilter(fold, type, newInstallation(at, "plc_reset", { limits: filter.current.limits, flagged }));
  shareRecentUse(fold.seen, filter);
  return true;
}

/** A change dated back takes the use since then from the old filter to the new one. */
export function shareRecentUse(seen: FiltersFold["seen"], filter: FilterState): void {
  const { current, former } = filter;
  if (former === null || seen.parameters === null) return;
  const at = current.installed_at;
  const in_use = recentMs(seen, seen.parameters.mode_sets.in_use, at);
  const spray = recentMs(seen, ["spray"], at);
  const counts = recentCounts(seen).filter(([counted_at]) => counted_at > at);
  const episode = runningEpisode(former);
  if (episode !== null) {
    const since = Math.max(at, episode.since);
    former.overuse_in_use_ms -= recentMs(seen, seen.parameters.mode_sets.in_use, since);
    former.overuse_cycles -= sumOf(counts.filter(([counted_at]) => counted_at > since));
    if (episode.since >= at) former.overuse.pop();
  }
  sharePressure(former, current);
  former.in_use_ms -= in_use;
  former.spray_ms -= spray;
  former.cycles -= sumOf(counts);
  // Gone through anew, as a limit may have been reached on the way.
  for (const time of seen.recent.slices) {
    const is_used = isIn(seen.parameters.mode_sets.in_use, time.mode);
    if (is_used) takeOff(former, time);
    const inside = counts.filter(([counted_at]) => counted_at >= time.from && counted_at < time.to);
    useCounting(current, { time, in_use: is_used, counts: inside });
  }
  const settled = seen.recent.slices.at(-1)?.to ?? 0;
  for (const count of counts) if (count[0] >= settled) addCycles(current, count);
}

/** Cycles that filters were told of lately. */
function recentCounts({ parameters, recent }: FiltersFold["seen"]): readonly Count[] {
  if (tagWithRole(parameters, "cycle_counter") === undefined) return recent.ends.map((end) => [end, 1]);
  const settled = recent.slices.at(-1)?.to ?? 0;
  return recent.increments.filter(([at]) => at < settled);
}

/** Minutes by which the usage of each filter exceeds what its counter in the PLC shows; 0 is left out. */
export function counterOffsets({ filters }: FiltersState): Partial<Record<FilterType, number>> {
  const offsets: Partial<Record<FilterType, number>> = {};
  for (const type of FILTER_TYPES) {
    const offset = filters[type]?.current.plc?.offset ?? 0;
    if (offset !== 0) offsets[type] = offset;
  }
  return offsets;
}

/** Takes a change in: `next` replaces the filter that is in. The old one's record follows once it is complete. */
export function replaceFilter(fold: FiltersFold, type: FilterType, next: Installation): void {
  const filter = fold.own.filters[type];
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
export function reportRemovals(fold: FiltersFold): void {
  for (const type of FILTER_TYPES) {
    const filter = fold.own.filters[type];
    const { removed_at = null, counted_until = 0 } = filter?.former ?? {};
    if (filter === undefined || removed_at === null || filter.reported) continue;
    const isFinal = (horizon: EpochMs): boolean => horizon > removed_at && horizon >= counted_until;
    if (fold.seen.bays.every((bay) => isFinal(horizonOf(bay)))) reportRemoval(fold, type, filter);
  }
}

/** Before this instant neither time nor cycles of the bay can change. */
function horizonOf({ open, settled, cycle, run }: DeepReadonly<BayState>): EpochMs {
  if (open === null) return Infinity;
  return cycle === null ? settled : Math.min(settled, run?.pause?.since ?? settled);
}

function reportRemoval(fold: FiltersFold, type: FilterType, filter: FilterState): void {
  filter.reported = true;
  if (filter.former === null) return;
  pushService(fold, type, { installation: filter.current, maintenance: maintenanceOf(type, filter.former) });
}

/** Writes that a filter went in, with the record of the one that came out. */
export function pushService(
  fold: FiltersFold,
  filter: FilterType,
  { installation, maintenance }: { installation: Installation; maintenance: Maintenance | null },
): void {
  const { source, installed_at, flagged } = installation;
  const value = { filter, source, installed_at, flagged, maintenance };
  const former = maintenance === null ? null : (fold.own.filters[filter]?.former ?? null);
  const unsure = flagged || former?.overuse.at(-1)?.flagged === true;
  fold.fact({ kind: KIND.filter, value, quality: unsure ? "uncertain" : "good" });
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
