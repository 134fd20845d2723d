import { contrast, type AllFigures } from "../../scenarios/figures.ts";

/**
 * Gateway and service, each by its own derivation, have the same times, starts, cycles, filter changes and revisions. The use of a
 * filter is left out: at polls of several seconds the two book the poll of the change, up to a step of the PLC's counter, to one
 * filter or to the other; and so is why a cycle was aborted.
 */
export function differingFigures(gateway: AllFigures, service: AllFigures): readonly string[] {
  return contrast(comparable(gateway), comparable(service));
}

function comparable(figures: AllFigures): AllFigures {
  return {
    ...figures,
    overuse_ms: 0,
    overuse_cycles: 0,
    cycles: figures.cycles.map((cycle) => ({ ...cycle, reason: "" })),
    maintenance: figures.maintenance.map((one) => ({
      ...one,
      ...{ installed_at: 0, duration_ms: 0, overuse_ms: 0, overuse_since: null, active_spray_ms: 0 },
      ...{ booth_in_use_ms: 0, booth_overuse_cycles: 0, booth_overuse_ms: 0, cycles: 0, service: "on_time" },
    })),
  };
}
