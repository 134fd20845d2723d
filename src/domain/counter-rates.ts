import type { Parameters, TagParameters } from "./parameters.ts";

const BTU_PER_THERM = 100_000;
const GAS_SLACK = 1.1;

/** The tag's own fastest rate, else the default of its role, in the tag's unit per hour. */
export function maxRateOf(tag: TagParameters, parameters: Parameters): number | undefined {
  if (tag.counter?.max_rate_per_h !== undefined) return tag.counter.max_rate_per_h;
  switch (tag.role) {
    case "cycle_counter":
      return 6;
    case "hour_meter":
    case "filter_minutes":
      return 1.02 * unitsPerHour(tag.unit);
    case "motor_starts":
      return 60;
    case "gas":
      return parameters.burner_size_btu_h === undefined
        ? undefined
        : (GAS_SLACK * parameters.burner_size_btu_h) / BTU_PER_THERM / (tag.factor === 0 ? 1 : tag.factor);
    default:
      return undefined;
  }
}

/** How many of a time unit make an hour. */
export function unitsPerHour(unit: string): number {
  if (unit === "min") return 60;
  return unit === "s" ? 3600 : 1;
}
