import type { Parameters, TagParameters } from "../../../src/domain/parameters.ts";
import { USUAL_LIMITS } from "../../plc/model/booth.ts";
import { USUAL_MODE_SETS } from "../../plc/model/types.ts";

/** Interval of counters and sensors, so long that three months of a fleet stay small. */
export const SLOW_MS = 30 * 60_000;
export const FAST_MS = 1000;

const MODE_CODES = {
  off: 0,
  idle: 1,
  prep: 2,
  spray: 3,
  flash: 4,
  purge: 5,
  bake: 6,
  cool_down: 8,
  setback: 9,
  maintenance: 10,
  fault: 20,
  estop: 21,
} as const;

/** Returns the demo PLCs' code for a mode. */
export function codeOf(mode: string): number {
  return Object.entries(MODE_CODES).find(([name]) => name === mode)?.[1] ?? 99;
}

function tag(role: TagParameters["role"], more: Partial<TagParameters> = {}): TagParameters {
  const usual = { bay: 0, unit: "", factor: 1, group: "slow", deadband: 0, heartbeat_ms: 0 };
  return { ...(role === undefined ? {} : { role }), ...usual, ...more };
}

function counter(step: number, max_rate_per_h: number): Pick<TagParameters, "counter"> {
  return { counter: { step, max_rate_per_h, retained: true } };
}

/** Every tag of the demo. Its readings are rounded to `step`. */
export const TAGS: Readonly<Record<string, { readonly step: number; readonly parameters: TagParameters }>> = {
  mode: { step: 1, parameters: tag("mode", { group: "fast" }) },
  exhaust_reset: { step: 1, parameters: tag("filter_reset", { group: "fast", filter: "exhaust_filter" }) },
  pre_reset: { step: 1, parameters: tag("filter_reset", { group: "fast", filter: "pre_filter" }) },
  intake_reset: { step: 1, parameters: tag("filter_reset", { group: "fast", filter: "intake_filter" }) },
  cycle_count: { step: 1, parameters: tag("cycle_counter", counter(1, 6)) },
  run_minutes: { step: 0.1, parameters: tag("hour_meter", { unit: "min", ...counter(0.1, 61.2) }) },
  gas: { step: 0.01, parameters: tag("gas", { unit: "therm", ...counter(0.01, 11) }) },
  energy: { step: 0.1, parameters: tag("kwh", { unit: "kWh", ...counter(0.1, 40) }) },
  exhaust_minutes: {
    step: 0.1,
    parameters: tag("filter_minutes", { unit: "min", filter: "exhaust_filter", ...counter(0.1, 61.2) }),
  },
  pre_minutes: {
    step: 0.1,
    parameters: tag("filter_minutes", { unit: "min", filter: "pre_filter", ...counter(0.1, 61.2) }),
  },
  exhaust_pressure: { step: 5, parameters: tag("filter_pressure", { unit: "Pa", filter: "exhaust_filter" }) },
  fan_speed: { step: 1, parameters: tag("fan_speed", { unit: "%" }) },
  air_temperature: { step: 2, parameters: tag(undefined, { unit: "C" }) },
  firmware_version: { step: 0, parameters: tag("firmware_version") },
  plc_program: { step: 0, parameters: tag("plc_program") },
  plc_program_revision: { step: 0, parameters: tag("plc_program_revision") },
};

/** Returns the parameters of every booth of the demo. */
export function demoParameters(tz: string): Parameters {
  return {
    profile: "click-booth",
    profile_version: "1.0.0",
    groups: { fast: { poll_interval_ms: FAST_MS }, slow: { poll_interval_ms: SLOW_MS } },
    tags: Object.fromEntries(Object.entries(TAGS).map(([name, { parameters }]) => [name, parameters])),
    modes: Object.fromEntries(Object.entries(MODE_CODES).map(([mode, code]) => [code, mode])) as Parameters["modes"],
    mode_sets: USUAL_MODE_SETS,
    tz,
    working_hours: [],
    bay_count: 1,
    filters: Object.fromEntries(Object.entries(USUAL_LIMITS).map(([type, limits]) => [type, { limits }])),
  };
}
