import { usedMinutes } from "../derivation/filters/installation.ts";
import { overuseMs, runningEpisode } from "../derivation/filters/overuse.ts";
import type { Installation } from "../derivation/state.ts";
import { FILTER_TYPES, type FilterLimits, type FilterType } from "../domain/booth.ts";
import { type FilterService, KIND, type Maintenance, type Stored } from "../domain/record.ts";
import { DAY_MS, MINUTE_MS } from "../domain/time.ts";
import type { EpochMs, Milliseconds } from "../domain/units.ts";
import type { Window } from "../store/port.ts";
import { msIn } from "./rules.ts";
import { type Source, stateOf, timeLineOf } from "./source.ts";

/** Share of the estimated life after which maintenance is planned. */
const NOMINAL_SHARE = 0.8;

/** Time since installation before which a filter gets no estimate. */
const ESTIMATE_AFTER_MS = 7 * DAY_MS;

/** Returns the use of a filter. Numbers are null if they are unknown, or if the filter has no limit in minutes. */
export function usageOf(filter: Installation) {
  const minutes = usedMinutes(filter);
  const limit_minutes = filter.limits.minutes ?? null;
  const percent = minutes === null || !limit_minutes ? null : (minutes / limit_minutes) * 100;
  const overuse_since = runningEpisode(filter)?.since ?? null;
  return { minutes, limit_minutes, percent, overuse_since, assumed: filter.source === "assumed" };
}

/** A removed filter. `assumed`: it was already in at first contact, so the PLC's count of its use may cover more time than its days. */
export interface Removal extends Maintenance {
  readonly assumed: boolean;
}

/** Returns the maintenance records of the window, by time of removal. Omits records that a later record corrects. */
export function filterMaintenanceHistory(source: Source, window: Window): Removal[] {
  return FILTER_TYPES.flatMap((type) => removalsOf(source, type))
    .filter(({ removed_at }) => removed_at >= window.start && removed_at < Math.min(window.end, source.now_ms))
    .sort((a, b) => a.removed_at - b.removed_at);
}

interface Maintained {
  readonly type: FilterType;
  readonly installed_at: EpochMs;
  readonly removed_at: EpochMs | null;
  readonly used_minutes: number | null;
  readonly limits: FilterLimits;
  readonly overuse_since: EpochMs | null;
  readonly overuse_ms: Milliseconds;
}

/** Returns the filter installations that overlap the window, with their estimated lives, by type and age. */
export function filterMaintenances(source: Source, window: Window) {
  const state = stateOf(source);
  return FILTER_TYPES.flatMap((type) => {
    const current = state.filters[type]?.current;
    if (current === undefined) return [];
    const past = removalsOf(source, type).map(({ assumed, ...record }) => {
      const { installed_at, removed_at, limits, overuse_since, overuse_ms } = record;
      const used_minutes = record.booth_in_use_ms / MINUTE_MS;
      const one = { type, installed_at, removed_at, used_minutes, limits, overuse_since, overuse_ms };
      return withEstimate(source, one, assumed);
    });
    const { installed_at, limits } = current;
    const { minutes, overuse_since, assumed } = usageOf(current);
    const overuse_ms = overuseMs(current, source.now_ms);
    const present = { type, installed_at, removed_at: null, used_minutes: minutes, limits, overuse_since, overuse_ms };
    return [...past, withEstimate(source, present, assumed)].filter(
      (one) => one.installed_at < window.end && (one.removed_at ?? Infinity) > window.start,
    );
  });
}

/**
 * Adds the estimated life in days: from the average daily use since installation, or from the age limit if that is earlier. It is null in
 * the first week, or without either limit. For a filter that was in at first contact, the booth's own time in use counts. The PLC's count
 * would cover more time than the days since then.
 */
function withEstimate(source: Source, one: Maintained, assumed: boolean) {
  const { installed_at, used_minutes, limits } = one;
  const end = one.removed_at ?? source.now_ms;
  const age_ms = Math.max(0, end - installed_at);
  const minutes =
    used_minutes !== null && assumed
      ? msIn(timeLineOf(source, { start: installed_at, end }), "in_use") / MINUTE_MS
      : used_minutes;
  const days_by_use =
    limits.minutes === undefined || minutes === null || minutes <= 0
      ? Infinity
      : ((limits.minutes / minutes) * age_ms) / DAY_MS;
  const days = Math.min(days_by_use, limits.days ?? Infinity);
  if (age_ms < ESTIMATE_AFTER_MS || !Number.isFinite(days)) {
    return { ...one, estimated_days: null, nominal_days: null, maintenance_days: null };
  }
  const nominal_days = days * NOMINAL_SHARE;
  return { ...one, estimated_days: days, nominal_days, maintenance_days: days - nominal_days };
}

/** Returns the maintenance records of the removed filters of one type, oldest first. */
export function removalsOf(source: Source, type: FilterType): Removal[] {
  const changes = changesOf(source, type).map(({ value }) => value);
  const assumed = changes.filter((change) => change.source === "assumed").map(({ installed_at }) => installed_at);
  return changes.flatMap(({ maintenance }) =>
    maintenance ? [{ ...maintenance, assumed: assumed.includes(maintenance.installed_at) }] : [],
  );
}

/**
 * Returns the valid changes of one filter type, oldest first. A later record corrects earlier ones. It names the filter that was removed,
 * or that is in again after an undo. All filters recorded as installed after that filter are then invalid.
 */
export function changesOf({ reader, stream, now_ms }: Source, type: FilterType): Stored<FilterService>[] {
  const recorded = reader
    .facts(stream, KIND.filter, { start: 0, end: now_ms + 1 })
    .filter(({ value }) => value.filter === type && value.maintenance !== undefined)
    .sort((a, b) => a.seq - b.seq);
  const valid: Stored<FilterService>[] = [];
  for (const change of recorded) {
    const { installed_at, source, maintenance } = change.value;
    // Drops the changes that this change replaces: those after the previous filter's installation. A filter that was in at first contact
    // has no predecessor.
    const before = source === "assumed" ? 0 : (maintenance?.installed_at ?? installed_at);
    while ((valid.at(-1)?.value.installed_at ?? 0) > before) valid.pop();
    // Adds the change unless it is present already. After an undo, the change that installed the present filter is still valid.
    if (valid.at(-1)?.value.installed_at !== installed_at) valid.push(change);
  }
  return valid;
}
