import type { CounterParameters, Parameters, TagParameters, TagRole } from "../../src/domain/parameters.ts";
import type { FilterType } from "../../src/domain/booth.ts";

const COUNTER: CounterParameters = { step: 1, modulus: 65_536, max_rate_per_h: 6, retained: true };

/** Makes a tag of the group `fast`. */
export function tag(role: TagRole, unit = "", extra: Partial<TagParameters> = {}): TagParameters {
  return { role, bay: 0, unit, factor: 1, group: "fast", deadband: 0, heartbeat_ms: 3_600_000, ...extra };
}

export function minutesTag(filter: FilterType): TagParameters {
  return tag("filter_minutes", "min", { filter, counter: { step: 0.1, max_rate_per_h: 61.2, retained: true } });
}

/** A booth with one bay that is polled every second, with the mode codes of the CLICK-like profile. */
export const PARAMETERS: Parameters = {
  profile: "test",
  profile_version: "1.0.0",
  groups: { fast: { poll_interval_ms: 1000 }, slow: { poll_interval_ms: 10_000 } },
  tags: {
    mode: tag("mode"),
    cycles: tag("cycle_counter", "cycles", { counter: COUNTER }),
    meter: tag("hour_meter", "min", { counter: { step: 0.1, modulus: 1e6, max_rate_per_h: 61.2, retained: true } }),
    uptime: tag("uptime", "s"),
    firmware: tag("firmware_version", "", { group: "slow" }),
  },
  modes: {
    "0": "off",
    "1": "idle",
    "2": "prep",
    "3": "spray",
    "4": "flash",
    "5": "purge",
    "6": "bake",
    "7": "bake",
    "8": "cool_down",
    "9": "setback",
    "10": "maintenance",
    "20": "fault",
    "21": "estop",
  },
  mode_sets: {
    in_use: ["spray", "flash", "purge", "bake"],
    run: ["spray", "flash", "purge", "bake", "cool_down"],
    runtime: ["spray", "flash", "purge", "bake", "cool_down"],
  },
  tz: "UTC",
  working_hours: [],
  bay_count: 1,
  filters: {},
};

/** The same booth without counters. Gaps longer than the bridge are then never attributed to a mode. */
export const PLAIN: Parameters = { ...PARAMETERS, tags: { mode: tag("mode") } };

export function withFilters(filters: Parameters["filters"], tags: Parameters["tags"] = {}): Parameters {
  return { ...PARAMETERS, filters, tags: { ...PARAMETERS.tags, ...tags } };
}

/** Removes the PLC's cycle counter, so that derived cycles count. */
export function uncounted(parameters: Parameters): Parameters {
  const tags = Object.entries(parameters.tags).filter(([, { role }]) => role !== "cycle_counter");
  return { ...parameters, tags: Object.fromEntries(tags) };
}

/** A booth with every sensor that the checks use. */
export const SENSED: Parameters = {
  ...PARAMETERS,
  tags: {
    ...PARAMETERS.tags,
    air: tag("air_temperature", "C", { between: { min: -50, max: 400 } }),
    fan: tag("fan_speed", "%"),
    burner: tag("burner_on"),
    door: tag("door_open"),
  },
};
