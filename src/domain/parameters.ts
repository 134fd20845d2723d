import type { FilterLimits, FilterType, ModeSets, ProfileMode, WorkingHours } from "./booth.ts";
import { type Conversion, converted } from "./engineering-units.ts";
import type { EpochMs, Milliseconds, TagName } from "./units.ts";

/** Meanings of a tag for derivation. A tag without a role is only logged and shown. */
export const TAG_ROLES = [
  "mode",
  "cycle_counter",
  "hour_meter",
  /** A bit that is on while the booth is in the tag's `mode`. All bits of a bay together make the bay's mode. */
  "mode_bit",
  "uptime",
  "first_scan",
  "firmware_version",
  "plc_program",
  "plc_program_revision",
  "plc_serial",
  "gas",
  "kwh",
  "filter_minutes",
  "filter_reset",
  "filter_pressure",
  "air_temperature",
  "metal_temperature",
  "booth_pressure",
  "fan_speed",
  "burner_modulation",
  "burner_on",
  "door_open",
  "motor_starts",
  /** The PLC's own clock: seconds since 1970, or milliseconds if the unit is ms. */
  "plc_clock",
] as const;
export type TagRole = (typeof TAG_ROLES)[number];

/** Properties of a counter: its step in the tag's unit, its modulus, and its highest rate. */
export interface CounterParameters {
  readonly step: number;
  /**
   * The number of values before the counter wraps: after modulus - step, the counter continues with 0. Absent: the counter is not known to
   * wrap.
   */
  readonly modulus?: number;
  readonly max_rate_per_h?: number;
  /** Whether the PLC keeps the counter over a power cycle. */
  readonly retained: boolean;
}

export interface TagParameters {
  readonly role?: TagRole;
  /** The role from the profile, if the tag's unit doesn't fit it. Such a tag has no `role`, so no figure is made from it. */
  readonly unfit_role?: TagRole;
  /** The mode that the bit means. Only for the role mode_bit. */
  readonly mode?: ProfileMode;
  /** The filter that the tag belongs to. Only for the roles filter_*. */
  readonly filter?: FilterType;
  /** Number of the bay; 0: the whole booth. */
  readonly bay: number;
  /** Unit of the decoded value: "min", "h", "therm", "kWh", "Pa", "C", "%", ... */
  readonly unit: string;
  /** Factor from the decoded value to the figure's unit (e.g. m3 to therm). */
  readonly factor: number;
  /** Conversion from the tag's unit to Pa, C or %, which rules of pressures, temperatures and loads use; absent: the tag has that unit. */
  readonly conversion?: Conversion;
  /** The poll group that reads the tag. */
  readonly group: string;
  readonly deadband: number;
  /** Deadband as a percentage of the last logged value. If both deadbands are given, the larger one applies. Not for counters. */
  readonly deadband_percent?: number;
  readonly heartbeat_ms: Milliseconds;
  readonly counter?: CounterParameters;
  /** Limits of a good reading in the tag's unit, both included. A reading outside these limits is the incident `between`. */
  readonly between?: { readonly min: number; readonly max: number };
}

export interface FilterParameters {
  readonly limits: FilterLimits;
  /** Pressure drop of the clean filter, Pa; absent: neither the profile nor the service gives it. */
  readonly baseline_pa?: number;
}

/**
 * A rule for bakes, such as "metal at or above 60 C for 30 min" or "metal never above 49 C". It has `at_least_c` with `minutes`, or
 * `at_most_c`, or both.
 */
export interface BakeRule {
  readonly name: string;
  readonly sensor: "air" | "metal";
  readonly at_least_c?: number;
  /** Continuous time for which the temperature must be at or above `at_least_c`. */
  readonly minutes?: number;
  /** Temperature that must never be exceeded. */
  readonly at_most_c?: number;
}

/** Prices from a local day on. */
export interface Prices {
  /** Local date, such as "2026-03-01". */
  readonly from: string;
  /** ISO 4217 code, such as "USD". */
  readonly currency: string;
  readonly gas_per_therm?: number;
  readonly electricity_per_kwh?: number;
}

/**
 * All settings that derivation depends on. They are logged as a p record after each change, so any figure can be recomputed with the
 * settings of its time.
 */
export interface Parameters {
  readonly profile: string;
  readonly profile_version: string;
  readonly groups: Readonly<Record<string, { readonly poll_interval_ms: Milliseconds }>>;
  readonly tags: Readonly<Record<TagName, TagParameters>>;
  /** Modes by raw mode value, as text. */
  readonly modes: Readonly<Record<string, ProfileMode>>;
  readonly mode_sets: ModeSets;
  /** Stages shorter than this are merged into the next one; absent: the larger of 2 s and one poll interval. */
  readonly min_stage_ms?: Milliseconds;
  /** IANA name of the time zone; an unknown name counts as UTC. */
  readonly tz: string;
  readonly working_hours: readonly WorkingHours[];
  readonly bay_count: number;
  /** Parameters by filter type. A type that isn't fitted is absent. */
  readonly filters: Readonly<Partial<Record<FilterType, FilterParameters>>>;
  readonly burner_size_btu_h?: number;
  readonly motor_size_hp?: number;
  /** Rules for bakes, which only reports evaluate; absent: none. */
  readonly bake_rules?: readonly BakeRule[];
  /** Prices for reports, oldest first; absent: none. */
  readonly prices?: readonly Prices[];
}

/** Parameters of reports that don't affect the fold. They are in force from `from` (corrected time) on. */
export interface ReportRules extends Pick<Parameters, "mode_sets" | "tz" | "working_hours"> {
  readonly from: EpochMs;
}

const BTU_PER_THERM = 100_000;
const GAS_SLACK = 1.1;

/** Returns the tag's own highest rate, or else the default of its role, in the tag's unit per hour. */
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

/** Converts a reading to the unit in which the rules of its role count: Pa, C or %. */
export function inFigureUnit(value: number, tag: Pick<TagParameters, "conversion"> | undefined): number {
  return tag?.conversion === undefined ? value : converted(value, tag.conversion);
}

/** Returns how many of a time unit make an hour. A tag in any other time unit has a factor to hours: see `src/domain/tag-units.ts`. */
export function unitsPerHour(unit: string): number {
  if (unit === "min") return 60;
  return unit === "s" ? 3600 : 1;
}
