import type { Serial } from "./units.ts";

/** The vocabulary of a booth for all parts of the agent. */

/** The canonical modes, highest priority first. Priority decides if several mode bits are on, or if bays have different modes. */
export const MODES_BY_PRIORITY = [
  "estop",
  "fault",
  "maintenance",
  "bake",
  "purge",
  "cool_down",
  "flash",
  "spray",
  "unknown",
  "no_data",
  "prep",
  "setback",
  "idle",
  "off",
] as const;

/** A mode. The gateway makes `no_data`, which is never read from a PLC. `unknown` is a code that the profile doesn't map. */
export type Mode = (typeof MODES_BY_PRIORITY)[number];

/** A mode that a profile can map a PLC's code to. */
export type ProfileMode = Exclude<Mode, "no_data">;

export const FILTER_TYPES = ["intake_filter", "pre_filter", "exhaust_filter"] as const;
export type FilterType = (typeof FILTER_TYPES)[number];

/** good; uncertain (the clock is unsure, or the value is inferred); bad (no usable answer, so the value is null). */
export type Quality = "good" | "uncertain" | "bad";

/** A decoded value. Integers beyond 2^53 are decimal strings. The value is null only if its quality is bad. */
export type TagValue = number | string | boolean | null;

/** Named sets of modes. `in_use` is for utilization and filters, `run` for runs and cycles, `runtime` for the runtime figure. */
export interface ModeSets {
  readonly in_use: readonly Mode[];
  readonly run: readonly Mode[];
  readonly runtime: readonly Mode[];
}

export const WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"] as const;

/** A shift in local time of `tz`. If stop <= start, it runs past midnight; if start = stop, it lasts 24 h. */
export interface WorkingHours {
  readonly day: (typeof WEEKDAYS)[number];
  readonly enabled: boolean;
  /** Local time of day as "HH:MM:SS". */
  readonly start: string;
  /** Local time of day as "HH:MM:SS". */
  readonly stop: string;
}

/** Limits of a filter's use. Use beyond any limit is overuse. An absent limit has no effect. */
export interface FilterLimits {
  readonly minutes?: number | undefined;
  readonly cycles?: number | undefined;
  readonly days?: number | undefined;
  /** Highest pressure drop, in Pa, above the drop of the clean filter. */
  readonly pressure_pa?: number | undefined;
}

/** Names of modes on the wire, in the order in which all answers list them. */
const WIRE_NAMES: Readonly<Record<Mode, string>> = {
  spray: "Spray Mode",
  flash: "Flash Mode",
  purge: "Purge Mode",
  bake: "Bake Mode",
  cool_down: "Cool Down",
  setback: "Setback",
  prep: "Prep Mode",
  idle: "Idle",
  off: "Off",
  maintenance: "Maintenance",
  fault: "Fault",
  estop: "E-Stop",
  unknown: "Unknown",
  no_data: "No Data",
};

export function wireNameOf(mode: Mode): string {
  return WIRE_NAMES[mode];
}

/** Every mode, in the order of the wire names. */
export const MODES_LISTED = Object.keys(WIRE_NAMES) as readonly Mode[];

/** Returns the mode with that wire name; undefined: there is no such mode. */
export function modeNamed(name: string): Mode | undefined {
  return MODES_LISTED.find((mode) => WIRE_NAMES[mode] === name);
}

const SHAPE = /^[A-Z0-9]+(-[A-Z0-9]+)*$/;
const LONGEST = 40;

/**
 * Trims a typed serial number and converts it to upper case. Returns null if it isn't valid: letters and digits, with single dashes between
 * them.
 */
export function normalizeSerial(typed: string): Serial | null {
  const serial = typed.trim().toUpperCase();
  return SHAPE.test(serial) && serial.length <= LONGEST ? serial : null;
}

/** Returns whether two serial numbers differ only in dashes, in upper and lower case, or in O and 0 or I and 1, which people confuse. */
export function isConfusable(one: string, other: string): boolean {
  return serialKey(one) === serialKey(other);
}

function serialKey(serial: string): string {
  return serial
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]/g, "")
    .replaceAll("O", "0")
    .replaceAll("I", "1");
}
