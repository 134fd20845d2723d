import { findProfile, profileNames } from "../../config/profile.ts";
import { type Conversion, conversionOf, timeUnitInName, unitOf } from "../../domain/engineering-units.ts";
import type { CounterParameters } from "../../domain/parameters.ts";
import type { ProfileTag } from "../../domain/profile.ts";
import { usualNameIn } from "../rules/tag-names.ts";

/** What a usual tag means, as a shipped profile has it: everything but its place, its type and its scale. */
export interface UsualTag {
  readonly name: string;
  /** The shipped profile that has it. */
  readonly profile: string;
  readonly type: ProfileTag["point"]["type"];
  readonly length: number | undefined;
  readonly isCounter: boolean;
  /** As a profile's file has it. */
  readonly meaning: Readonly<Record<string, unknown>>;
  readonly counter: CounterParameters | undefined;
}

/** The profile with most tags comes first: its words are the usual ones. */
const FIRST = "click-booth";

let known: ReadonlyMap<string, UsualTag> | undefined;

/** All usual tags by name: those of the shipped booths, which are read once. */
export function usualTags(): ReadonlyMap<string, UsualTag> {
  known ??= shippedTags();
  return known;
}

function shippedTags(): ReadonlyMap<string, UsualTag> {
  const names = [FIRST, ...profileNames().filter((name) => name !== FIRST)];
  const tags = new Map<string, UsualTag>();
  for (const name of names) {
    const profile = findProfile(name);
    if (profile.kind === "device") continue;
    for (const tag of profile.tags) if (!tags.has(tag.name)) tags.set(tag.name, usualOf(tag, name));
  }
  return tags;
}

/** The usual tag of that name, else the one that the name probably means. */
export function usualFor(name: string, tags: ReadonlyMap<string, UsualTag>): UsualTag | null {
  return tags.get(name) ?? tags.get(usualNameIn(name) ?? "") ?? null;
}

const DEFAULT_HEARTBEAT_MS = 900_000;

function usualOf(tag: ProfileTag, profile: string): UsualTag {
  const { point, counter, role, filter, bay, unit, deadband, heartbeat_ms, between } = tag;
  const length = "length" in point ? point.length : undefined;
  const meaning = {
    label: tag.label,
    ...(role === undefined ? {} : { role }),
    ...(filter === undefined ? {} : { filter }),
    ...(bay === 0 ? {} : { bay }),
    group: tag.group,
    ...(unit === "" ? {} : { unit }),
    ...(deadband === 0 ? {} : { deadband }),
    ...(heartbeat_ms === DEFAULT_HEARTBEAT_MS ? {} : { heartbeat_ms }),
    ...(point.min === undefined ? {} : { min: point.min }),
    ...(point.max === undefined ? {} : { max: point.max }),
    ...(between === undefined ? {} : { between }),
  };
  return {
    name: tag.name,
    profile,
    type: point.type,
    length,
    isCounter: counter !== undefined || role === "uptime",
    meaning,
    counter,
  };
}

/** Keys whose numbers are in the tag's unit. */
const IN_UNIT: readonly string[] = ["min", "max", "between", "deadband"];
/** Digits of a converted limit, and of a deadband, that people care about. */
const LIMIT_DIGITS = 4;
const DEADBAND_DIGITS = 2;

/**
 * A usual tag's meaning and counter in the unit that a tag has: limits, deadband and rate are converted together with the unit. Keys that
 * the tag gives itself replace those of the meaning.
 *
 * @param given the unit that somebody gave; undefined: the one that the tag's name states ("exhaust_hours"), else the usual one
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
    // Nobody knows these limits in a unit of another kind.
    const others = Object.entries(meaning).filter(([key]) => !IN_UNIT.includes(key));
    return { meaning: { ...Object.fromEntries(others), unit: given }, counter: undefined };
  }
  const { scale } = conversion;
  if (scale === 1 && conversion.offset === 0) return { meaning: { ...meaning, unit: unit.unit }, counter };
  const numbers = Object.entries(meaning).map(([key, value]) => [key, inUnit(key, value, conversion)] as const);
  const counts = counter === undefined ? undefined : counterTimes(counter, scale);
  return { meaning: { ...Object.fromEntries(numbers), unit: unit.unit }, counter: counts };
}

function inUnit(key: string, value: unknown, { scale, offset }: Conversion): unknown {
  if (key === "between" && typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([end, one]) => [end, inUnit(end, one, { scale, offset })]));
  }
  if (typeof value !== "number") return value;
  if (key === "deadband") return Number((value * scale).toPrecision(DEADBAND_DIGITS));
  return key === "min" || key === "max" ? Number((value * scale + offset).toPrecision(LIMIT_DIGITS)) : value;
}

function counterTimes({ step, modulus, max_rate_per_h, retained }: CounterParameters, scale: number) {
  return {
    step: rounded(step * scale),
    ...(modulus === undefined ? {} : { modulus: rounded(modulus * scale) }),
    ...(max_rate_per_h === undefined ? {} : { max_rate_per_h: rounded(max_rate_per_h * scale) }),
    retained,
  };
}

/** Where a whole number of that type begins anew. */
const SIZES: Readonly<Record<string, number>> = {
  uint16: 65_536,
  uint32: 4_294_967_296,
  bcd16: 10_000,
  bcd32: 100_000_000,
};

/** The usual counter in registers of another type and scale: its step, and where it wraps, are theirs; its rate is the machine's. */
export function counterIn(counter: CounterParameters, type: string, scale: number): CounterParameters {
  const size = SIZES[type];
  const { max_rate_per_h, retained } = counter;
  return {
    step: type.startsWith("float") ? counter.step : Math.abs(scale),
    // A filter's counter is set back by its button, and wraps nowhere that anybody knows.
    ...(size === undefined || counter.modulus === undefined ? {} : { modulus: rounded(size * Math.abs(scale)) }),
    ...(max_rate_per_h === undefined ? {} : { max_rate_per_h }),
    retained,
  };
}

/** Without the noise of binary fractions: 2^32 x 0.1, 61.2 / 60. */
function rounded(value: number): number {
  return Number(value.toPrecision(14));
}
