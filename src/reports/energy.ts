import { bridgeMs, type Load, loadsOf, millionthsOf, tagWithRole, workRate } from "../derivation/parameters.ts";
import type { Machine } from "../derivation/state.ts";
import { inFigureUnit, type Parameters } from "../domain/parameters.ts";
import { KIND } from "../domain/record.ts";
import { HOUR_MS } from "../domain/time.ts";
import type { EpochMs, Milliseconds, TagName } from "../domain/units.ts";
import type { Window } from "../store/port.ts";
import { hoursIn, isInLog, risesIn } from "./hours.ts";
import { type Source, timeLineOf } from "./source.ts";

const MILLIONTHS = 1_000_000;

/** Source of an energy figure. plc: the PLC's own meter or estimate. estimate: from a machine's size and load. */
type EnergySource = "plc" | "estimate";

/**
 * Returns the energy of the window from whole hours: counted by the PLC's meters, or else estimated from burner and motor sizes. An hour at
 * the border of the window is split by its readings, or by time if these are no longer in the log.
 */
export function energy(source: Source, asked: Window) {
  const line = timeLineOf(source, asked);
  const { window, coverage } = line;
  const { parameters } = line.open_end.state;
  const gas = meteringOf(parameters, "burner");
  const kwh = meteringOf(parameters, "fan");
  let gas_therm = 0;
  let energy_kwh = 0;
  let approximate = false;
  for (const figures of hoursIn(source, line)) {
    const start = figures.hour;
    const end = Math.max(start + 1, Math.min(start + HOUR_MS, source.now_ms));
    if (window.end <= start || window.start >= end) continue;
    if (window.start <= start && window.end >= end) {
      gas_therm += Math.max(0, figures.gas_therm);
      energy_kwh += Math.max(0, figures.energy_kwh);
      continue;
    }
    const part = { hour: { start, end }, window, parameters };
    if (figures.gas_therm > 0) gas_therm += partOf(source, gas, { ...part, amount: figures.gas_therm });
    if (figures.energy_kwh > 0) energy_kwh += partOf(source, kwh, { ...part, amount: figures.energy_kwh });
    const hasAmount = figures.gas_therm > 0 || figures.energy_kwh > 0;
    if (hasAmount && !isInLog(source, start)) approximate = true;
  }
  return {
    /** Gas in therm; null: there is no meter, and the size or load for an estimate is missing. */
    gas_therm: withoutNoise(gas, gas_therm),
    /** Electric energy in kWh; null: there is no meter, and the size or load for an estimate is missing. */
    energy_kwh: withoutNoise(kwh, energy_kwh),
    gas_source: gas.source,
    energy_source: kwh.source,
    /** Whether the energy of an hour at the border of the window was split by time, because its readings are no longer in the log. */
    approximate,
    coverage,
  };
}

/** A machine's energy meter, or the data for an estimate. */
interface Metering {
  readonly machine: Machine;
  readonly meter: TagName | undefined;
  readonly source: EnergySource | null;
}

function meteringOf(parameters: Parameters | null, machine: Machine): Metering {
  const meter = tagWithRole(parameters, machine === "burner" ? "gas" : "kwh");
  const load = parameters === null ? null : loadsOf(parameters)[machine];
  return { machine, meter, source: meter !== undefined ? "plc" : load === null ? null : "estimate" };
}

/** Removes the rounding error from a sum of estimates, each of which is a whole number of millionths. */
function withoutNoise({ source }: Metering, sum: number): number | null {
  if (source === null) return null;
  return source === "plc" ? sum : Math.round(sum * MILLIONTHS) / MILLIONTHS;
}

/** An hour at the border of the window, up to now, with the energy of the whole hour. */
interface CutHour {
  readonly hour: Window;
  readonly window: Window;
  readonly parameters: Parameters | null;
  readonly amount: number;
}

/** Returns the energy used in the part of the hour that is inside the window. */
function partOf(source: Source, { machine, meter, source: by }: Metering, cut: CutHour): number {
  const { hour, window, parameters, amount } = cut;
  if (by === "estimate" && parameters !== null) {
    const whole = { start: hour.start, end: hour.start + HOUR_MS };
    const stretches = stretchesIn(source, whole, { machine, parameters });
    if (stretches.length > 0) {
      const until = (at: EpochMs): number => millionthsOf(machine, workUntil(stretches, Math.max(whole.start, at)));
      return Math.max(0, until(Math.min(whole.end, window.end)) - until(window.start)) / MILLIONTHS;
    }
  }
  const rises = meter === undefined ? [] : risesIn(source, meter, hour);
  const whole = rises.reduce((sum, { rise }) => sum + rise, 0);
  if (whole === 0) {
    const ms = Math.min(hour.end, window.end) - Math.max(hour.start, window.start);
    return amount * (ms / (hour.end - hour.start));
  }
  const inside = rises.filter(({ at }) => at >= window.start && at < window.end);
  return amount * (inside.reduce((sum, { rise }) => sum + rise, 0) / whole);
}

/** Time to search back for the load at the start of a span. An unchanged value is logged at least once an hour. */
const BEFORE_MS: Milliseconds = HOUR_MS;

/** A span in which a machine works at a constant rate. */
interface Stretch extends Window {
  /** Work per millisecond, see `workRate`. */
  readonly rate: number;
}

/**
 * Returns the work of a machine over the span, from the readings that are still in the log. Uses the same rules as the fold, so that the
 * parts of an hour add up to it. The given parameters are in force until the log has others.
 */
function stretchesIn(
  source: Source,
  span: Window,
  { machine, parameters }: { machine: Machine; parameters: Parameters },
): Stretch[] {
  const found: Stretch[] = [];
  let load: Load | null = loadsOf(parameters)[machine];
  let rules = parameters;
  let rate = 0;
  let mark = span.start;
  /** The end of the last coverage (answered polls) of the load's group. */
  let covered = null as { boot: string; mono: Milliseconds; at: EpochMs } | null;
  const pass = (to: EpochMs): void => {
    const start = Math.max(mark, span.start);
    const end = Math.min(to, span.end);
    if (end > start && rate > 0) found.push({ start, end, rate });
    mark = Math.max(mark, to);
  };
  // Reads past the end of the span, because the next poll may bridge a gap at that end.
  const end = span.end + (load === null ? 0 : bridgeMs(parameters, load.group));
  for (const record of source.reader.log(source.stream, { start: span.start - BEFORE_MS, end })) {
    if (covered !== null) pass(Math.min(record.time, covered.at));
    if (record.kind === KIND.parameters) {
      rules = record.value;
      load = loadsOf(rules)[machine];
      if (load === null) rate = 0;
    } else if (load === null) continue;
    else if (record.kind === KIND.coverage && record.value.group === load.group && record.value.polls > 0) {
      const { from, to } = record.value;
      const isContinued = covered?.boot === record.boot && from - covered.mono <= bridgeMs(rules, load.group);
      if (!isContinued) mark = Math.max(mark, record.time);
      covered = { boot: record.boot, mono: to, at: record.time + (to - from) };
      pass(record.time);
    } else if (record.kind === KIND.reading && record.tag === load.tag) {
      const { quality, value } = record;
      const isKnown = quality !== "bad" && typeof value === "number";
      rate = isKnown ? workRate(machine, load.size, inFigureUnit(value, rules.tags[load.tag])) : 0;
    }
  }
  if (covered !== null) pass(covered.at);
  return found;
}

/** Returns the machine's work before an instant. */
function workUntil(stretches: readonly Stretch[], at: EpochMs): number {
  return stretches.reduce((sum, { start, end, rate }) => sum + rate * Math.max(0, Math.min(end, at) - start), 0);
}
