import { countOf } from "../derivation/timeline/readings.ts";
import { energyOf } from "../derivation/parameters.ts";
import type { HourState } from "../derivation/state.ts";
import { maxRateOf } from "../domain/parameters.ts";
import { KIND, type HourFact } from "../domain/record.ts";
import { HOUR_MS } from "../domain/time.ts";
import type { EpochMs, TagName } from "../domain/units.ts";
import type { Window } from "../store/port.ts";
import { type Source, stateOf, type TimeLine } from "./source.ts";
import { latestReadingsBefore } from "./values.ts";

/**
 * Returns whether the log still has all readings of an hour and of the hour before it. The earlier hour is needed because an unchanged
 * value is logged once an hour, and a counter's first rise starts from the previous reading.
 */
export function isInLog({ reader, stream }: Source, hour: EpochMs): boolean {
  const info = reader.streams().find((one) => one.stream === stream);
  if (info === undefined || info.oldest_seq <= 1) return true;
  const [first] = reader.log(stream, { start: 0, end: Number.MAX_SAFE_INTEGER });
  return first !== undefined && first.time <= hour - HOUR_MS;
}

/** Figures of an hour so far: counted cycles, therm, kWh. */
export type HourFigures = Pick<HourFact["value"], "hour" | "cycles" | "gas_therm" | "energy_kwh">;

/** Returns the hours that overlap the window: written, provisional and incomplete ones. Each hour occurs once, in no order. */
export function hoursIn(source: Source, { window, open_end }: TimeLine): readonly HourFigures[] {
  const touched = { start: window.start - HOUR_MS, end: window.end };
  const written = source.reader.facts(source.stream, KIND.hour, touched).map(({ value }) => value);
  const provisional = open_end.facts.filter((fact) => fact.kind === KIND.hour).map(({ value }) => value);
  const open = Object.entries(open_end.state.hours).map(([hour, figures]) => openHour(Number(hour), figures));
  return [
    ...written,
    ...[...provisional, ...open].filter(({ hour }) => hour + HOUR_MS > window.start && hour < window.end),
  ];
}

function openHour(hour: EpochMs, { counted_cycles, gas_therm, energy_kwh, work = {} }: HourState): HourFigures {
  return {
    hour,
    cycles: counted_cycles,
    gas_therm: gas_therm + energyOf("burner", work.burner ?? 0),
    energy_kwh: energy_kwh + energyOf("fan", work.fan ?? 0),
  };
}

/**
 * Returns the rise of a counter at each good reading in the span, compared with the previous reading of any age. Falls and jumps count like
 * in the fold: as a wrap, as a reset, or not at all.
 */
export function risesIn(source: Source, tag: TagName, span: Window): { readonly at: EpochMs; readonly rise: number }[] {
  const { parameters } = stateOf(source);
  const meter = parameters?.tags[tag];
  if (parameters === null || meter?.counter === undefined) return [];
  const counting = { restarted: false, counter: meter.counter, max_rate_per_h: maxRateOf(meter, parameters) };
  const rises: { at: EpochMs; rise: number }[] = [];
  let [before] = latestReadingsBefore(source, span.start, [tag]);
  for (const record of source.reader.readings(source.stream, span, new Set([tag]))) {
    if (record.quality === "bad") continue;
    if (before !== undefined) {
      const previous = Number(before.value);
      const next = Number(record.value);
      // Uses mono within a boot, because corrected time stands still after the clock was set back while the counter continues.
      const elapsed_ms = before.boot === record.boot ? record.mono - before.mono : record.time - before.time;
      rises.push({ at: record.time, rise: countOf({ previous, next, elapsed_ms, ...counting }).delta });
    }
    before = record;
  }
  return rises;
}
