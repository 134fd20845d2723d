import type { FilterType, Mode, TagValue } from "../domain/booth.ts";
import { modesIn } from "../domain/mode-bits.ts";
import type { Parameters, TagRole } from "../domain/parameters.ts";
import { say } from "../domain/sentences.ts";
import type { TagName, Milliseconds } from "../domain/units.ts";
import { HOUR_MS } from "../domain/time.ts";

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

/** The first tag with that role; undefined: the profile has none. */
export function tagWithRole(parameters: Parameters | null, role: TagRole): TagName | undefined {
  if (parameters === null) return undefined;
  for (const tag in parameters.tags) if (parameters.tags[tag]?.role === role) return tag;
  return undefined;
}

/** All tags with that role, of that filter if it is given. */
export function tagsWithRole(parameters: Parameters | null, role: TagRole, filter?: FilterType): TagName[] {
  const tags = Object.entries(parameters?.tags ?? {});
  return tags.flatMap(([tag, one]) =>
    one.role === role && (filter === undefined || one.filter === filter) ? tag : [],
  );
}

/** The tags whose unit does not fit their role, so that a figure is missing, each with the reason. */
export function unfitUnits(
  parameters: Parameters | null,
): readonly { readonly tag: TagName; readonly reason: string }[] {
  return Object.entries(parameters?.tags ?? {}).flatMap(([tag, { unit, unfit_role: role }]) =>
    role === undefined ? [] : [{ tag, reason: say("incident.unit", { unit, role }) }],
  );
}

/** What energy is estimated for. */
export type Machine = "burner" | "fan";

export const MACHINES: readonly Machine[] = ["burner", "fan"];

/** What a machine's load is read from, how large it is, and the meter that makes an estimate needless. */
export interface Load {
  readonly tag: TagName;
  readonly group: string;
  /** BTU/h or hp. */
  readonly size: number;
  readonly meter: TagName | null;
}

const ROLES: Readonly<Record<Machine, { load: TagRole; meter: TagRole }>> = {
  burner: { load: "burner_modulation", meter: "gas" },
  fan: { load: "fan_speed", meter: "kwh" },
};
const BTU_PER_THERM = 100_000;
/** Of a hp. */
const WATT = 745.7;
const MILLIONTHS = 1_000_000;

const known = new WeakMap<Parameters, Readonly<Record<Machine, Load | null>>>();

/** Per machine: null where its size or its load isn't told. */
export function loadsOf(parameters: Parameters): Readonly<Record<Machine, Load | null>> {
  const found = known.get(parameters) ?? { burner: loadOf(parameters, "burner"), fan: loadOf(parameters, "fan") };
  known.set(parameters, found);
  return found;
}

function loadOf(parameters: Parameters, machine: Machine): Load | null {
  const size = machine === "burner" ? parameters.burner_size_btu_h : parameters.motor_size_hp;
  const tag = tagWithRole(parameters, ROLES[machine].load);
  const group = tag === undefined ? undefined : parameters.tags[tag]?.group;
  if (size === undefined || tag === undefined || group === undefined) return null;
  return { tag, group, size, meter: tagWithRole(parameters, ROLES[machine].meter) ?? null };
}

/**
 * Work that a machine does in a millisecond, from its load in %, taken in whole percent of 0 to 100: burners by size x
 * load, fans by size x load cubed. Sums of it over an hour are whole numbers, and exact up to 25 million BTU/h.
 */
export function workRate(machine: Machine, size: number, percent: number): number {
  const load = Math.min(100, Math.max(0, Math.round(percent)));
  return machine === "burner" ? size * load : size * load ** 3;
}

/** The work of at most an hour as energy: whole millionths of a therm or kWh, so that parts of an hour add up. */
export function millionthsOf(machine: Machine, work: number): number {
  if (machine === "burner") return Math.floor(work / ((100 * HOUR_MS * BTU_PER_THERM) / MILLIONTHS));
  // Percent cubed, and W to kW.
  return Math.floor((work * WATT) / (1000 * HOUR_MS));
}

/** Energy, therm or kWh, of any amount of work. */
export function energyOf(machine: Machine, work: number): number {
  return millionthsOf(machine, work) / MILLIONTHS;
}

/** The most that a motor of so many hp can take in that time, kWh. */
export function fullLoadKwh(size_hp: number, ms: Milliseconds): number {
  return (size_hp * WATT * ms) / (1000 * HOUR_MS);
}

const BRIDGE_POLLS = 3;
const BRIDGE_AT_LEAST_MS = 15_000;
/** Where the parameters don't name the group. */
const DEFAULT_POLL_MS = 1000;

export function pollIntervalMs(parameters: Parameters | null, group: string): Milliseconds {
  return parameters?.groups[group]?.poll_interval_ms ?? DEFAULT_POLL_MS;
}

/** The longest gap over which a value of the group simply holds: max(3 x poll interval, 15 s). */
export function bridgeMs(parameters: Parameters | null, group: string): Milliseconds {
  return Math.max(BRIDGE_POLLS * pollIntervalMs(parameters, group), BRIDGE_AT_LEAST_MS);
}
