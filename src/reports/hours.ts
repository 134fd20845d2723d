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
 * Returns whether the log still has every reading of an hour. What came before the hour counts too: a value that doesn't change is
 * logged once an hour at least, and a counter's first rise starts from the reading before.
 */
export function isInLog({ reader, stream }: Source, hour: EpochMs): boolean {
  const info = reader.streams().find((one) => one.stream === stream);
  if (info === undefined || info.oldest_seq <= 1) return true;
  const [first] = reader.log(stream, { start: 0, end: Number.MAX_SAFE_INTEGER });
  return first !== undefined && first.time <= hour - HOUR_MS;
}

/** What one hour counted so far, in units: counted cycles, therm, kWh. */
export type HourFigures = Pick<HourFact["value"], "hour" | "cycles" | "gas_therm" | "energy_kwh">;

/**
 * Hours that the line's window touches: those written, those that would be by now had the PLC said anything more, and those that
 * aren't whole yet. Unsorted; each hour once.
 */
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

/** An hour whose work isn't energy yet. */
function openHour(hour: EpochMs, { counted_cycles, gas_therm, energy_kwh, work = {} }: HourState): HourFigures {
  return {
    hour,
    cycles: counted_cycles,
    gas_therm: gas_therm + energyOf("burner", work.burner ?? 0),
    energy_kwh: energy_kwh + energyOf("fan", work.fan ?? 0),
  };
}

/**
 * What the meter's good readings in the span rose by, each against the one before, however long the booth was silent in between. A fall
 * or a jump counts as it did when it was booked: as a wrap, a reset or nothing.
 */
export function risesIn(source: Source, tag: TagName, span: Window): { readonly at: EpochMs; readonly rise: number }[] {
  const { parameters } = stateOf(source);
  const own = parameters?.tags[tag];
  if (parameters === null || own?.counter === undefined) return [];
  const counting = { restarted: false, counter: own.counter, max_rate_per_h: maxRateOf(own, parameters) };
  const rises: { at: EpochMs; rise: number }[] = [];
  let [before] = latestReadingsBefore(source, span.start, [tag]);
  for (const record of source.reader.readings(source.stream, span, new Set([tag]))) {
    if (record.quality === "bad") continue;
    if (before !== undefined) {
      const previous = Number(before.value);
      const next = Number(record.value);
      // Where a clock was put back time stands still for a while, and a counter goes on.
      const elapsed_ms = before.boot === record.boot ? record.mono - before.mono : record.time - before.time;
      rises.push({ at: record.time, rise: countOf({ previous, next, elapsed_ms, ...counting }).delta });
    }
    before = record;
  }
  return rises;
}
