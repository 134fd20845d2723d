import { contrast, type AllFigures } from "../../scenarios/figures.ts";

/**
 * Gateway and service, each by its own derivation, have the same times by mode and in use, the same count of cycles, filter changes
 * and revisions. Left out, as the two differ there in rare stories: the use of a filter (a step of its counter at the poll of the change),
 * starts, and the list of cycles (a run over a gap is one to the one side and two to the other), which is held against the truth.
 */
export function differingFigures(gateway: AllFigures, service: AllFigures): readonly string[] {
  return contrast(comparable(gateway), comparable(service));
}

function comparable(figures: AllFigures): AllFigures {
  return {
    ...figures,
    overuse_ms: 0,
    overuse_cycles: 0,
    starts: {},
    cycles: [],
    maintenance: figures.maintenance.map((one) => ({
      ...one,
      ...{ installed_at: 0, duration_ms: 0, overuse_ms: 0, overuse_since: null, active_spray_ms: 0 },
      ...{ booth_in_use_ms: 0, booth_overuse_cycles: 0, booth_overuse_ms: 0, cycles: 0, service: "on_time" },
    })),
  };
}
