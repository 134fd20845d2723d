import {
  type Conversion,
  conversionOf,
  type Dimension,
  isWithoutUnit,
  type Unit,
  unitOf,
} from "./engineering-units.ts";
import type { TagParameters, TagRole } from "./parameters.ts";

/** Unit in which a role's rules count, by role. The other roles need no unit. */
const FIGURE_UNITS: Readonly<Partial<Record<TagRole, string>>> = {
  hour_meter: "h",
  filter_minutes: "min",
  uptime: "s",
  plc_clock: "s",
  gas: "therm",
  kwh: "kWh",
  filter_pressure: "Pa",
  booth_pressure: "Pa",
  air_temperature: "C",
  metal_temperature: "C",
  fan_speed: "%",
  burner_modulation: "%",
  cycle_counter: "cycles",
  motor_starts: "starts",
};

/** How the unit of a tag affects the figure of its role. The other roles have no figure that depends on a unit. */
const USES: Readonly<Partial<Record<TagRole, "meter" | "clock" | "total" | "level">>> = {
  hour_meter: "meter",
  filter_minutes: "meter",
  plc_clock: "clock",
  gas: "total",
  kwh: "total",
  filter_pressure: "level",
  air_temperature: "level",
  fan_speed: "level",
  burner_modulation: "level",
};

/** Units of hour meters that derivation converts itself. */
const METER_UNITS: readonly string[] = ["s", "min", "h"];
/** Default of the highest rate of an hour meter, in hours per hour. Must equal the value in `maxRateOf`. */
const METER_RATE = 1.02;

/** A fault of a tag's unit. `expected`: the dimension that the tag's role needs; undefined: the role needs no unit. */
export interface UnitFault {
  readonly kind: "unknown" | "missing" | "unfit";
  readonly expected: Dimension | undefined;
  /** Whether a figure would be wrong; false: the unit is only shown. */
  readonly isFigureOff: boolean;
}

interface Measured extends Pick<TagParameters, "unit" | "factor"> {
  readonly role?: TagRole | undefined;
}

/** Returns the dimension of the unit that a role needs; undefined: the role needs no unit. */
export function dimensionOf(role: TagRole | undefined): Dimension | undefined {
  return role === undefined ? undefined : figureUnitOf(role)?.dimension;
}

function figureUnitOf(role: TagRole): Unit | undefined {
  const name = FIGURE_UNITS[role];
  return name === undefined ? undefined : unitOf(name);
}

/** Returns the fault of a tag's unit; null: the unit is right. */
export function unitFaultOf({ role, unit, factor }: Measured): UnitFault | null {
  const expected = dimensionOf(role);
  const use = role === undefined ? undefined : USES[role];
  // For totals and levels, a factor other than 1 replaces the conversion from the tag's unit. For time meters and clocks, both apply.
  const isOwnFactor = factor !== 1 && (use === "total" || use === "level");
  const isFigureOff = use !== undefined && !isOwnFactor;
  if (isWithoutUnit(unit)) {
    if (use !== "meter") return null;
    // Treats a meter without a unit as an hour meter. The figure of a filter's counter is then off: the counter is named minutes but would
    // be counted in hours.
    return { kind: "missing", expected, isFigureOff: role === "filter_minutes" };
  }
  const known = unitOf(unit);
  if (known === undefined) return { kind: "unknown", expected, isFigureOff };
  if (expected === undefined || known.dimension === expected || isOwnFactor) return null;
  return { kind: "unfit", expected, isFigureOff };
}

/**
 * Returns a profile's tag as derivation needs it: with the canonical spelling of its unit, and with a conversion to the unit of its role's
 * rules. A tag whose unit doesn't fit loses its role, but not its filter: it is polled, logged and shown, and only the figure of the role
 * is missing.
 *
 * Conversions are decided here and logged with the parameters, so a later change of the unit table doesn't change past figures.
 */
export function withUnitsInForce(tag: TagParameters): TagParameters {
  const known = unitOf(tag.unit);
  const named = known === undefined ? tag : { ...tag, unit: known.unit };
  const { role, ...others } = named;
  if (role === undefined) return named;
  if (unitFaultOf(tag)?.isFigureOff === true) return { ...others, unfit_role: role };
  const figure = figureUnitOf(role);
  if (known === undefined || figure === undefined) return levelByFactor(named);
  const conversion = conversionOf(known, figure);
  switch (USES[role]) {
    case "meter":
      return METER_UNITS.includes(known.unit) ? named : meterInHours(named, known);
    case "clock":
      return ["s", "ms"].includes(known.unit) ? named : { ...named, factor: named.factor * (conversion?.scale ?? 1) };
    case "total":
      return named.factor === 1 && conversion !== undefined ? { ...named, factor: conversion.scale } : named;
    case "level":
      return named.factor === 1 ? { ...named, ...unlessSame(conversion) } : levelByFactor(named);
    default:
      return named;
  }
}

/** Returns a level tag whose profile gives the factor to Pa, C or %. */
function levelByFactor(tag: TagParameters): TagParameters {
  const isLevel = tag.role !== undefined && USES[tag.role] === "level";
  return isLevel && tag.factor !== 1 ? { ...tag, conversion: { scale: tag.factor, offset: 0 } } : tag;
}

function unlessSame(conversion: Conversion | undefined): { readonly conversion?: Conversion } {
  return conversion === undefined || (conversion.scale === 1 && conversion.offset === 0) ? {} : { conversion };
}

/** Returns a meter of days or milliseconds with a factor to hours, because derivation takes every unit except `s` and `min` for hours. */
function meterInHours(tag: TagParameters, unit: Unit): TagParameters {
  const hour = unitOf("h");
  const scale = (hour === undefined ? undefined : conversionOf(unit, hour))?.scale ?? 1;
  const { counter } = tag;
  const limited = counter === undefined ? {} : { counter: { max_rate_per_h: METER_RATE / scale, ...counter } };
  return { ...tag, ...limited, factor: tag.factor * scale };
}
