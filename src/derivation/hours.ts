import { KIND } from "../domain/record.ts";
import type { Mode } from "../domain/booth.ts";
import type { EpochMs, Milliseconds } from "../domain/units.ts";
import { energyOf, type Machine, tagWithRole } from "./parameters.ts";
import type { Slice, SliceFold, EventOf } from "./timeline/events.ts";
import type { Settled, DeepReadonly } from "./timeline/state.ts";
import { HOUR_MS } from "../domain/time.ts";

/** What hours that aren't written yet have come to. */
export interface HoursState {
  /** By their start as text. */
  hours: Record<string, HourState>;
  /** The first of them; null: none. */
  hour_next: EpochMs | null;
}

export interface HourState {
  ms_by_mode: Partial<Record<Mode, Milliseconds>>;
  /** Increments of the PLC's cycle counter. */
  counted_cycles: number;
  /** Counted cycles that ended in it. */
  derived_cycles: number;
  gas_therm: number;
  energy_kwh: number;
  /** Work of machines without a meter, as derivation/machines has it; absent: none. */
  work?: Partial<Record<Machine, number>>;
  /** Its end, or the end of the gap that its end lies in; null: its time is not yet settled. */
  settled_at: EpochMs | null;
}
/** An hour is final this long after its end, or after the end of the gap that its end lies in. */
const FINAL_AFTER_MS: Milliseconds = 600_000;
/** A clock that was decades off must not make an hour for each of their hours. */
const MAX_HOURS_AT_ONCE = 40 * 24;

export function emptyHours(): HoursState {
  return { hours: {}, hour_next: null };
}

export const hoursSlice: Slice<HoursState> = {
  time: ({ own }, { settled }) => addTime(own, settled),
  count({ own, seen }, { role, amount }) {
    if (amount <= 0) return;
    const figures = (): HourState => hourState(own, hourOf(seen.clock.now));
    if (role === "gas") figures().gas_therm += amount;
    if (role === "kwh") figures().energy_kwh += amount;
    if (role === "cycle_counter") figures().counted_cycles += amount;
  },
  cycle_ended({ own }, { end }) {
    const hour = hourOf(end);
    if (isOpen(own, hour)) hourState(own, hour).derived_cycles += 1;
  },
  work({ own, seen }, work) {
    // Only time that a stage covers makes an hour whole.
    if (!work.metered && seen.bays.some(({ open }) => open !== null)) addWork(own, work);
  },
  due: writeHours,
};

/** An hour already written can't change any more. */
function isOpen({ hour_next }: HoursState, hour: EpochMs): boolean {
  return hour_next === null || hour >= hour_next;
}

/** Adds settled time to its hours. */
function addTime(own: HoursState, { mode, from, to, inferred }: Settled): void {
  let start = Math.max(from, to - MAX_HOURS_AT_ONCE * HOUR_MS);
  while (start < to) {
    const hour = hourOf(start);
    const end = Math.min(to, hour + HOUR_MS);
    const figures = hourState(own, hour);
    figures.ms_by_mode[mode] = (figures.ms_by_mode[mode] ?? 0) + (end - start);
    if (end === hour + HOUR_MS) figures.settled_at = inferred || mode === "no_data" ? to : end;
    start = end;
  }
}

/** Adds what a machine did at a steady rate. */
function addWork(own: HoursState, { machine, rate, from, to }: EventOf<"work">): void {
  for (let start = from; start < to;) {
    const hour = hourOf(start);
    const end = Math.min(to, hour + HOUR_MS);
    if (rate > 0 && isOpen(own, hour)) {
      const work = (hourState(own, hour).work ??= {});
      work[machine] = (work[machine] ?? 0) + rate * (end - start);
    }
    start = end;
  }
}

/** Writes the hours that have become final, oldest first. */
function writeHours(fold: SliceFold<HoursState>): void {
  const { own } = fold;
  const { now } = fold.seen.clock;
  while (own.hour_next !== null && now >= own.hour_next + HOUR_MS + FINAL_AFTER_MS) {
    const hour = own.hour_next;
    const figures = hourState(own, hour);
    // A gap is settled after 12 h at the latest, so no hour waits for ever; one that isn't whole is never written.
    if (figures.settled_at === null || now < figures.settled_at + FINAL_AFTER_MS) return;
    writeHour(fold, hour, figures);
  }
}

function writeHour(fold: SliceFold<HoursState>, hour: EpochMs, figures: HourState): void {
  const { own, seen } = fold;
  const has_counter = tagWithRole(seen.parameters, "cycle_counter") !== undefined;
  const cycles = has_counter ? figures.counted_cycles : figures.derived_cycles;
  const { ms_by_mode, work = {} } = figures;
  const gas_therm = rounded(figures.gas_therm + energyOf("burner", work.burner ?? 0));
  const energy_kwh = rounded(figures.energy_kwh + energyOf("fan", work.fan ?? 0));
  const value = { hour, ms_by_mode, cycles, gas_therm, energy_kwh };
  fold.fact({ kind: KIND.hour, value, quality: "good" });
  // eslint-disable-next-line @typescript-eslint/no-dynamic-delete -- the hours are a map that is saved as JSON
  delete own.hours[String(hour)];
  const left = Object.keys(own.hours).map(Number);
  own.hour_next = left.length === 0 ? null : Math.min(...left);
}

function hourState(own: HoursState, hour: EpochMs): HourState {
  const key = String(hour);
  if (own.hour_next === null || hour < own.hour_next) own.hour_next = hour;
  return (own.hours[key] ??= {
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

/** The last day and a half: settled time, ends of cycles, and what the PLC's cycle counter counted. */
export interface RecentState {
  recent: { slices: Settled[]; ends: EpochMs[]; increments: [at: EpochMs, steps: number][] };
}

/** Technicians' entries may tell of an instant this long ago, and counts of a local day are asked for. */
const KEPT_MS: Milliseconds = 36 * 3_600_000;
/** A booth changes its mode some 200 times a day; a flapping one must not grow the state. */
const MAX_ITEMS = 600;

export function emptyRecent(): RecentState {
  return { recent: { slices: [], ends: [], increments: [] } };
}

export const recentSlice: Slice<RecentState> = {
  time({ own }, { settled }) {
    const { slices } = own.recent;
    const last = slices.at(-1);
    if (last?.to === settled.from && last.mode === settled.mode && last.inferred === settled.inferred)
      last.to = settled.to;
    else slices.push({ ...settled });
    forget(slices, ({ to }) => to < settled.to - KEPT_MS);
  },
  cycle_ended({ own }, { end }) {
    own.recent.ends.push(end);
    forget(own.recent.ends, (at) => at < end - KEPT_MS);
  },
  count({ own, seen }, { role, amount }) {
    if (role !== "cycle_counter" || amount <= 0) return;
    const { now } = seen.clock;
    own.recent.increments.push([now, amount]);
    forget(own.recent.increments, ([at]) => at < now - KEPT_MS);
  },
};

function forget<T>(items: T[], isOld: (item: T) => boolean): void {
  while (items.length > MAX_ITEMS || (items[0] !== undefined && isOld(items[0]))) items.shift();
}

/** Settled time in the modes since `since`, as far as it is remembered. */
export function recentMs({ recent }: DeepReadonly<RecentState>, modes: readonly Mode[], since: EpochMs): Milliseconds {
  let sum = 0;
  for (const { mode, from, to } of recent.slices) {
    if (to > since && modes.includes(mode)) sum += to - Math.max(from, since);
  }
  return sum;
}
