import { overuseMs, runningEpisode } from "../derivation/filters/overuse.ts";
import { usedMinutes } from "../derivation/filters/installation.ts";
import type { Installation } from "../derivation/state.ts";
import { FILTER_TYPES, type FilterLimits, type FilterType } from "../domain/booth.ts";
import { KIND, type FilterService, type Maintenance, type Stored } from "../domain/record.ts";
import type { EpochMs, Milliseconds } from "../domain/units.ts";
import type { Window } from "../store/port.ts";
import { msIn } from "./rules.ts";
import { stateOf, timeLineOf, type Source } from "./source.ts";
import { MINUTE_MS, DAY_MS } from "../domain/time.ts";

/** Shares of the limit: what a filter nominally lasts, and what is left for its maintenance. */
const NOMINAL_SHARE = 0.8;

/** Under a week the mean daily usage says nothing. */
const ESTIMATE_AFTER_MS = 7 * DAY_MS;

const BEGINNING: EpochMs = 0;

/** How far a filter is used; null: not known, or without a limit in minutes. */
export function usageOf(filter: Installation) {
  const minutes = usedMinutes(filter);
  const limit_minutes = filter.limits.minutes ?? null;
  const percent =
    minutes === null || limit_minutes === null || limit_minutes === 0 ? null : (minutes / limit_minutes) * 100;
  const overuse_since = runningEpisode(filter)?.since ?? null;
  return { minutes, limit_minutes, percent, overuse_since, assumed: filter.source === "assumed" };
}

/** A filter that came out. `assumed`: it was in at first contact, so a PLC's count of its use may be of a longer time than its days. */
export interface Removal extends Maintenance {
  readonly assumed: boolean;
}

/** Maintenance records of the window, by removal; a record that a later one corrects is left out. */
export function filterMaintenanceHistory(source: Source, window: Window): Removal[] {
  return FILTER_TYPES.flatMap((type) => removalsOf(source, type))
    .filter(({ removed_at }) => removed_at >= window.start && removed_at < Math.min(window.end, source.now_ms))
    .sort((a, b) => a.removed_at - b.removed_at);
}

interface FilterMaintenance {
  readonly type: FilterType;
  readonly installed_at: EpochMs;
  readonly removed_at: EpochMs | null;
  readonly used_minutes: number | null;
  readonly limits: FilterLimits;
  readonly overuse_since: EpochMs | null;
  readonly overuse_ms: Milliseconds;
  /** Age at the limit at the mean daily usage since installation, days, or the limit by age where that comes first; null under a week or without either. */
  readonly estimated_days: number | null;
  readonly nominal_days: number | null;
  readonly maintenance_days: number | null;
}

/** Installations that overlap the window, by type and age. A type that isn't fitted has none. */
export function filterMaintenances(source: Source, window: Window): FilterMaintenance[] {
  const state = stateOf(source);
  return FILTER_TYPES.flatMap((type) => {
    const current = state.filters[type]?.current;
    if (current === undefined) return [];
    const past = removalsOf(source, type).map((record) => pastInstallation(source, type, record));
    const { installed_at, limits } = current;
    const age_ms = Math.max(0, source.now_ms - installed_at);
    const { minutes, overuse_since, assumed } = usageOf(current);
    const use = { used_minutes: minutes, limits, overuse_since, overuse_ms: overuseMs(current, source.now_ms) };
    const paced = paceMinutes(source, minutes, { assumed, start: installed_at, end: source.now_ms });
    const present = { type, installed_at, removed_at: null, ...use, ...estimate(paced, limits, age_ms) };
    return [...past, present].filter(
      (one) => one.installed_at < window.end && (one.removed_at ?? Infinity) > window.start,
    );
  });
}

/**
 * Returns the minutes of use that belong to the days since installation. Of a filter that was in at first contact the PLC's count is of
 * a longer time than its days, so the booth's own time in use counts.
 */
function paceMinutes(
  source: Source,
  minutes: number | null,
  { assumed, ...life }: Window & { readonly assumed: boolean },
): number | null {
  if (minutes === null || !assumed) return minutes;
  return msIn(timeLineOf(source, life), "in_use") / MINUTE_MS;
}

function pastInstallation(source: Source, type: FilterType, record: Removal): FilterMaintenance {
  const { installed_at, removed_at, limits, overuse_since, overuse_ms, duration_ms, assumed } = record;
  const used_minutes = record.booth_in_use_ms / MINUTE_MS;
  const use = { used_minutes, limits, overuse_since, overuse_ms };
  const paced = paceMinutes(source, used_minutes, { assumed, start: installed_at, end: removed_at });
  return { type, installed_at, removed_at, ...use, ...estimate(paced, limits, duration_ms) };
}

function estimate(minutes: number | null, limits: FilterLimits, age_ms: Milliseconds) {
  const by_use =
    limits.minutes === undefined || minutes === null || minutes <= 0 ? Infinity : (limits.minutes / minutes) * age_ms;
  const days = Math.min(by_use / DAY_MS, limits.days ?? Infinity);
  if (age_ms < ESTIMATE_AFTER_MS || !Number.isFinite(days)) {
    return { estimated_days: null, nominal_days: null, maintenance_days: null };
  }
  const nominal_days = days * NOMINAL_SHARE;
  return { estimated_days: days, nominal_days, maintenance_days: days - nominal_days };
}

/** Records of the filters of one type that came out, oldest first. */
export function removalsOf(source: Source, type: FilterType): Removal[] {
  const changes = changesOf(source, type);
  const assumed = new Set(
    changes.filter(({ value }) => value.source === "assumed").map(({ value }) => value.installed_at),
  );
  return changes.flatMap(({ value: { maintenance } }) =>
    maintenance === null || maintenance === undefined
      ? []
      : [{ ...maintenance, assumed: assumed.has(maintenance.installed_at) }],
  );
}

/**
 * Changes of one type that stand, oldest first. A later record corrects earlier ones: it names the filter that came out, or that is
 * in again, and what was said to have gone in after that one never did.
 */
function changesOf({ reader, stream, now_ms }: Source, type: FilterType): Stored<FilterService>[] {
  const made = reader
    .facts(stream, KIND.filter, { start: BEGINNING, end: now_ms + 1 })
    .filter(({ value }) => value.filter === type && value.maintenance !== undefined)
    .sort((a, b) => a.seq - b.seq);
  const standing: Stored<FilterService>[] = [];
  for (const change of made) {
    const { installed_at, source, maintenance } = change.value;
    // What was there at first contact is the first.
    const before = source === "assumed" ? BEGINNING : (maintenance?.installed_at ?? installed_at);
    while ((standing.at(-1)?.value.installed_at ?? BEGINNING) > before) standing.pop();
    // An entry withdrawn: the filter that is in again went in with the change that stands.
    if (standing.at(-1)?.value.installed_at !== installed_at) standing.push(change);
  }
  return standing;
}
