import type { Serial } from "./units.ts";

/** Vocabulary of a booth that every part shares. */

/** The canonical modes, highest priority first. The priority decides between several mode bits, and between bays. */
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

/** `no_data` is made by the gateway, never read from a PLC; `unknown` is a code that the profile doesn't map. */
export type Mode = (typeof MODES_BY_PRIORITY)[number];

/** A mode that a profile may map a PLC's code to. */
export type ProfileMode = Exclude<Mode, "no_data">;

export const FILTER_TYPES = ["intake_filter", "pre_filter", "exhaust_filter"] as const;
export type FilterType = (typeof FILTER_TYPES)[number];

/** good; uncertain (clock unsure, or inferred); bad (no usable answer: the value is then null). */
export type Quality = "good" | "uncertain" | "bad";

/**
 * A decoded value. Integers beyond 2^53 are decimal strings; null goes with quality bad alone.
 */
export type TagValue = number | string | boolean | null;

/** Named sets of modes. `in_use` counts for utilization and filters, `run` makes runs, `runtime` the runtime figure. */
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
  /** "HH:MM:SS" */
  readonly start: string;
  /** "HH:MM:SS" */
  readonly stop: string;
}

/** Limits of a filter's use. Use beyond any of them is overuse; an absent one does not limit. */
export interface FilterLimits {
  readonly minutes?: number | undefined;
  readonly cycles?: number | undefined;
  readonly days?: number | undefined;
  /** Pressure drop above the clean baseline, Pa. */
  readonly pressure_pa?: number | undefined;
}

/** How modes are called on the wire, in the order in which every answer lists them. */
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

/** Every mode, in that order. */
export const MODES_LISTED = Object.keys(WIRE_NAMES) as readonly Mode[];

/** Returns the mode with that wire name, or undefined. */
export function modeNamed(name: string): Mode | undefined {
  return MODES_LISTED.find((mode) => WIRE_NAMES[mode] === name);
}

const SHAPE = /^[A-Z0-9]+(-[A-Z0-9]+)*$/;
const LONGEST = 40;

/**
 * Trims and upper-cases a typed serial number. Returns null if it is not valid: letters and digits, with single dashes between
 * them.
 */
export function normaliseSerial(typed: string): Serial | null {
  const serial = typed.trim().toUpperCase();
  return SHAPE.test(serial) && serial.length <= LONGEST ? serial : null;
}
