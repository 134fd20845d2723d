import type { FilterLimits, FilterType, ModeSets, ProfileMode, WorkingHours } from "./booth.ts";
import { type Conversion, converted } from "./engineering-units.ts";
import type { EpochMs, Milliseconds, TagName } from "./units.ts";

/** The meaning of a tag for derivation. A tag without a role is only logged and shown. */
export const TAG_ROLES = [
  "mode",
  "cycle_counter",
  "hour_meter",
  /** On while the booth is in the tag's `mode`; all bits of a bay together make its mode. */
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
  /** The PLC's own clock: epoch seconds, or ms if the unit is ms. */
  "plc_clock",
] as const;
export type TagRole = (typeof TAG_ROLES)[number];

/** Properties of a counter: its step in the tag's unit, its modulus, and its fastest rate. */
export interface CounterParameters {
  readonly step: number;
  /** The counter goes from modulus - step to 0; absent: it is not known to wrap. */
  readonly modulus?: number;
  readonly max_rate_per_h?: number;
  /** Kept by the PLC over a power cycle. */
  readonly retained: boolean;
}

export interface TagParameters {
  readonly role?: TagRole;
  /** The role that the profile gives the tag, if the tag's unit does not fit it. Such a tag has no `role`, so no figure is made of it. */
  readonly unfit_role?: TagRole;
  /** With the role mode_bit. */
  readonly mode?: ProfileMode;
  /** With the roles filter_*: which filter. */
  readonly filter?: FilterType;
  /** 0: the whole booth. */
  readonly bay: number;
  /** Unit of the decoded value: "min", "h", "therm", "kWh", "Pa", "C", "%", ... */
  readonly unit: string;
  /** value in the figure's unit = decoded value x factor (e.g. m3 to therm). */
  readonly factor: number;
  /** From the tag's unit to Pa, C or %, in which rules of pressures, temperatures and loads count. Absent: it is that unit. */
  readonly conversion?: Conversion;
  /** The poll group that reads it. */
  readonly group: string;
  readonly deadband: number;
  /** Share of the value logged last; if both are given, the larger deadband applies. Not for counters. */
  readonly deadband_percent?: number;
  readonly heartbeat_ms: Milliseconds;
  readonly counter?: CounterParameters;
  /** Limits of a good reading in the tag's unit, both included. A reading outside is the incident `between`. */
  readonly between?: { readonly min: number; readonly max: number };
}

export interface FilterParameters {
  readonly limits: FilterLimits;
  /** Clean pressure drop, Pa, where the profile or the service knows it. */
  readonly baseline_pa?: number;
}

/**
 * Everything that a rule of derivation depends on. Written to the log as a p record whenever it differs from the
 * last one, so that any figure can be recomputed with the rules that held then.
 */
export interface Parameters {
  readonly profile: string;
  readonly profile_version: string;
  readonly groups: Readonly<Record<string, { readonly poll_interval_ms: Milliseconds }>>;
  readonly tags: Readonly<Record<TagName, TagParameters>>;
  /** Raw mode value, as text, to mode. */
  readonly modes: Readonly<Record<string, ProfileMode>>;
  readonly mode_sets: ModeSets;
  /** Absent: the larger of 2 s and one poll. */
  readonly min_stage_ms?: Milliseconds;
  /** IANA name; an unknown one counts as UTC. */
  readonly tz: string;
  readonly working_hours: readonly WorkingHours[];
  readonly bay_count: number;
  /** A filter type that isn't fitted is absent. */
  readonly filters: Readonly<Partial<Record<FilterType, FilterParameters>>>;
  readonly burner_size_btu_h?: number;
  readonly motor_size_hp?: number;
}

/** Parameters of reports that do not affect the fold, in force from `from` on (corrected time). */
export interface ReportRules extends Pick<Parameters, "mode_sets" | "tz" | "working_hours"> {
  readonly from: EpochMs;
}

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

/** A reading in the unit in which its role's rules count: Pa, C or %. */
export function inFigureUnit(value: number, tag: Pick<TagParameters, "conversion"> | undefined): number {
  return tag?.conversion === undefined ? value : converted(value, tag.conversion);
}

/** How many of a time unit make an hour. The factor of a tag in any other time unit converts to hours: see `src/domain/tag-units.ts`. */
export function unitsPerHour(unit: string): number {
  if (unit === "min") return 60;
  return unit === "s" ? 3600 : 1;
}
