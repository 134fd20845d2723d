import { energyOf } from "../derivation/machines.ts";
import type { HourState } from "../derivation/state.ts";
import type { HourFact } from "../domain/record.ts";
import type { EpochMs } from "../domain/units.ts";
import type { Source, TimeLine } from "./source.ts";

const HOUR_MS = 3_600_000;

/** What one hour counted so far, in units: counted cycles, therm, kWh. */
export type HourFigures = Pick<HourFact["value"], "hour" | "cycles" | "gas_therm" | "energy_kwh">;

/**
 * Hours that the line's window touches: those written, those that would be by now had the PLC said anything more, and those that
 * aren't whole yet. Unsorted; each hour once.
 */
export function hoursIn(source: Source, { window, tail }: TimeLine): readonly HourFigures[] {
  const touched = { start: window.start - HOUR_MS, end: window.end };
  const written = source.reader.facts(source.stream, "d", touched).map(({ value }) => value);
  const provisional = tail.facts.filter((fact) => fact.kind === "d").map(({ value }) => value);
  const open = Object.entries(tail.state.hours).map(([hour, figures]) => openHour(Number(hour), figures));
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
