import { FILTER_TYPES, type FilterType } from "../../domain/booth.ts";
import { KIND, type Maintenance } from "../../domain/record.ts";
import { HOUR_MS, MINUTE_MS } from "../../domain/time.ts";
import type { EpochMs, Milliseconds } from "../../domain/units.ts";
import { recentMs } from "../hours.ts";
import { isIn, tagWithRole } from "../parameters.ts";
import { changeSheet } from "../sheet.ts";
import { type DeriveState, type FilterState, type Fold, type Installation, writeFact } from "../state.ts";
import { newInstallation, restoreWithoutEntry, usedMinutes, withAndWithout } from "./installation.ts";
import {
  addCycles,
  type Count,
  isOverLimit,
  overuseMs,
  runningEpisode,
  startOveruse,
  sumOf,
  subtractLaterCount,
  useCounting,
} from "./overuse.ts";
import { sharePressure } from "./pressure.ts";

/** Share of its limit below which a filter counter must fall to count as reset on purpose. */
const RESET_SHARE = 0.05;

/** Time within which two resets, or two entries, count as one change. */
export const DOUBLE_PRESS_MS: Milliseconds = 10 * MINUTE_MS;

/** Time within which a PLC reset and a person's entry count as one change. */
export const SAME_CHANGE_MS: Milliseconds = 12 * HOUR_MS;

/** A reading of the minutes that the PLC counts for a filter. */
export interface MinutesReading {
  readonly filter: FilterType;
  readonly minutes: number;
  /** Whether the counter was polled without a break since the previous reading, so that a fall happened just now. */
  readonly seen: boolean;
  /** The last earlier instant at which the counter was known. */
  readonly known_until: EpochMs;
  readonly fell: boolean;
  /** Whether the PLC lost its memory, which isn't a change of the filter. */
  readonly lost: boolean;
}

/**
 * Handles a reading of a filter's counter. A fall means a change of the filter, a loss of memory, or has no explanation. Only a change ends
 * the filter's use.
 */
export function readMinutes(fold: Fold, reading: MinutesReading): void {
  const filter = fold.state.filters[reading.filter];
  if (filter === undefined) return;
  const { now } = fold.state.clock;
  const { minutes } = reading;
  const limit = filter.current.limits.minutes;
  const wasReset = reading.fell && !reading.lost && limit !== undefined && minutes < RESET_SHARE * limit;
  const isChange = wasReset && !filter.awaits_fall && resetFilter(fold, reading.filter, changeInstant(reading, now));
  for (const account of withAndWithout(filter)) {
    const { current } = account;
    if (isChange || (wasReset && account.awaits_fall)) {
      account.awaits_fall = false;
      current.plc = { offset: 0, value: minutes };
    } else followCounter(current, reading, now);
    if (isOverLimit(current, now)) startOveruse(current, now, !reading.seen);
  }
}

function followCounter(filter: Installation, { minutes, fell }: MinutesReading, now: EpochMs): void {
  const { plc, known, in_use_ms } = filter;
  if (plc !== null) {
    filter.plc = { offset: plc.offset + (fell ? plc.value - minutes : 0), value: minutes };
    return;
  }
  // Counts all minutes on the counter for a filter that was in at first contact. Any other filter starts with the box's own time.
  filter.plc = { offset: known ? in_use_ms / MINUTE_MS - minutes : 0, value: minutes };
  if (known) filter.own_until = now;
}

type ChangeInstant = Pick<Installation, "flagged"> & { readonly at: EpochMs };

/**
 * Returns the time of a reset. If the reset was not seen, subtracts the minutes counted since then, provided that they fit into the gap.
 */
function changeInstant(reading: MinutesReading, now: EpochMs): ChangeInstant {
  if (reading.seen) return { at: now, flagged: false };
  const at = Math.round(now - reading.minutes * MINUTE_MS);
  return { at: at > reading.known_until ? at : now, flagged: true };
}

/** Handles a press of the PLC's reset button. The counter falls in this poll or a later one. */
export function pressReset(fold: Fold, type: FilterType): void {
  const filter = fold.state.filters[type];
  if (filter === undefined) return;
  // Looks in both copies of the filter. After a person's entry, possibly only the copy without the entry has a counter reading.
  const counter = withAndWithout(filter).find(({ current }) => current.plc !== null)?.current.plc;
  const isChange = resetFilter(fold, type, { at: fold.state.clock.now, flagged: false });
  if (!isChange || !counter) return;
  filter.current.plc = { offset: -counter.value, value: counter.value };
  filter.awaits_fall = true;
}

/** Replaces a filter whose change the PLC reports. Returns false if this is the same change as the last one. */
function resetFilter(fold: Fold, type: FilterType, { at, flagged }: ChangeInstant): boolean {
  const filter = fold.state.filters[type];
  if (filter === undefined) return false;
  const { now } = fold.state.clock;
  if (filter.last_reset !== null && now - filter.last_reset <= DOUBLE_PRESS_MS) return false;
  const { source, installed_at } = filter.current;
  // Replaces a person's earlier entry of the same change. The PLC's time is the right one, and the old filter was in until now.
  if (source === "technician" && at - installed_at <= SAME_CHANGE_MS) restoreWithoutEntry(filter);
  // Makes an earlier entry permanent, because undoing it must not withdraw a change that the PLC reports.
  Object.assign(filter, { last_reset: now, entry: null, without_entry: null });
  replaceFilter(fold, type, newInstallation(at, "plc_reset", { limits: filter.current.limits, flagged }));
  shareRecentUse(fold.state, filter);
  return true;
}

/** Moves the use after a backdated change from the old filter to the new one. */
export function shareRecentUse(state: DeriveState, { current, former }: FilterState): void {
  const { parameters, recent } = state;
  if (former === null || parameters === null) return;
  const at = current.installed_at;
  const inUseModes = parameters.mode_sets.in_use;
  const counts = recentCounts(state).filter(([counted_at]) => counted_at > at);
  const episode = runningEpisode(former);
  if (episode !== null) {
    const since = Math.max(at, episode.since);
    former.overuse_in_use_ms -= recentMs(state, inUseModes, since);
    former.overuse_cycles -= sumOf(counts.filter(([counted_at]) => counted_at > since));
    if (episode.since >= at) former.overuse.pop();
  }
  sharePressure(former, current);
  former.in_use_ms -= recentMs(state, inUseModes, at);
  former.spray_ms -= recentMs(state, ["spray"], at);
  former.cycles -= sumOf(counts);
  // Adds the use again step by step, because a limit may have been reached in between.
  for (const time of recent.slices) {
    const in_use = isIn(inUseModes, time.mode);
    if (in_use) subtractLaterCount(former, time);
    const inside = counts.filter(([counted_at]) => counted_at >= time.from && counted_at < time.to);
    useCounting(current, { time, in_use, counts: inside });
  }
  const settled = recent.slices.at(-1)?.to ?? 0;
  for (const count of counts) if (count[0] >= settled) addCycles(current, count);
}

/** Returns the recent cycles that count for filters. */
function recentCounts({ parameters, recent }: DeriveState): readonly Count[] {
  if (tagWithRole(parameters, "cycle_counter") === undefined) return recent.ends.map((end) => [end, 1]);
  const settled = recent.slices.at(-1)?.to ?? 0;
  return recent.increments.filter(([at]) => at < settled);
}

/** Returns the minutes by which the use of each filter exceeds its counter in the PLC. Omits filters without a difference. */
export function counterOffsets({ filters }: DeriveState): Partial<Record<FilterType, number>> {
  const offsets: Partial<Record<FilterType, number>> = {};
  for (const type of FILTER_TYPES) {
    const offset = filters[type]?.current.plc?.offset ?? 0;
    if (offset !== 0) offsets[type] = offset;
  }
  return offsets;
}

/** Installs the next filter. The record of the old filter is written once it is complete. */
export function replaceFilter(fold: Fold, type: FilterType, next: Installation): void {
  const filter = fold.state.filters[type];
  if (filter === undefined) return;
  changeSheet(fold.state, type, next.installed_at);
  const old = filter.current;
  if (old.source === "assumed" && next.installed_at <= old.installed_at) {
    // Writes no record of the removed filter, because nothing is known about it: the change was before first contact.
    filter.current = next;
    writeService(fold, type);
    return;
  }
  if (filter.former !== null && !filter.reported) reportRemoval(fold, type, filter);
  old.removed_at = next.installed_at;
  filter.former = old;
  filter.current = next;
  filter.reported = false;
}

/**
 * Writes the maintenance record of each removed filter whose figures can no longer change. All time up to the removal must be final, and no
 * cycle may still turn out to have ended before it.
 */
export function reportRemovals(fold: Fold): void {
  const { filters, bays } = fold.state;
  for (const type of FILTER_TYPES) {
    const filter = filters[type];
    const { removed_at = null, counted_until = 0 } = filter?.former ?? {};
    if (filter === undefined || removed_at === null || filter.reported) continue;
    const isFinal = bays.every(({ open, settled, cycle, run }) => {
      if (open === null) return true;
      // The instant before which the bay's times and cycles are final.
      const horizon = cycle === null ? settled : Math.min(settled, run?.pause?.since ?? settled);
      return horizon > removed_at && horizon >= counted_until;
    });
    if (isFinal) reportRemoval(fold, type, filter);
  }
}

function reportRemoval(fold: Fold, type: FilterType, filter: FilterState): void {
  filter.reported = true;
  if (filter.former !== null) writeService(fold, type, filter.former);
}

/** Writes that the present filter was installed, with the record of the removed filter if that is known. */
export function writeService(fold: Fold, type: FilterType, former: Installation | null = null): void {
  const installed = fold.state.filters[type]?.current;
  if (installed === undefined) return;
  const { source, installed_at, flagged } = installed;
  const maintenance = former === null ? null : maintenanceOf(type, former);
  const isUncertain = flagged || former?.overuse.at(-1)?.flagged === true;
  const value = { filter: type, source, installed_at, flagged, maintenance };
  writeFact(fold, { kind: KIND.filter, value, quality: isUncertain ? "uncertain" : "good" });
}

function maintenanceOf(filter_type: FilterType, filter: Installation): Maintenance | null {
  const { installed_at, removed_at, limits, spray_ms, cycles } = filter;
  if (removed_at === null) return null;
  const minutes = usedMinutes(filter);
  const overuse_since = filter.overuse.at(-1)?.since ?? null;
  return {
    filter_type,
    installed_at,
    removed_at,
    duration_ms: removed_at - installed_at,
    overuse_ms: overuseMs(filter, removed_at),
    overuse_since,
    active_spray_ms: spray_ms,
    booth_in_use_ms: minutes === null ? filter.in_use_ms : Math.round(minutes * MINUTE_MS),
    booth_overuse_cycles: filter.overuse_cycles,
    booth_overuse_ms: filter.overuse_in_use_ms,
    cycles,
    limits,
    service: overuse_since !== null && overuse_since < removed_at ? "late" : "on_time",
  };
}
