import type { Mode } from "../domain/booth.ts";
import type { TagRole } from "../domain/parameters.ts";
import { KIND } from "../domain/record.ts";
import { HOUR_MS } from "../domain/time.ts";
import type { EpochMs, Milliseconds } from "../domain/units.ts";
import { energyOf, tagWithRole } from "./parameters.ts";
import { type DeriveState, type Fold, type HourState, type Machine, type Settled, writeFact } from "./state.ts";

/** Time after which an hour is final, counted from its end, or from the end of a gap that contains its end. */
const FINAL_AFTER_MS: Milliseconds = 600_000;
/** Maximum number of hours to which one span adds time. A clock that was years off must not create thousands of hours. */
const MAX_HOURS_AT_ONCE = 40 * 24;
/** Time for which the state keeps `recent`. A person's entry may be backdated this far, and counts of a local day need a day. */
const KEPT_MS: Milliseconds = 36 * HOUR_MS;
/**
 * Maximum number of items per list of `recent`. A booth changes its mode some 200 times a day; the limit bounds the state if the mode
 * flaps.
 */
const MAX_ITEMS = 600;

/** Adds settled time (time whose mode is final) to its hours and to the recent time. */
export function addTime(state: DeriveState, settled: Settled): void {
  const { slices } = state.recent;
  const { mode, from, to, inferred } = settled;
  const last = slices.at(-1);
  if (last?.to === from && last.mode === mode && last.inferred === inferred) last.to = to;
  else slices.push({ ...settled });
  dropOld(slices, (slice) => slice.to < to - KEPT_MS);
  for (const { hour, start, end } of hoursOf(Math.max(from, to - MAX_HOURS_AT_ONCE * HOUR_MS), to)) {
    const figures = hourState(state, hour);
    figures.ms_by_mode[mode] = (figures.ms_by_mode[mode] ?? 0) + (end - start);
    if (end === hour + HOUR_MS) figures.settled_at = inferred || mode === "no_data" ? to : end;
  }
}

/** Adds a complete cycle to its hour. */
export function addCycle(state: DeriveState, end: EpochMs): void {
  const { ends } = state.recent;
  ends.push(end);
  dropOld(ends, (at) => at < end - KEPT_MS);
  const hour = hourOf(end);
  if (isUnwritten(state, hour)) hourState(state, hour).derived_cycles += 1;
}

/** Adds the count of a counter with that role, in the figure's unit, to the present hour. */
export function addCount(state: DeriveState, role: TagRole | undefined, amount: number): void {
  if (role !== "gas" && role !== "kwh" && role !== "cycle_counter") return;
  const { now } = state.clock;
  const hour = hourState(state, hourOf(now));
  if (role === "gas") hour.gas_therm += amount;
  else if (role === "kwh") hour.energy_kwh += amount;
  else {
    hour.counted_cycles += amount;
    const { increments } = state.recent;
    increments.push([now, amount]);
    dropOld(increments, ([at]) => at < now - KEPT_MS);
  }
}

/** The work of a machine at a constant rate (see `workRate`). */
export interface Work {
  readonly machine: Machine;
  readonly rate: number;
  readonly from: EpochMs;
  readonly to: EpochMs;
}

/**
 * Adds the work of a machine without a meter to its hours. Only time within a stage counts, because an hour is complete only when stages
 * cover it.
 */
export function addWork(state: DeriveState, { machine, rate, from, to }: Work): void {
  if (rate <= 0 || state.bays.every(({ open }) => open === null)) return;
  for (const { hour, start, end } of hoursOf(from, to)) {
    if (!isUnwritten(state, hour)) continue;
    const work = (hourState(state, hour).work ??= {});
    work[machine] = (work[machine] ?? 0) + rate * (end - start);
  }
}

/** Writes the hours that no later record can change, oldest first. */
export function writeHours(fold: Fold): void {
  const { state } = fold;
  const { now } = state.clock;
  while (state.hour_next !== null && now >= state.hour_next + HOUR_MS + FINAL_AFTER_MS) {
    const hour = state.hour_next;
    const figures = hourState(state, hour);
    // Waits until the hour's time is final. A gap is final after 12 h at most, so no hour waits for ever. An hour that is never complete is
    // never written.
    if (figures.settled_at === null || now < figures.settled_at + FINAL_AFTER_MS) return;
    writeHour(fold, hour, figures);
  }
}

function writeHour(fold: Fold, hour: EpochMs, figures: HourState): void {
  const { state } = fold;
  const { ms_by_mode, counted_cycles, derived_cycles, work = {} } = figures;
  const hasCounter = tagWithRole(state.parameters, "cycle_counter") !== undefined;
  const value = {
    hour,
    ms_by_mode,
    cycles: hasCounter ? counted_cycles : derived_cycles,
    gas_therm: withoutNoise(figures.gas_therm + energyOf("burner", work.burner ?? 0)),
    energy_kwh: withoutNoise(figures.energy_kwh + energyOf("fan", work.fan ?? 0)),
  };
  writeFact(fold, { kind: KIND.hour, value, quality: "good" });
  // eslint-disable-next-line @typescript-eslint/no-dynamic-delete -- the hours are a map that is saved as JSON
  delete state.hours[String(hour)];
  const left = Object.keys(state.hours).map(Number);
  state.hour_next = left.length === 0 ? null : Math.min(...left);
}

/** Returns whether the hour isn't written yet. A written hour doesn't change any more. */
function isUnwritten({ hour_next }: DeriveState, hour: EpochMs): boolean {
  return hour_next === null || hour >= hour_next;
}

function hourState(state: DeriveState, hour: EpochMs): HourState {
  if (state.hour_next === null || hour < state.hour_next) state.hour_next = hour;
  return (state.hours[String(hour)] ??= {
    ms_by_mode: {},
    counted_cycles: 0,
    derived_cycles: 0,
    gas_therm: 0,
    energy_kwh: 0,
    settled_at: null,
  });
}

function hourOf(at: EpochMs): EpochMs {
  return Math.floor(at / HOUR_MS) * HOUR_MS;
}

/** Splits a span at full hours. */
function* hoursOf(from: EpochMs, to: EpochMs) {
  for (let start = from; start < to;) {
    const hour = hourOf(start);
    const end = Math.min(to, hour + HOUR_MS);
    yield { hour, start, end };
    start = end;
  }
}

/** Removes the rounding error of decimal steps, which is far below any meter's step. */
function withoutNoise(amount: number): number {
  return Math.round(amount * 1e6) / 1e6;
}

function dropOld<T>(items: T[], isOld: (item: T) => boolean): void {
  while (items.length > MAX_ITEMS || (items[0] !== undefined && isOld(items[0]))) items.shift();
}

/** Returns the time in the modes after `since`, as far as its mode is final and the state still has it. */
export function recentMs({ recent }: DeriveState, modes: readonly Mode[], since: EpochMs): Milliseconds {
  let sum = 0;
  for (const { mode, from, to } of recent.slices) {
    if (to > since && modes.includes(mode)) sum += to - Math.max(from, since);
  }
  return sum;
}
