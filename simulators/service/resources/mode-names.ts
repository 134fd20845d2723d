import type { Mode } from "../../../src/domain/booth.ts";
import { minutes } from "../base/time.ts";

/** Modes as the service spells them, in the order in which every answer lists them. */
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

const ORDER = Object.keys(MODE_NAMES) as Mode[];

/** Lists the values by mode name, in the fixed order of modes; a mode without a value is left out. */
export function listed<T>(found: ReadonlyMap<Mode, number>, item: (mode: string, value: number) => T): T[] {
  return ORDER.flatMap((mode) => {
    const value = found.get(mode);
    return value === undefined ? [] : [item(MODE_NAMES[mode], value)];
  });
}

/** The same of minutes. */
export function listedMinutes(found: ReadonlyMap<Mode, number>): { mode: string; duration: number }[] {
  return listed(found, (mode, ms) => ({ mode, duration: minutes(ms) }));
}

/** Returns the mode of that name; undefined for an unknown name. */
export function modeNamed(name: string): Mode | undefined {
  return ORDER.find((mode) => MODE_NAMES[mode] === name);
}
