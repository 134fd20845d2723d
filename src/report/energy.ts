import { tagWithRole } from "../core/derive/roles.ts";
import type { EpochMs } from "../core/types/units.ts";
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

/** Energy of the window as the PLC's meters counted it, by hours; an hour that the window cuts is taken pro rata. */
export function energy(source: Source, window: Window): Energy {
  const { window: clipped, coverage, tail } = timeLineOf(source, window);
  const { state } = tail;
  const facts = source.reader.facts(source.stream, "d", { start: clipped.start - HOUR_MS, end: clipped.end });
  const hours = [
    ...facts.map(({ value }) => value),
    ...Object.entries(state.hours).map(([hour, figures]) => ({ hour: Number(hour), ...figures })),
  ];
  let [gas, kwh] = [0, 0];
  for (const { hour, gas_therm, energy_kwh } of hours) {
    const part = partOf(hour, Math.max(hour + 1, Math.min(hour + HOUR_MS, source.now_ms)), clipped);
    gas += gas_therm * part;
    kwh += energy_kwh * part;
  }
  return {
    gas_therm: tagWithRole(state.parameters, "gas") === undefined ? null : gas,
    energy_kwh: tagWithRole(state.parameters, "kwh") === undefined ? null : kwh,
    source: "plc",
    coverage,
  };
}

function partOf(start: EpochMs, end: EpochMs, window: Window): number {
  return Math.max(0, Math.min(end, window.end) - Math.max(start, window.start)) / (end - start);
}
