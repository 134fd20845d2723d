import {
  type Conversion,
  conversionOf,
  type Dimension,
  isWithoutUnit,
  type Unit,
  unitOf,
} from "./engineering-units.ts";
import type { TagParameters, TagRole } from "./parameters.ts";

/** The unit in which the rules of a role count; roles without one need no unit. */
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

/** How the unit of a tag in that role gets into its figure. Roles that are absent have no figure that depends on the unit. */
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

/** Units of time meters that derivation itself converts. */
const METER_UNITS: readonly string[] = ["s", "min", "h"];
/** The fastest that a meter of hours counts, in hours an hour, as `maxRateOf` has it. */
const METER_RATE = 1.02;

/** Why a unit is no good. `expected`: what the tag's role measures; undefined: it has no role that needs a unit. */
export interface UnitFault {
  readonly kind: "unknown" | "missing" | "unfit";
  readonly expected: Dimension | undefined;
  /** Whether a figure would be wrong, or the unit is only shown. */
  readonly isFigureOff: boolean;
}

interface Measured extends Pick<TagParameters, "unit" | "factor"> {
  readonly role?: TagRole | undefined;
}

/** The dimension of the unit that a role needs; undefined: none. */
export function dimensionOf(role: TagRole | undefined): Dimension | undefined {
  return role === undefined ? undefined : figureUnitOf(role)?.dimension;
}

function figureUnitOf(role: TagRole): Unit | undefined {
  const name = FIGURE_UNITS[role];
  return name === undefined ? undefined : unitOf(name);
}

/** Returns what is wrong with a tag's unit, or null. */
export function unitFaultOf({ role, unit, factor }: Measured): UnitFault | null {
  const expected = dimensionOf(role);
  const use = role === undefined ? undefined : USES[role];
  // A factor other than 1 converts to the figure's unit by itself, except for time meters and clocks, where it applies in addition
  // to the unit.
  const isOwnFactor = factor !== 1 && (use === "total" || use === "level");
  const isFigureOff = use !== undefined && !isOwnFactor;
  if (isWithoutUnit(unit)) {
    if (use !== "meter") return null;
    // Without a unit an hour meter counts hours. A filter's counter is called minutes and would count hours.
    return { kind: "missing", expected, isFigureOff: role === "filter_minutes" };
  }
  const known = unitOf(unit);
  if (known === undefined) return { kind: "unknown", expected, isFigureOff };
  if (expected === undefined || known.dimension === expected || isOwnFactor) return null;
  return { kind: "unfit", expected, isFigureOff };
}

/**
 * A profile's tag as derivation takes it: the unit in its canonical spelling, and what converts it to the unit in which the role's rules
 * count. A tag whose unit does not fit loses its role, not its filter: it is polled, recorded and shown, and only the figure of that role
 * is missing.
 *
 * Conversions are decided here and written to the log with the parameters. So a later change of the table changes no figure of the past.
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

/** A level whose profile gives the factor to Pa, C or %. */
function levelByFactor(tag: TagParameters): TagParameters {
  const isLevel = tag.role !== undefined && USES[tag.role] === "level";
  return isLevel && tag.factor !== 1 ? { ...tag, conversion: { scale: tag.factor, offset: 0 } } : tag;
}

function unlessSame(conversion: Conversion | undefined): { readonly conversion?: Conversion } {
  return conversion === undefined || (conversion.scale === 1 && conversion.offset === 0) ? {} : { conversion };
}

/** A meter of days or milliseconds: derivation takes every unit but `s` and `min` for hours, so the factor makes it hours. */
function meterInHours(tag: TagParameters, unit: Unit): TagParameters {
  const hour = unitOf("h");
  const scale = (hour === undefined ? undefined : conversionOf(unit, hour))?.scale ?? 1;
  const { counter } = tag;
  const limited = counter === undefined ? {} : { counter: { max_rate_per_h: METER_RATE / scale, ...counter } };
  return { ...tag, ...limited, factor: tag.factor * scale };
}
