import { modesIn } from "../domain/mode-bits.ts";
import type { Mode, TagValue } from "../domain/booth.ts";
import type { Parameters } from "../domain/parameters.ts";

/** A PLC's mode value as text, the way the mode map names it: true is "1", 3 is "3". */
export function rawMode(value: TagValue): string {
  if (typeof value === "boolean") return value ? "1" : "0";
  return String(value);
}

/** A code that the profile doesn't map is unknown; its raw value is kept beside. Of several bits the highest one counts. */
export function modeOf({ modes }: Parameters, raw: string): Mode {
  const code = Object.hasOwn(modes, raw) ? raw : (modesIn(raw)[0] ?? raw);
  return Object.hasOwn(modes, code) ? (modes[code] ?? "unknown") : "unknown";
}

export function isIn(set: readonly Mode[] | undefined, mode: Mode): boolean {
  return set?.includes(mode) ?? false;
}
