import type { FilterType, Mode, TagValue } from "../domain/booth.ts";
import { modesIn } from "../domain/mode-bits.ts";
import type { Parameters, ReportRules, TagRole } from "../domain/parameters.ts";
import { recordText } from "../domain/record-text.ts";
import { HOUR_MS } from "../domain/time.ts";
import type { Milliseconds, TagName } from "../domain/units.ts";
import type { DeriveState, Machine } from "./state.ts";

/** Returns a PLC's mode value as text, as the mode map spells it: true becomes "1", 3 becomes "3". */
export function rawMode(value: TagValue): string {
  return String(typeof value === "boolean" ? Number(value) : value);
}

/**
 * Returns the mode of a raw value; unknown: the profile doesn't map the value. If several mode bits are on, the highest priority counts.
 */
export function modeOf({ modes }: Parameters, raw: string): Mode {
  const code = Object.hasOwn(modes, raw) ? raw : (modesIn(raw)[0] ?? raw);
  return Object.hasOwn(modes, code) ? (modes[code] ?? "unknown") : "unknown";
}

export function isIn(set: readonly Mode[] | undefined, mode: Mode): boolean {
  return set?.includes(mode) ?? false;
}

/** Returns the first tag with that role; undefined: the profile has none. */
export function tagWithRole(parameters: Parameters | null, role: TagRole): TagName | undefined {
  if (parameters === null) return undefined;
  for (const tag in parameters.tags) if (parameters.tags[tag]?.role === role) return tag;
  return undefined;
}

/** Returns all tags with that role. If a filter is given, returns only the tags of that filter. */
export function tagsWithRole(parameters: Parameters | null, role: TagRole, filter?: FilterType): TagName[] {
  const tags = Object.entries(parameters?.tags ?? {});
  return tags.flatMap(([tag, one]) =>
    one.role === role && (filter === undefined || one.filter === filter) ? tag : [],
  );
}

/** Returns the tags whose unit doesn't fit their role, so that a figure is missing, each with the reason. */
export function unfitUnits(
  parameters: Parameters | null,
): readonly { readonly tag: TagName; readonly reason: string }[] {
  return Object.entries(parameters?.tags ?? {}).flatMap(([tag, { unit, unfit_role: role }]) =>
    role === undefined ? [] : [{ tag, reason: recordText("incident.unit", { unit, role }) }],
  );
}

export const MACHINES: readonly Machine[] = ["burner", "fan"];

/** A machine's size and the tag that shows its load. */
export interface Load {
  readonly tag: TagName;
  readonly group: string;
  /** Size in BTU/h (burner) or hp (fan). */
  readonly size: number;
  /** Tag of a meter, which makes the estimate unnecessary; null: there is no meter. */
  readonly meter: TagName | null;
}

const ROLES: Readonly<Record<Machine, { load: TagRole; meter: TagRole }>> = {
  burner: { load: "burner_modulation", meter: "gas" },
  fan: { load: "fan_speed", meter: "kwh" },
};
const BTU_PER_THERM = 100_000;
const WATT_PER_HP = 745.7;
const MILLIONTHS = 1_000_000;

/** Cached loads by parameters, because the fold needs them for each record. */
const cachedLoads = new WeakMap<Parameters, Readonly<Record<Machine, Load | null>>>();

/** Returns the load of each machine; null: its size or the tag of its load is missing. */
export function loadsOf(parameters: Parameters): Readonly<Record<Machine, Load | null>> {
  const loads = cachedLoads.get(parameters) ?? { burner: loadOf(parameters, "burner"), fan: loadOf(parameters, "fan") };
  cachedLoads.set(parameters, loads);
  return loads;
}

function loadOf(parameters: Parameters, machine: Machine): Load | null {
  const size = machine === "burner" ? parameters.burner_size_btu_h : parameters.motor_size_hp;
  const tag = tagWithRole(parameters, ROLES[machine].load);
  const group = tag === undefined ? undefined : parameters.tags[tag]?.group;
  if (size === undefined || tag === undefined || group === undefined) return null;
  return { tag, group, size, meter: tagWithRole(parameters, ROLES[machine].meter) ?? null };
}

/**
 * Returns the work of a machine per millisecond: size x load for a burner, size x load cubed for a fan. The load is rounded to a whole
 * percent, limited to 0 to 100. Sums over an hour are whole numbers, exact up to 25 million BTU/h.
 */
export function workRate(machine: Machine, size: number, percent: number): number {
  const load = Math.min(100, Math.max(0, Math.round(percent)));
  return machine === "burner" ? size * load : size * load ** 3;
}

/** Converts the work of at most an hour to whole millionths of a therm or kWh, so that parts of an hour add up exactly. */
export function millionthsOf(machine: Machine, work: number): number {
  if (machine === "burner") return Math.floor(work / ((100 * HOUR_MS * BTU_PER_THERM) / MILLIONTHS));
  // Converts hp to kW. The million of the result cancels out against the load in percent, cubed, which is a factor of the work.
  return Math.floor((work * WATT_PER_HP) / (1000 * HOUR_MS));
}

/** Converts a machine's work to energy: therm for the burner, kWh for the fan. */
export function energyOf(machine: Machine, work: number): number {
  return millionthsOf(machine, work) / MILLIONTHS;
}

/** Returns the energy of a motor at full load over that time, in kWh. */
export function fullLoadKwh(size_hp: number, ms: Milliseconds): number {
  return (size_hp * WATT_PER_HP * ms) / (1000 * HOUR_MS);
}

const BRIDGE_POLLS = 3;
const BRIDGE_AT_LEAST_MS = 15_000;
/** Poll interval of a group that the parameters don't name. */
const DEFAULT_POLL_MS = 1000;

export function pollIntervalMs(parameters: Parameters | null, group: string): Milliseconds {
  return parameters?.groups[group]?.poll_interval_ms ?? DEFAULT_POLL_MS;
}

/** Returns the bridge of a group, the longest gap over which a value stays valid: max(3 x poll interval, 15 s). */
export function bridgeMs(parameters: Parameters | null, group: string): Milliseconds {
  return Math.max(BRIDGE_POLLS * pollIntervalMs(parameters, group), BRIDGE_AT_LEAST_MS);
}

/** Returns whether the group was polled without a break around the present instant. */
export function isCovered({ groups, clock }: DeriveState, group: string): boolean {
  const coverage = groups[group];
  return coverage?.boot === clock.boot && coverage.from <= clock.mono && clock.mono <= coverage.to;
}

/**
 * Maximum number of rule changes in the state. A few changes a year are usual; the limit bounds the state if the service often changes
 * them.
 */
const MAX_CHANGES = 64;

/** Notes the rules of reports that are in force from now on, if they differ from the last ones. */
export function noteRules(state: DeriveState, { mode_sets, tz, working_hours }: Parameters): void {
  const rules: ReportRules = { from: state.clock.now, mode_sets, tz, working_hours };
  const changes = (state.rules ??= []);
  const last = changes.at(-1);
  if (last !== undefined && JSON.stringify({ ...last, from: rules.from }) === JSON.stringify(rules)) return;
  if (last?.from === rules.from) changes.pop();
  changes.push(rules);
  if (changes.length > MAX_CHANGES) changes.shift();
}
