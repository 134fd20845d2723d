import { findProfile, profileNames } from "../config/profile.ts";
import type { CounterParameters } from "../domain/parameters.ts";
import type { ProfileTag } from "../domain/profile.ts";
import { usualNameIn } from "./rules/tag-names.ts";

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

/** Without the noise of binary fractions: 2^32 x 0.1. */
function rounded(value: number): number {
  return Number(value.toPrecision(15));
}
