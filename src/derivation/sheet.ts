import { FILTER_TYPES, type FilterType } from "../domain/booth.ts";
import { type DayDrop, type FilterDayFact, KIND } from "../domain/record.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../domain/time.ts";
import { dayOf, instantOf, utcText } from "../domain/time-zone.ts";
import type { EpochMs, Milliseconds } from "../domain/units.ts";
import { usedMinutes } from "./filters/installation.ts";
import { isIn, tagsWithRole } from "./parameters.ts";
import {
  type DeriveState,
  type FilterState,
  type Fold,
  type Installation,
  type Settled,
  type SheetDay,
  writeFact,
} from "./state.ts";

/** Maximum number of days to which one span adds time, as for hours. */
const MAX_DAYS_AT_ONCE = 40;
/**
 * Time for which a finished day is kept, so that its facts can be written again: an entry may be backdated by 36 h and undone for 24 h.
 */
const KEPT_MS: Milliseconds = 61 * HOUR_MS;
/** Maximum number of spray stages per day and filter. The limit bounds the state if the mode flaps. */
const MAX_STAGES = 100;
const DATE_CHARS = "2026-03-02".length;

/** Adds settled time (time whose mode is final) to the log sheet's days. */
export function addSheetTime(state: DeriveState, { mode, from, to }: Settled): void {
  const sheet = (state.sheet ??= { days: [] });
  for (let start = Math.max(from, to - MAX_DAYS_AT_ONCE * DAY_MS); start < to;) {
    const last = sheet.days.at(-1);
    const day = last !== undefined && start < last.end ? last : newDay(state, start);
    if (day !== last) sheet.days.push(day);
    const end = Math.min(to, day.end);
    if (mode === "no_data") day.no_data_ms += end - start;
    else if (isIn(state.parameters?.mode_sets.in_use, mode)) day.use_ms += end - start;
    if (mode === "spray") day.spray_ms += end - start;
    start = end;
  }
}

function newDay({ parameters }: DeriveState, at: EpochMs): SheetDay {
  const tz = parameters?.tz ?? "UTC";
  const number = dayOf(tz, at);
  const start = Math.min(at, instantOf(tz, number, 0));
  const end = Math.max(at + 1, instantOf(tz, number + 1, 0));
  return { tz, start, end, use_ms: 0, spray_ms: 0, no_data_ms: 0, drops: {}, isWritten: false };
}

/** Adds a spray stage's pressure drop to the day in which the stage ended. */
export function addSheetDrop(state: DeriveState, type: FilterType, drop: SheetDrop): void {
  const [end] = drop;
  const day = state.sheet?.days.findLast((one) => end > one.start && end <= one.end);
  if (day === undefined) return;
  const drops = (day.drops[type] ??= []);
  if (drops.length < MAX_STAGES) drops.push(drop);
}

type SheetDrop = NonNullable<SheetDay["drops"][FilterType]>[number];

/** Notes that a change of a filter affects days whose facts may be written already. Their facts are then written again. */
export function changeSheet({ sheet }: DeriveState, type: FilterType, from: EpochMs): void {
  if (sheet === undefined) return;
  const redo = (sheet.redo ??= {});
  redo[type] = Math.min(redo[type] ?? from, from);
}

/** Writes the facts of each finished day, and those of earlier days that a filter change has corrected. */
export function writeSheet(fold: Fold): void {
  const { sheet } = fold.state;
  if (sheet === undefined) return;
  const { days, redo } = sheet;
  const closed = days.at(-2);
  if (redo === undefined && (closed === undefined || closed.isWritten)) return;
  for (const day of days.slice(0, -1)) {
    for (const type of FILTER_TYPES) {
      const isCorrected = day.isWritten && (redo?.[type] ?? Infinity) < day.end;
      if (!day.isWritten || isCorrected) writeDay(fold, day, type);
    }
    day.isWritten = true;
  }
  delete sheet.redo;
  const start = days.at(-1)?.start ?? 0;
  sheet.days = days.filter(({ end }) => end >= start - KEPT_MS);
}

function writeDay(fold: Fold, day: SheetDay, type: FilterType): void {
  const { state } = fold;
  const filter = state.filters[type];
  if (filter === undefined) return;
  const all = installationsOn(filter, day);
  const isChange = all.some(
    ({ installed_at, source, removed_at }) =>
      (source !== "assumed" && installed_at >= day.start) || isWithin(day, removed_at),
  );
  // A day without a fact is a day on which the booth was observed and not in use.
  if (day.use_ms === 0 && day.no_data_ms === 0 && !isChange) return;
  for (const one of all) {
    const quality = day.no_data_ms > 0 ? "uncertain" : "good";
    writeFact(fold, { kind: KIND.filterDay, value: dayValue(state, day, { type, one }), quality });
  }
}

/** Returns the filters that were in on the day, oldest first. */
function installationsOn({ former, current }: FilterState, { start, end }: SheetDay): Installation[] {
  return [former, current].filter(
    (one) => one !== null && one.installed_at < end && (one.removed_at ?? Infinity) > start,
  ) as Installation[];
}

function isWithin({ start, end }: SheetDay, at: EpochMs | null): boolean {
  return at !== null && at > start && at <= end;
}

function dayValue(
  state: DeriveState,
  day: SheetDay,
  { type, one }: { type: FilterType; one: Installation },
): FilterDayFact["value"] {
  const { start, end, tz, use_ms, spray_ms, no_data_ms } = day;
  const { installed_at, source, limits, pressure } = one;
  const removed_at = isWithin(day, one.removed_at) ? one.removed_at : null;
  const until = removed_at ?? end;
  const minutes = usedMinutes(one);
  const later_ms = useAfter(state, until) - useAfter(state, one.removed_at ?? Infinity);
  const episode = one.overuse.findLast(({ since }) => since < until);
  const hasSensor = tagsWithRole(state.parameters, "filter_pressure", type).length > 0;
  const baseline_pa = pressure.baseline ?? state.parameters?.filters[type]?.baseline_pa ?? null;
  const mine = (day.drops[type] ?? []).filter(([at]) => at > installed_at && at <= until);
  return {
    day: utcText(dayOf(tz, start) * DAY_MS).slice(0, DATE_CHARS),
    start,
    end,
    tz,
    filter: type,
    installed_at,
    assumed: source === "assumed",
    removed_at,
    use_ms,
    spray_ms,
    no_data_ms,
    filter_use_ms: minutes === null ? null : Math.max(0, Math.round(minutes * MINUTE_MS - later_ms)),
    overuse_since: episode !== undefined && (episode.until ?? Infinity) >= until ? episode.since : null,
    ...(hasSensor && { drop: dropOf(mine), baseline_pa }),
    limits,
  };
}

/** Returns the time in use after an instant: the recent stages give the rest of that day, and the sums of days give all later days. */
function useAfter({ recent, parameters, sheet }: DeriveState, at: EpochMs): Milliseconds {
  const inUse = parameters?.mode_sets.in_use;
  const useOf = (day: SheetDay): Milliseconds => {
    if (day.start >= at) return day.use_ms;
    const slices = recent.slices.filter(({ mode, from, to }) => to > at && from < day.end && isIn(inUse, mode));
    return slices.reduce((sum, { from, to }) => sum + Math.min(to, day.end) - Math.max(from, at), 0);
  };
  return (sheet?.days ?? []).filter(({ end }) => end > at).reduce((sum, day) => sum + useOf(day), 0);
}

function dropOf(stages: readonly SheetDrop[]): DayDrop | null {
  const measured_ms = stages.reduce((sum, [, , , ms]) => sum + ms, 0);
  const sorted = [...stages].sort((a, b) => a[2] - b[2]);
  let passed = 0;
  const median = sorted.find(([, , , ms]) => {
    passed += ms;
    return passed * 2 >= measured_ms;
  });
  if (median === undefined) return null;
  const tenths = (pascal: number): number => Math.round(pascal * 10) / 10;
  return {
    highest_pa: tenths(Math.max(...stages.map(([, highest]) => highest))),
    median_pa: tenths(median[2]),
    measured_ms,
  };
}
