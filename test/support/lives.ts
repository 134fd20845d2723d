import type { FilterState } from "../../src/derivation/state.ts";
import type { Parameters } from "../../src/domain/parameters.ts";
import type { IncidentFact } from "../../src/domain/record.ts";
import { fold, forget, run, type Script, script, silence, stay, type Values, valuesOf } from "./booth.ts";

/**
 * A time with these values (see `stay`), or a gap in the polls. The first poll after a gap logs each value, as after an
 * outage.
 */
export type Part = readonly [ms: number, values?: Values] | { readonly gap_ms: number };

/** Plays the parts one after the other. */
export function live(one: Script, ...parts: readonly Part[]): void {
  for (const part of parts) {
    if (!("gap_ms" in part)) {
      stay(one, ...part);
      continue;
    }
    silence(one, part.gap_ms);
    forget(one);
  }
}

/** Starts a booth and plays the parts. */
export function lived(parameters: Parameters, ...parts: readonly Part[]): Script {
  const booth = script(parameters);
  live(booth, ...parts);
  return booth;
}

/** Returns the facts about a check's incidents. The script is committed six entries at a time. */
export function incidentsOf(booth: Script, parameters: Parameters, check: string): IncidentFact["value"][] {
  return valuesOf(fold(booth.entries, parameters, [6]).facts, "i").filter((one) => one.check === check);
}

/** Returns the state of the exhaust filter after the script. */
export function exhaustFilter(booth: Script, parameters: Parameters): FilterState | undefined {
  return run(booth, parameters).state.filters.exhaust_filter;
}
