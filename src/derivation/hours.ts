import type { EpochMs, Milliseconds } from "../domain/units.ts";
import { type DeriveState, type Fold, type HourState, type Slice, stamp } from "./state.ts";
import { energyOf, type Machine } from "./machines.ts";
import { tagWithRole } from "./roles.ts";

const HOUR_MS: Milliseconds = 3_600_000;
/** An hour is final this long after its end, or after the end of the gap that its end lies in. */
const FINAL_AFTER_MS: Milliseconds = 600_000;
/** A clock that was decades off must not make an hour for each of their hours. */
const MAX_HOURS_AT_ONCE = 40 * 24;

/** Adds settled time to its hours. */
export function addTime({ state }: Fold, { mode, from, to, inferred }: Slice): void {
  let start = Math.max(from, to - MAX_HOURS_AT_ONCE * HOUR_MS);
  while (start < to) {
    const hour = hourOf(start);
    const end = Math.min(to, hour + HOUR_MS);
    const figures = hourState(state, hour);
    figures.ms_by_mode[mode] = (figures.ms_by_mode[mode] ?? 0) + (end - start);
    if (end === hour + HOUR_MS) figures.settled_at = inferred || mode === "no_data" ? to : end;
    start = end;
  }
}

/** Adds what was counted at the present instant. */
export function addCount(
  state: DeriveState,
  what: "counted_cycles" | "gas_therm" | "energy_kwh",
  amount: number,
): void {
  if (amount > 0) hourState(state, hourOf(state.clock.now))[what] += amount;
}

/** Adds what a machine did at a steady rate; an hour already written can't change any more. */
export function addWork(
  state: DeriveState,
  { machine, rate, from, to }: { machine: Machine; rate: number; from: EpochMs; to: EpochMs },
): void {
  for (let start = from; start < to;) {
    const hour = hourOf(start);
    const end = Math.min(to, hour + HOUR_MS);
    if (rate > 0 && (state.hour_next === null || hour >= state.hour_next)) {
      const work = (hourState(state, hour).work ??= {});
      work[machine] = (work[machine] ?? 0) + rate * (end - start);
    }
    start = end;
  }
}

/** A counted cycle ended at `end`; one that ended before an hour already written can't change it any more. */
export function addCycleEnd(state: DeriveState, end: EpochMs): void {
  const hour = hourOf(end);
  if (state.hour_next === null || hour >= state.hour_next) hourState(state, hour).derived_cycles += 1;
}

/** Writes the hours that have become final, oldest first. */
export function writeHours(fold: Fold): void {
  const { state } = fold;
  const { now } = state.clock;
  while (state.hour_next !== null && now >= state.hour_next + HOUR_MS + FINAL_AFTER_MS) {
    const hour = state.hour_next;
    const figures = hourState(state, hour);
    // A gap is settled after 12 h at the latest, so no hour waits for ever; one that isn't whole is never written.
    if (figures.settled_at === null || now < figures.settled_at + FINAL_AFTER_MS) return;
    writeHour(fold, hour, figures);
  }
}

function writeHour(fold: Fold, hour: EpochMs, figures: HourState): void {
  const { state } = fold;
  const has_counter = tagWithRole(state.parameters, "cycle_counter") !== undefined;
  const cycles = has_counter ? figures.counted_cycles : figures.derived_cycles;
  const { ms_by_mode, work = {} } = figures;
  const gas_therm = rounded(figures.gas_therm + energyOf("burner", work.burner ?? 0));
  const energy_kwh = rounded(figures.energy_kwh + energyOf("fan", work.fan ?? 0));
  const value = { hour, ms_by_mode, cycles, gas_therm, energy_kwh };
  fold.facts.push({ kind: "d", ...stamp(fold), value, quality: "good" });
  // eslint-disable-next-line @typescript-eslint/no-dynamic-delete -- the hours are a map that is saved as JSON
  delete state.hours[String(hour)];
  const left = Object.keys(state.hours).map(Number);
  state.hour_next = left.length === 0 ? null : Math.min(...left);
}

function hourState(state: DeriveState, hour: EpochMs): HourState {
  const key = String(hour);
  if (state.hour_next === null || hour < state.hour_next) state.hour_next = hour;
  return (state.hours[key] ??= {
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

/** Binary noise of decimal steps, far below any meter's step. */
function rounded(amount: number): number {
  return Math.round(amount * 1e6) / 1e6;
}
