import type { Mode } from "./booth.ts";

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

/** The mode that goes by that name; undefined: there is none. */
export function modeNamed(name: string): Mode | undefined {
  return MODES_LISTED.find((mode) => WIRE_NAMES[mode] === name);
}
