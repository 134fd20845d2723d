import { FILTER_TYPES, type FilterType } from "../../domain/booth.ts";
import type { Parameters, TagRole } from "../../domain/parameters.ts";
import type { EpochMs } from "../../domain/units.ts";
import { pressReset, readMinutes, pushService, reportRemovals } from "./changes.ts";
import { takeEntry, undoEntry } from "./entries.ts";
import { addCycles, changeLimits, isOverLimit, startOveruse, takeOff, useCounting } from "./overuse.ts";
import {
  type FiltersFold,
  type FiltersState,
  type FilterState,
  newInstallation,
  type PressureState,
  withAndWithout,
} from "./installation.ts";
import { isIn, tagWithRole } from "../parameters.ts";
import { endSpray, samplePressures } from "./pressure.ts";
import type { RecentState } from "../hours.ts";
import type { Slice } from "../timeline/events.ts";
import type { Settled } from "../timeline/state.ts";

/** What was there at first contact is told of from the booth's first good mode reading on: until that has come, from no instant. */
const NOT_YET: EpochMs = Number.MAX_SAFE_INTEGER;

export function emptyFilters(): FiltersState {
  return { filters: {}, samples: {} };
}

export const filtersSlice: Slice<FiltersState, RecentState> = {
  parameters: (fold, { parameters }) => fitFilters(fold, parameters),
  time: (fold, { settled }) => useFilters(fold, settled),
  cycle_ended: (fold, { end }) => countCycle(fold, end),
  reset_pressed: (fold, { filter }) => pressReset(fold, filter),
  minutes: readMinutes,
  entry: (fold, { record }) => takeEntry(fold, record),
  void: (fold, { record }) => undoEntry(fold, record),
  stage_closed(fold, { bay, stage }) {
    if (bay === 0 && stage.mode === "spray") endSpray(fold, stage);
  },
  instant_over(fold) {
    beginFilters(fold);
    samplePressures(fold);
  },
  due: reportRemovals,
};

/** Brings the fitted filters in line with the parameters. What was there at first contact has an unknown history. */
function fitFilters(fold: FiltersFold, parameters: Parameters): void {
  const { own, seen } = fold;
  for (const type of FILTER_TYPES) {
    const fitted = parameters.filters[type];
    const filter = own.filters[type];
    if (fitted !== undefined) fitUnits(own, parameters, type);
    if (fitted === undefined) {
      // eslint-disable-next-line @typescript-eslint/no-dynamic-delete -- a type that isn't fitted is absent, not empty
      delete own.filters[type];
    } else if (filter === undefined) {
      const since = isSeen(seen) ? seen.clock.now : NOT_YET;
      const current = newInstallation(since, "assumed", { limits: fitted.limits, flagged: true });
      own.filters[type] = {
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
      for (const { current } of withAndWithout(filter)) changeLimits(current, fitted.limits, seen.clock.now);
    }
  }
}

/** Drops what was read in a unit that does not fit, and converts pressure drops that were read in another unit than now. */
function fitUnits(own: FiltersState, parameters: Parameters, type: FilterType): void {
  const tags = Object.entries(parameters.tags).filter(([, { filter }]) => filter === type);
  const isUnfit = (role: TagRole): boolean => tags.some(([, { unfit_role }]) => unfit_role === role);
  const [sensor, sensorTag] = tags.find(([, { role }]) => role === "filter_pressure") ?? [];
  const scale = sensorTag?.conversion?.scale ?? 1;
  const change = scale / (own.pressure_scales?.[type] ?? 1);
  for (const { current } of withAndWithout(own.filters[type])) {
    if (isUnfit("filter_minutes")) current.plc = null;
    if (isUnfit("filter_pressure")) current.pressure = { baseline: null, drops: [] };
    if (change !== 1) rescalePressure(current.pressure, change, parameters.filters[type]?.baseline_pa);
  }
  if (change === 1 || sensor === undefined) return;
  own.samples[sensor] = [];
  own.pressure_scales = { ...own.pressure_scales, [type]: scale };
}

/** The clean drop is given in Pa, or was learned in the sensor's unit. */
function rescalePressure(pressure: PressureState, change: number, given_pa: number | undefined): void {
  pressure.drops = pressure.drops.map(({ end, pascal }) => ({ end, pascal: pascal * change }));
  if (given_pa === undefined && pressure.baseline !== null) pressure.baseline *= change;
}

/** A mode of the booth was read well at some time. */
function isSeen({ bays, recent }: FiltersFold["seen"]): boolean {
  return recent.slices.length > 0 || bays.some(({ open }) => open !== null);
}

/** The booth's first good mode reading: what is in it now has been there since, as far as is known. */
function beginFilters(fold: FiltersFold): void {
  const { own, seen } = fold;
  for (const type of FILTER_TYPES) {
    const filter = own.filters[type];
    const waiting = withAndWithout(filter).filter(({ current }) => current.installed_at === NOT_YET);
    if (filter === undefined || waiting.length === 0 || !isSeen(seen)) continue;
    const { now } = seen.clock;
    for (const { current } of waiting) {
      current.installed_at = now;
      if (isOverLimit(current, now)) startOveruse(current, now);
      if (current === filter.current) pushService(fold, type, { installation: current, maintenance: null });
    }
  }
}

/** Settled time, for every filter that was in, with what the PLC's cycle counter showed meanwhile, where it has one. */
function useFilters({ own, seen }: FiltersFold, time: Settled): void {
  const filters = filtersOf(own);
  if (filters.length === 0) return;
  const { increments } = seen.recent;
  const in_use = isIn(seen.parameters?.mode_sets.in_use, time.mode);
  const counts = isCounted(seen) ? increments.filter(([at]) => at >= time.from && at < time.to) : [];
  for (const { current, former, reported } of filters) {
    const { installed_at } = current;
    if (former !== null && !reported) {
      const before = counts.filter(([at]) => at <= installed_at);
      useCounting(former, { time, in_use, counts: before });
      if (in_use) takeOff(former, time);
    }
    useCounting(current, { time, in_use, counts: counts.filter(([at]) => at > installed_at) });
  }
}

/** A counted cycle ended. It counts for the filter that was in at its end, unless the PLC counts. */
function countCycle({ own, seen }: FiltersFold, end: EpochMs): void {
  if (isCounted(seen)) return;
  for (const { current, former, reported } of filtersOf(own)) {
    if (end > current.installed_at) addCycles(current, [end, 1]);
    else if (former !== null && !reported) addCycles(former, [end, 1]);
  }
}

/** The PLC's cycle counter is what cycles are counted by. */
function isCounted({ parameters }: FiltersFold["seen"]): boolean {
  return tagWithRole(parameters, "cycle_counter") !== undefined;
}

function filtersOf({ filters }: FiltersState): FilterState[] {
  return FILTER_TYPES.flatMap((type) => withAndWithout(filters[type]));
}
