import { FILTER_TYPES, type FilterType } from "../../domain/booth.ts";
import type { Parameters, TagRole } from "../../domain/parameters.ts";
import type { EpochMs } from "../../domain/units.ts";
import { isIn, tagWithRole } from "../parameters.ts";
import type { DeriveState, FilterState, Fold, PressureState, Settled } from "../state.ts";
import { writeService } from "./changes.ts";
import { newInstallation, withAndWithout } from "./installation.ts";
import { addCycles, changeLimits, isOverLimit, startOveruse, subtractLaterCount, useCounting } from "./overuse.ts";

/** Installation time of a filter before first contact (the booth's first good mode reading). */
const NOT_YET: EpochMs = Number.MAX_SAFE_INTEGER;

/** Adapts the filters to new parameters. The history of a filter that was in at first contact is unknown. */
export function fitFilters(fold: Fold, parameters: Parameters): void {
  const { state } = fold;
  const { filters, clock } = state;
  for (const type of FILTER_TYPES) {
    const fitted = parameters.filters[type];
    const filter = filters[type];
    if (fitted === undefined) {
      // eslint-disable-next-line @typescript-eslint/no-dynamic-delete -- a type that isn't fitted is absent, not empty
      delete filters[type];
      continue;
    }
    fitUnits(state, parameters, type);
    if (filter === undefined) {
      const since = isSeen(state) ? clock.now : NOT_YET;
      filters[type] = {
        current: newInstallation(since, "assumed", { limits: fitted.limits, flagged: true }),
        former: null,
        reported: false,
        last_reset: null,
        awaits_fall: false,
        entry: null,
        without_entry: null,
      };
      if (since !== NOT_YET) writeService(fold, type);
    }
    for (const { current } of withAndWithout(filter)) changeLimits(current, fitted.limits, clock.now);
  }
}

/** Drops values that were read in a unit that doesn't fit. Converts pressure drops to a new unit of the sensor. */
function fitUnits(state: DeriveState, parameters: Parameters, type: FilterType): void {
  const tags = Object.entries(parameters.tags).filter(([, { filter }]) => filter === type);
  const isUnfit = (role: TagRole): boolean => tags.some(([, { unfit_role }]) => unfit_role === role);
  const [sensor, sensorTag] = tags.find(([, { role }]) => role === "filter_pressure") ?? [];
  const scale = sensorTag?.conversion?.scale ?? 1;
  const change = scale / (state.pressure_scales?.[type] ?? 1);
  for (const { current } of withAndWithout(state.filters[type])) {
    if (isUnfit("filter_minutes")) current.plc = null;
    if (isUnfit("filter_pressure")) current.pressure = { baseline: null, drops: [] };
    if (change !== 1) rescalePressure(current.pressure, change, parameters.filters[type]?.baseline_pa);
  }
  if (change === 1 || sensor === undefined) return;
  state.samples[sensor] = [];
  state.pressure_scales = { ...state.pressure_scales, [type]: scale };
}

/** Converts stored pressure drops. The drop of the clean filter is given in Pa, or was learned in the sensor's unit. */
function rescalePressure(pressure: PressureState, change: number, given_pa: number | undefined): void {
  pressure.drops = pressure.drops.map(({ end, pascal }) => ({ end, pascal: pascal * change }));
  if (given_pa === undefined && pressure.baseline !== null) pressure.baseline *= change;
}

/** Returns whether the booth's mode was ever read with good quality. */
function isSeen({ bays, recent }: DeriveState): boolean {
  return recent.slices.length > 0 || bays.some(({ open }) => open !== null);
}

/** Sets the installation time of the filters that are in at first contact (the booth's first good mode reading). */
export function beginFilters(fold: Fold): void {
  const { state } = fold;
  const { now } = state.clock;
  for (const type of FILTER_TYPES) {
    const filter = state.filters[type];
    for (const { current } of withAndWithout(filter)) {
      if (current.installed_at !== NOT_YET || !isSeen(state)) continue;
      current.installed_at = now;
      if (isOverLimit(current, now)) startOveruse(current, now);
      if (current === filter?.current) writeService(fold, type);
    }
  }
}

/** Adds settled time (time whose mode is final) to the filters that were in, with the cycles that the PLC's counter showed in it. */
export function useFilters(state: DeriveState, time: Settled): void {
  const { parameters, recent } = state;
  const filters = allFilters(state);
  if (filters.length === 0) return;
  const in_use = isIn(parameters?.mode_sets.in_use, time.mode);
  const counts = hasCycleCounter(state) ? recent.increments.filter(([at]) => at >= time.from && at < time.to) : [];
  for (const { current, former, reported } of filters) {
    const { installed_at } = current;
    if (former !== null && !reported) {
      useCounting(former, { time, in_use, counts: counts.filter(([at]) => at <= installed_at) });
      if (in_use) subtractLaterCount(former, time);
    }
    useCounting(current, { time, in_use, counts: counts.filter(([at]) => at > installed_at) });
  }
}

/** Adds a complete cycle to the filters that were in at its end. Does nothing if the PLC counts cycles. */
export function countCycle(state: DeriveState, end: EpochMs): void {
  if (hasCycleCounter(state)) return;
  for (const { current, former, reported } of allFilters(state)) {
    if (end > current.installed_at) addCycles(current, [end, 1]);
    else if (former !== null && !reported) addCycles(former, [end, 1]);
  }
}

function hasCycleCounter({ parameters }: DeriveState): boolean {
  return tagWithRole(parameters, "cycle_counter") !== undefined;
}

function allFilters({ filters }: DeriveState): FilterState[] {
  return FILTER_TYPES.flatMap((type) => withAndWithout(filters[type]));
}
