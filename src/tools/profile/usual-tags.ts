import { findProfile, profileNames } from "../../config/profile.ts";
import { type Conversion, conversionOf, converted, timeUnitInName, unitOf } from "../../domain/engineering-units.ts";
import type { CounterParameters } from "../../domain/parameters.ts";
import type { ProfileTag } from "../../domain/profile.ts";
import { usualNameIn } from "../rules/tag-names.ts";
import { entryOf, type Keys, type TagEntry } from "./file.ts";

/** A usual tag: the meaning of a tag in a shipped profile, without its address, type and scale. */
export interface UsualTag {
  readonly name: string;
  /** The shipped profile that has this tag. */
  readonly profile: string;
  readonly type: ProfileTag["point"]["type"];
  readonly length: number | undefined;
  readonly isCounter: boolean;
  readonly meaning: Keys;
  readonly counter: CounterParameters | undefined;
}

/** The shipped profile with the most tags. Its tags take precedence. */
const FIRST = "click-booth";

let known: ReadonlyMap<string, UsualTag> | undefined;

/** Returns all usual tags by name: the tags of the shipped booth profiles, which are read once. */
export function usualTags(): ReadonlyMap<string, UsualTag> {
  known ??= shippedTags();
  return known;
}

function shippedTags(): ReadonlyMap<string, UsualTag> {
  const tags = new Map<string, UsualTag>();
  for (const name of new Set([FIRST, ...profileNames()])) {
    const profile = findProfile(name);
    if (profile.kind === "device") continue;
    for (const tag of profile.tags) if (!tags.has(tag.name)) tags.set(tag.name, usualOf(tag, name));
  }
  return tags;
}

/** Returns the usual tag of that name, else the usual tag that the name probably means. */
export function usualFor(name: string): UsualTag | undefined {
  return usualTags().get(name) ?? usualTags().get(usualNameIn(name) ?? "");
}

const DEFAULT_HEARTBEAT_MS = 900_000;

function usualOf(tag: ProfileTag, profile: string): UsualTag {
  const { name, label, point, counter, role, filter, bay, group, unit, deadband, heartbeat_ms, between } = tag;
  const meaning = {
    label,
    role,
    filter,
    bay: bay === 0 ? undefined : bay,
    group,
    unit: unit === "" ? undefined : unit,
    deadband: deadband === 0 ? undefined : deadband,
    heartbeat_ms: heartbeat_ms === DEFAULT_HEARTBEAT_MS ? undefined : heartbeat_ms,
    min: point.min,
    max: point.max,
    between,
  };
  const length = "length" in point ? point.length : undefined;
  const isCounter = counter !== undefined || role === "uptime";
  return { name, profile, type: point.type, length, isCounter, meaning, counter };
}

/**
 * Makes a tag's entry: the tag's known keys, completed by the usual tag's meaning in the tag's unit. A counter gets the step and the
 * modulus of the tag's registers. Bits and texts get no limits and no unit.
 * @param group the poll group, unless the usual tag or the tag itself names a group; absent: chosen by type
 */
export function meantEntry(usual: UsualTag | undefined, tag: TagEntry, group?: string): TagEntry {
  const { name, type, unit, scale = 1 } = tag;
  const isNumber = type !== "bool" && type !== "string";
  const { meaning, counter } =
    usual === undefined ? {} : usualIn(usual, name, typeof unit === "string" ? unit : undefined);
  const entry = {
    group: group ?? (isNumber ? "slow" : "fast"),
    ...meaning,
    counter: isNumber && counter !== undefined ? counterIn(counter, String(type), Number(scale)) : undefined,
    ...tag,
  };
  return entryOf(isNumber ? entry : { ...entry, min: undefined, max: undefined, deadband: undefined, unit: undefined });
}

/** Returns the end of a comment that names the usual tag from which a tag of another name got its meaning. */
export function meaningText(usual: UsualTag | undefined, name: string): string {
  return usual === undefined || usual.name === name ? "" : `; treated as ${usual.name}`;
}

/** Keys whose numbers are in the tag's unit. */
const IN_UNIT: readonly string[] = ["min", "max", "between", "deadband"];
/** The significant digits of converted limits and deadbands. */
const LIMIT_DIGITS = 4;
const DEADBAND_DIGITS = 2;

/**
 * Converts a usual tag's meaning and counter to the unit of a tag: limits, deadband and rate.
 * @param given the unit that a person or a list gave; undefined: the unit in the tag's name ("exhaust_hours"), else the usual unit
 */
export function usualIn(
  usual: UsualTag,
  name: string,
  given: string | undefined,
): Pick<UsualTag, "meaning" | "counter"> {
  const { meaning, counter } = usual;
  const usualUnit = unitOf(typeof meaning["unit"] === "string" ? meaning["unit"] : "");
  if (usualUnit === undefined) return { meaning: given === undefined ? meaning : { ...meaning, unit: given }, counter };
  const stated = usualUnit.dimension === "time" ? timeUnitInName(name) : undefined;
  const unit = given === undefined ? (stated ?? usualUnit) : unitOf(given);
  const conversion = unit === undefined ? undefined : conversionOf(usualUnit, unit);
  if (unit === undefined || conversion === undefined) {
    // Drops the limits, which can't be converted to a unit of another kind.
    const others = Object.entries(meaning).filter(([key]) => !IN_UNIT.includes(key));
    return { meaning: { ...Object.fromEntries(others), unit: given }, counter: undefined };
  }
  const { scale, offset } = conversion;
  if (scale === 1 && offset === 0) return { meaning: { ...meaning, unit: unit.unit }, counter };
  const numbers = Object.entries(meaning).map(([key, value]) => [key, inUnit(key, value, conversion)] as const);
  return {
    meaning: { ...Object.fromEntries(numbers), unit: unit.unit },
    counter: counter === undefined ? undefined : counterTimes(counter, scale),
  };
}

function inUnit(key: string, value: unknown, conversion: Conversion): unknown {
  if (key === "between" && typeof value === "object" && value !== null)
    return Object.fromEntries(Object.entries(value).map(([end, one]) => [end, inUnit(end, one, conversion)]));
  if (typeof value !== "number") return value;
  if (key === "deadband") return Number((value * conversion.scale).toPrecision(DEADBAND_DIGITS));
  return key === "min" || key === "max" ? Number(converted(value, conversion).toPrecision(LIMIT_DIGITS)) : value;
}

/** Returns the changed keys of a tag. If its unit changes, they include its limits and deadband in the new unit. */
export function inNewUnit(tag: TagEntry, keys: Keys): Keys {
  const known = (unit: unknown) => (typeof unit === "string" ? unitOf(unit) : undefined);
  const from = known(tag["unit"]);
  const to = known(keys["unit"]);
  const conversion = from === undefined || to === undefined ? undefined : conversionOf(from, to);
  if (conversion === undefined) return keys;
  const limits = Object.entries(tag).filter(([key]) => IN_UNIT.includes(key));
  return { ...Object.fromEntries(limits.map(([key, value]) => [key, inUnit(key, value, conversion)])), ...keys };
}

function counterTimes({ step, modulus, max_rate_per_h, retained }: CounterParameters, scale: number) {
  return {
    step: rounded(step * scale),
    ...(modulus === undefined ? {} : { modulus: rounded(modulus * scale) }),
    ...(max_rate_per_h === undefined ? {} : { max_rate_per_h: rounded(max_rate_per_h * scale) }),
    retained,
  };
}

/** The number of values that each type can hold. A counter of that type restarts at 0 after this many steps. */
const SIZES: Readonly<Record<string, number>> = {
  uint16: 65_536,
  uint32: 4_294_967_296,
  bcd16: 10_000,
  bcd32: 100_000_000,
};

/**
 * Converts the usual counter to registers of another type and scale. Step and modulus follow from the registers; the rate is the machine's.
 */
export function counterIn(counter: CounterParameters, type: string, scale: number): CounterParameters {
  const size = SIZES[type];
  const { max_rate_per_h, retained } = counter;
  return {
    step: type.startsWith("float") ? counter.step : Math.abs(scale),
    // Leaves out the modulus if the usual counter has none: a filter's counter is reset by a button, and its wrap is not known.
    ...(size === undefined || counter.modulus === undefined ? {} : { modulus: rounded(size * Math.abs(scale)) }),
    ...(max_rate_per_h === undefined ? {} : { max_rate_per_h }),
    retained,
  };
}

/** Removes the rounding noise of binary fractions, as in 2^32 x 0.1 or 61.2 / 60. */
function rounded(value: number): number {
  return Number(value.toPrecision(14));
}
