import { tagWithRole } from "../core/derive/roles.ts";
import type { EpochMs, TagName } from "../core/types/units.ts";
import type { Window } from "../ports.ts";
import { timeLineOf, type FigureCoverage, type Source } from "./source.ts";

const HOUR_MS = 3_600_000;

export interface Energy {
  /** therm; null: no meter. */
  readonly gas_therm: number | null;
  /** kWh; null: no meter. */
  readonly energy_kwh: number | null;
  readonly source: "plc";
  readonly coverage: FigureCoverage;
}

/**
 * Energy of the window as the PLC's meters counted it, by hours. An hour that the window cuts is shared out by the meter's
 * readings in it; once these have left the log, pro rata by time.
 */
export function energy(source: Source, window: Window): Energy {
  const { window: clipped, coverage, tail } = timeLineOf(source, window);
  const { state } = tail;
  const facts = source.reader.facts(source.stream, "d", { start: clipped.start - HOUR_MS, end: clipped.end });
  const hours = [
    ...facts.map(({ value }) => value),
    ...Object.entries(state.hours).map(([hour, figures]) => ({ hour: Number(hour), ...figures })),
  ];
  const [gas_tag, kwh_tag] = [tagWithRole(state.parameters, "gas"), tagWithRole(state.parameters, "kwh")];
  let [gas, kwh] = [0, 0];
  for (const { hour, gas_therm, energy_kwh } of hours) {
    const part = { hour, end: Math.max(hour + 1, Math.min(hour + HOUR_MS, source.now_ms)), window: clipped };
    if (gas_therm > 0) gas += gas_therm * shareOf(source, gas_tag, part);
    if (energy_kwh > 0) kwh += energy_kwh * shareOf(source, kwh_tag, part);
  }
  return {
    gas_therm: gas_tag === undefined ? null : gas,
    energy_kwh: kwh_tag === undefined ? null : kwh,
    source: "plc",
    coverage,
  };
}

interface PartOfHour {
  readonly hour: EpochMs;
  readonly end: EpochMs;
  readonly window: Window;
}

/** 0..1: how much of the hour's energy lies in the window. */
function shareOf(source: Source, tag: TagName | undefined, { hour, end, window }: PartOfHour): number {
  if (window.start <= hour && window.end >= end) return 1;
  if (window.end <= hour || window.start >= end) return 0;
  const rises = tag === undefined ? [] : risesIn(source, tag, { start: hour, end });
  const whole = rises.reduce((sum, { rise }) => sum + rise, 0);
  if (whole === 0) return (Math.min(end, window.end) - Math.max(hour, window.start)) / (end - hour);
  const inside = rises.filter(({ at }) => at >= window.start && at < window.end);
  return inside.reduce((sum, { rise }) => sum + rise, 0) / whole;
}

/** What the meter's good readings in the span rose by, each against the one before. */
function risesIn(source: Source, tag: TagName, span: Window): { readonly at: EpochMs; readonly rise: number }[] {
  const rises: { at: EpochMs; rise: number }[] = [];
  let before: number | null = null;
  // A heartbeat is at most an hour old: the reading before the span's first stands there.
  for (const record of source.reader.log(source.stream, { start: span.start - HOUR_MS, end: span.end })) {
    if (record.kind !== "r" || record.tag !== tag || record.quality === "bad") continue;
    const value = Number(record.value);
    if (before !== null && record.time >= span.start)
      rises.push({ at: record.time, rise: Math.max(0, value - before) });
    before = value;
  }
  return rises;
}
