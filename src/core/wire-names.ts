import type { Mode } from "./types/booth.ts";

/** How modes are called on the wire. */
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
