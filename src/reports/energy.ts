import { KIND } from "../domain/record.ts";
import {
  type Load,
  loadsOf,
  type Machine,
  millionthsOf,
  workRate,
  tagWithRole,
  bridgeMs,
} from "../derivation/parameters.ts";
import { inFigureUnit, type Parameters } from "../domain/parameters.ts";
import type { EpochMs, Milliseconds, TagName } from "../domain/units.ts";
import type { Window } from "../store/port.ts";
import { HOUR_MS } from "../domain/time.ts";
import { hoursIn, isInLog, risesIn } from "./hours.ts";
import { type FigureCoverage, type Source, timeLineOf } from "./source.ts";

const MILLIONTHS = 1_000_000;

/** plc: counted by the PLC, with a meter or by an estimate of its own; estimate: from a machine's size and load. */
type EnergySource = "plc" | "estimate";

export interface Energy {
  /** therm; null: neither a meter nor what an estimate needs. */
  readonly gas_therm: number | null;
  /** kWh; null: as above. */
  readonly energy_kwh: number | null;
  readonly gas_source: EnergySource | null;
  readonly energy_source: EnergySource | null;
  /** The window cuts an hour whose readings have left the log: the hour was shared out by time. */
  readonly approximate: boolean;
  readonly coverage: FigureCoverage;
}

interface Counted {
  readonly machine: Machine;
  readonly meter: TagName | undefined;
  readonly source: EnergySource | null;
}

/**
 * Energy of the window by hours: as the PLC's meters counted it, else estimated from burner and motor sizes. An hour that the
 * window cuts is shared out by the readings in it; once these have left the log, pro rata by time.
 */
export function energy(source: Source, window: Window): Energy {
  const line = timeLineOf(source, window);
  const { window: clipped, coverage, open_end } = line;
  const { parameters } = open_end.state;
  const gas = countedBy(parameters, "burner");
  const kwh = countedBy(parameters, "fan");
  let gas_therm = 0;
  let energy_kwh = 0;
  let approximate = false;
  for (const { hour, ...figures } of hoursIn(source, line)) {
    const part = { hour, end: Math.max(hour + 1, Math.min(hour + HOUR_MS, source.now_ms)), window: clipped };
    gas_therm += amountIn(source, parameters, { ...part, ...gas, amount: figures.gas_therm });
    energy_kwh += amountIn(source, parameters, { ...part, ...kwh, amount: figures.energy_kwh });
    const hasAmount = figures.gas_therm > 0 || figures.energy_kwh > 0;
    if (hasAmount && isCut(part) && !isInLog(source, hour)) approximate = true;
  }
  return {
    gas_therm: shown(gas, gas_therm),
    energy_kwh: shown(kwh, energy_kwh),
    gas_source: gas.source,
    energy_source: kwh.source,
    approximate,
    coverage,
  };
}

function countedBy(parameters: Parameters | null, machine: Machine): Counted {
  const meter = tagWithRole(parameters, machine === "burner" ? "gas" : "kwh");
  const load = parameters === null ? null : loadsOf(parameters)[machine];
  return { machine, meter, source: meter !== undefined ? "plc" : load === null ? null : "estimate" };
}

/** Estimates are whole millionths; their sum is told of without binary noise. */
function shown({ source }: Counted, sum: number): number | null {
  if (source === null) return null;
  return source === "plc" ? sum : Math.round(sum * MILLIONTHS) / MILLIONTHS;
}

interface PartOfHour {
  readonly hour: EpochMs;
  readonly end: EpochMs;
  readonly window: Window;
}

function isOutside({ hour, end, window }: PartOfHour): boolean {
  return window.end <= hour || window.start >= end;
}

/** Returns whether a part of the hour lies in the window, and a part outside of it. */
function isCut(part: PartOfHour): boolean {
  return !isOutside(part) && (part.window.start > part.hour || part.window.end < part.end);
}

/** The part of an hour's energy that lies in the window. */
function amountIn(
  source: Source,
  parameters: Parameters | null,
  part: PartOfHour & Counted & { readonly amount: number },
): number {
  const { machine, meter, amount } = part;
  if (amount <= 0 || isOutside(part)) return 0;
  if (!isCut(part)) return amount;
  const estimated = part.source === "estimate" && parameters !== null;
  const cut = estimated ? estimatedIn(source, parameters, { ...part, machine }) : null;
  return cut ?? amount * shareOf(source, meter, part);
}

/** The estimate of an hour's part; null: the readings have left the log. */
function estimatedIn(
  source: Source,
  parameters: Parameters,
  { machine, hour, window }: PartOfHour & { readonly machine: Machine },
): number | null {
  const stretches = stretchesIn(source, { start: hour, end: hour + HOUR_MS }, { machine, parameters });
  if (stretches.length === 0) return null;
  const until = (at: EpochMs): number => millionthsOf(machine, workUntil(stretches, Math.max(hour, at)));
  return Math.max(0, until(Math.min(hour + HOUR_MS, window.end)) - until(window.start)) / MILLIONTHS;
}

/** 0..1: how much of the energy of an hour that the window cuts lies in it. */
function shareOf(source: Source, tag: TagName | undefined, { hour, end, window }: PartOfHour): number {
  const rises = tag === undefined ? [] : risesIn(source, tag, { start: hour, end });
  const whole = rises.reduce((sum, { rise }) => sum + rise, 0);
  if (whole === 0) return (Math.min(end, window.end) - Math.max(hour, window.start)) / (end - hour);
  const inside = rises.filter(({ at }) => at >= window.start && at < window.end);
  return inside.reduce((sum, { rise }) => sum + rise, 0) / whole;
}

/** A heartbeat is at most an hour old: the load that holds at a span's start stands there. */
const BEFORE_MS: Milliseconds = 3_600_000;

/** A steady stretch of a machine's work. */
interface Stretch {
  readonly start: EpochMs;
  readonly end: EpochMs;
  /** Per millisecond, as derivation/parameters.ts has it. */
  readonly rate: number;
}

/** How far it was read. */
interface Reach {
  readonly boot: string;
  readonly to_mono: Milliseconds;
  readonly to: EpochMs;
}

/**
 * What a machine did over the span, from the readings still in the log: as the fold counts it, so that the parts of an hour are
 * the hour. The parameters given hold until the log has others.
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
  let reach: Reach | null = null;
  const pass = (to: EpochMs): void => {
    const start = Math.max(mark, span.start);
    const end = Math.min(to, span.end);
    if (end > start && rate > 0) found.push({ start, end, rate });
    mark = Math.max(mark, to);
  };
  // Past its end a span may be bridged by the next poll.
  const end = span.end + (load === null ? 0 : bridgeMs(parameters, load.group));
  for (const record of source.reader.log(source.stream, { start: span.start - BEFORE_MS, end })) {
    if (reach !== null) pass(Math.min(record.time, reach.to));
    if (record.kind === KIND.parameters) {
      rules = record.value;
      load = loadsOf(rules)[machine];
      if (load === null) rate = 0;
    } else if (
      load !== null &&
      record.kind === KIND.coverage &&
      record.value.group === load.group &&
      record.value.polls > 0
    ) {
      const { from, to } = record.value;
      const bridge_ms = bridgeMs(rules, load.group);
      if (reach === null || reach.boot !== record.boot || from - reach.to_mono > bridge_ms)
        mark = Math.max(mark, record.time);
      reach = { boot: record.boot, to_mono: to, to: record.time + (to - from) };
      pass(record.time);
    } else if (load !== null && record.kind === KIND.reading && record.tag === load.tag) {
      const { quality, value } = record;
      const isKnown = quality !== "bad" && typeof value === "number";
      rate = isKnown ? workRate(machine, load.size, inFigureUnit(value, rules.tags[load.tag])) : 0;
    }
  }
  if (reach !== null) pass(reach.to);
  return found;
}

/** Work before an instant. */
function workUntil(stretches: readonly Stretch[], at: EpochMs): number {
  return stretches.reduce((sum, { start, end, rate }) => sum + rate * Math.max(0, Math.min(end, at) - start), 0);
}
