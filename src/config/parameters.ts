import { modeBitTags } from "../domain/mode-bits.ts";
import type { FilterType, ModeSets } from "../domain/booth.ts";
import type { BoothConfig } from "./port.ts";
import type { FilterParameters, Parameters, TagParameters } from "../domain/parameters.ts";
import { groupsInForce, type Profile } from "../domain/profile.ts";

/** The modes that count as use of the booth by default. */
const DEFAULT_IN_USE: ModeSets["in_use"] = ["spray", "flash", "purge", "bake"];

/** Fills in missing mode sets: `run` defaults to `in_use` plus `cool_down`, and `runtime` to `run`. */
export function completeModeSets(given: Partial<ModeSets>): ModeSets {
  const in_use = given.in_use ?? DEFAULT_IN_USE;
  const run = given.run ?? [...new Set([...in_use, "cool_down" as const])];
  return { in_use, run, runtime: given.runtime ?? run };
}

/** Returns all settings that the derivation of a booth's facts depends on. The booth's configuration overrides its profile. Pure. */
export function parametersOf(profile: Profile, booth: BoothConfig): Parameters {
  const tags = Object.fromEntries(profile.tags.map((tag) => [tag.name, tagParameters(tag)]));
  const bits = profile.tags.flatMap(({ mode }) => mode ?? []);
  return {
    profile: profile.name,
    profile_version: profile.version,
    groups: groupsWithTags(profile, booth),
    tags: { ...tags, ...modeBitTags(tags) },
    // Adds the modes of mode bits (one bit per mode). Their code is the mode's name.
    modes: { ...Object.fromEntries(bits.map((mode) => [mode, mode])), ...profile.modes },
    mode_sets: overrideModeSets(profile.mode_sets, booth.mode_sets ?? {}),
    ...picked(booth, ["min_stage_ms", "tz", "working_hours", "bay_count"]),
    filters: overrideFilters(profile.filters, booth.filters),
    ...picked(booth, ["burner_size_btu_h", "motor_size_hp"]),
    ...picked({ ...profile, ...booth }, ["bake_rules"]),
    ...picked(booth, ["prices"]),
  };
}

/** Returns the poll groups that have tags. An unfinished profile may have groups without tags. */
function groupsWithTags(profile: Profile, booth: BoothConfig): Profile["groups"] {
  const used = new Set(profile.tags.map(({ group }) => group));
  return Object.fromEntries(Object.entries(groupsInForce(profile, booth)).filter(([group]) => used.has(group)));
}

/** Returns the poll groups that the booth's configuration sets but its profile lacks. Such a setting would have no effect. */
export function unknownGroups(profile: Profile, booth: BoothConfig): readonly string[] {
  return Object.keys(booth.poll).filter((group) => !Object.hasOwn(profile.groups, group));
}

/** Returns an object with only these keys. An absent key stays absent. */
export function picked<T extends object, const K extends keyof T>(from: T, keys: readonly K[]): Pick<T, K> {
  return Object.fromEntries(keys.flatMap((key) => (from[key] === undefined ? [] : [[key, from[key]]]))) as Pick<T, K>;
}

/** Returns a tag without its address and label, which only acquisition needs. */
export function tagParameters(tag: TagParameters): TagParameters {
  return {
    ...picked(tag, ["role", "unfit_role", "mode", "filter", "bay", "unit", "factor", "conversion", "group"]),
    ...picked(tag, ["deadband", "deadband_percent", "heartbeat_ms", "between", "counter"]),
  };
}

/** Overrides a profile's mode sets. A set with its default value follows the override of the set from which that default derives. */
function overrideModeSets(base: ModeSets, override: Partial<ModeSets>): ModeSets {
  const { in_use, run, runtime } = base;
  const derived = completeModeSets({ in_use });
  return completeModeSets({
    in_use,
    ...(sameModes(run, derived.run) ? {} : { run }),
    ...(sameModes(runtime, run) ? {} : { runtime }),
    ...override,
  });
}

function sameModes(a: ModeSets["run"], b: ModeSets["run"]): boolean {
  return a.length === b.length && a.every((mode) => b.includes(mode));
}

/** Overrides filter limits one by one: a booth can change the minutes and keep the profile's pressure. */
function overrideFilters(base: Profile["filters"], override: BoothConfig["filters"]): Parameters["filters"] {
  const merged: Partial<Record<FilterType, FilterParameters>> = { ...base };
  for (const [type, { limits }] of Object.entries(override) as [FilterType, { limits: FilterParameters["limits"] }][]) {
    const known = base[type];
    merged[type] = { ...known, limits: { ...known?.limits, ...limits } };
  }
  return merged;
}
