import type { Mode } from "../../../src/core/types/booth.ts";

/** Modes as the service spells them. */
export const MODE_NAMES: Readonly<Record<Mode, string>> = {
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
