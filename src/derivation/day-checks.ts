import { dayOf, instantOf } from "../domain/time-zone.ts";
import { FILTER_TYPES } from "../domain/booth.ts";
import type { Parameters, TagRole } from "../domain/parameters.ts";
import type { Milliseconds } from "../domain/units.ts";
import type { DayMarks } from "./checks-state.ts";
import { unitsPerHour } from "../domain/counter-rates.ts";
import { judge } from "./incidents.ts";
import { energyOf, fullLoadKwh, loadsOf, MACHINES, type Machine } from "./machines.ts";
import { tagWithRole } from "./roles.ts";
import type { DeriveState, Fold } from "./state.ts";
import { usedMinutes } from "./usage.ts";

/** Stages and hours of the day are settled by then. */
const COMPARED_AFTER_MS: Milliseconds = 900_000;
const HOUR_MS: Milliseconds = 3_600_000;
const MINUTE_MS: Milliseconds = 60_000;
const CYCLES_SHARE = 0.05;
const TIME_SHARE = 0.02;
const TIME_AT_LEAST_MS: Milliseconds = 300_000;
const ENERGY_TIMES = 3;
const LEAST_ENERGY: Readonly<Record<Machine, number>> = { burner: 1, fan: 10 };
/** Decimal steps aren't exact in binary. */
const NOISE = 1e-6;
/** Share of the day that the load must have been seen for: a meter counts on unseen. */
const SEEN_SHARE = 0.9;

/** Whether what the PLC counted over a day differs too far from what was derived: over max(1, 5 %). */
export function cyclesDiffer(plc: number, derived: number): boolean {
  return Math.abs(plc - derived) > Math.max(1, CYCLES_SHARE * Math.max(plc, derived));
}

/** The same of time, ms: over max(2 %, 5 min) and one step of the meter. */
export function timeDiffers(plc: Milliseconds, own: Milliseconds, step: Milliseconds): boolean {
  return Math.abs(plc - own) > Math.max(TIME_SHARE * Math.max(plc, own), TIME_AT_LEAST_MS) + step;
}

/**
 * The same of energy, therm or kWh. An estimate is rough: only threefold is far, and what is under `least` says nothing.
 * @param other what the meter may count beside the machine
 */
export function energyDiffers({
  counted,
  estimated,
  other,
  least,
}: Readonly<Record<"counted" | "estimated" | "other" | "least", number>>): boolean {
  return (
    counted > ENERGY_TIMES * estimated + other + least + NOISE || estimated > ENERGY_TIMES * counted + least + NOISE
  );
}

/** At the end of each local day the PLC's counts are compared with ours, and the next day begins. */
export function passDay(fold: Fold): void {
  const { state } = fold;
  const { parameters, clock, checks, bays } = state;
  if (parameters === null || bays.every(({ open }) => open === null)) return;
  if (checks.day !== null && clock.now < checks.day.end) return;
  // In the middle of a gap one side has counted what the other will only learn.
  if (checks.day !== null && bays.some(({ live }) => !live)) return;
  if (checks.day !== null) compare(fold, parameters, checks.day);
  checks.day = marksOf(state, parameters);
}

function marksOf(state: DeriveState, parameters: Parameters): DayMarks {
  const { checks, clock } = state;
  const today = dayOf(parameters.tz, clock.now - COMPARED_AFTER_MS);
  const steps = Object.fromEntries(
    (["cycle_counter", "hour_meter", "gas", "kwh"] as const).flatMap((role) => {
      const tag = tagWithRole(parameters, role);
      const counted = tag === undefined ? null : attributed(state, tag);
      return tag === undefined || counted === null ? [] : [[tag, counted]];
    }),
  );
  const filters: DayMarks["filters"] = {};
  for (const type of FILTER_TYPES) {
    const filter = state.filters[type]?.current;
    const plc = filter === undefined || filter.plc === null ? null : usedMinutes(filter);
    if (filter === undefined || plc === null) continue;
    filters[type] = { installed_at: filter.installed_at, own: filter.in_use_ms, plc };
  }
  const end = instantOf(parameters.tz, today + 1, 0) + COMPARED_AFTER_MS;
  return { begin: clock.now, end, cycles: checks.cycles, runtime_ms: checks.runtime_ms, steps, filters };
}

/** Steps of a counter without those that it showed for time without data: nothing derived stands against them. */
function attributed({ counters }: DeriveState, tag: string): number | null {
  const counter = counters[tag];
  return counter === undefined ? null : counter.total_steps - counter.unattributed_steps;
}

function compare(fold: Fold, parameters: Parameters, day: DayMarks): void {
  const { state } = fold;
  const cycles = countedSince(state, parameters, { day, role: "cycle_counter" });
  if (cycles !== null) {
    const own = state.checks.cycles - day.cycles;
    mismatch(fold, {
      tag: cycles.tag,
      check: "cycle_mismatch",
      wrong: cyclesDiffer(cycles.amount, own),
      plc: cycles.amount,
      own,
    });
  }
  const hours = countedSince(state, parameters, { day, role: "hour_meter" });
  if (hours !== null) {
    const unit = HOUR_MS / unitsPerHour(parameters.tags[hours.tag]?.unit ?? "h");
    // Decimal steps aren't exact in binary; the limit itself is no mismatch.
    const [plc, own] = [Math.round(hours.amount * unit), state.checks.runtime_ms - day.runtime_ms];
    const wrong = timeDiffers(plc, own, Math.round(hours.step * unit));
    mismatch(fold, { tag: hours.tag, check: "runtime_mismatch", wrong, plc: plc / MINUTE_MS, own: own / MINUTE_MS });
  }
  for (const machine of MACHINES) compareEnergy(fold, parameters, { day, machine });
  for (const type of FILTER_TYPES) {
    const before = day.filters[type];
    const filter = state.filters[type]?.current;
    const plc = filter === undefined || filter.plc === null ? null : usedMinutes(filter);
    if (before === undefined || filter === undefined || plc === null || filter.installed_at !== before.installed_at)
      continue;
    const [counted, own] = [Math.round((plc - before.plc) * MINUTE_MS), filter.in_use_ms - before.own];
    const wrong = timeDiffers(counted, own, MINUTE_MS);
    mismatch(fold, { tag: type, check: "filter_mismatch", wrong, plc: counted / MINUTE_MS, own: own / MINUTE_MS });
  }
}

function compareEnergy(
  fold: Fold,
  parameters: Parameters,
  { day, machine }: { day: DayMarks; machine: Machine },
): void {
  const { state } = fold;
  const load = loadsOf(parameters)[machine];
  const counted = countedSince(state, parameters, { day, role: machine === "burner" ? "gas" : "kwh" });
  const estimate = day.estimates?.[machine];
  if (load === null || counted === null || estimate === undefined) return;
  if (estimate.ms < SEEN_SHARE * (state.clock.now - day.begin)) return;
  const estimated = energyOf(machine, estimate.work);
  // Lights and a compressor beside the fans may take as much as these at full speed all day.
  const other = machine === "burner" ? 0 : fullLoadKwh(load.size, estimate.ms);
  const least = LEAST_ENERGY[machine];
  const wrong = energyDiffers({ counted: counted.amount, estimated, other, least });
  mismatch(fold, { tag: counted.tag, check: "energy_mismatch", wrong, plc: counted.amount, own: estimated });
}

function countedSince(
  state: DeriveState,
  parameters: Parameters,
  { day, role }: { day: DayMarks; role: TagRole },
): { tag: string; amount: number; step: number } | null {
  const tag = tagWithRole(parameters, role);
  if (tag === undefined) return null;
  const [before, now] = [day.steps[tag], attributed(state, tag)];
  const { counter, factor = 1 } = parameters.tags[tag] ?? {};
  if (before === undefined || now === null || counter === undefined) return null;
  const step = counter.step * factor;
  return { tag, amount: (now - before) * step, step };
}

interface Mismatch {
  readonly tag: string;
  readonly check: string;
  readonly wrong: boolean;
  readonly plc: number;
  readonly own: number;
}

function mismatch(fold: Fold, { tag, check, wrong, plc, own }: Mismatch): void {
  const text = (value: number): string => String(Math.round(value * 10) / 10);
  const reason = `over the day the PLC counted ${text(plc)}, ${text(own)} were derived`;
  judge(fold, wrong, {
    tag_name: tag,
    check,
    logic: { op: "mismatch", plc, derived: own },
    reason,
    severity: "warning",
  });
}
