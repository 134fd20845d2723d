import { modeBitTags } from "../domain/mode-bits.ts";
import type { FilterType, ModeSets } from "../domain/booth.ts";
import type { BoothConfig } from "./port.ts";
import type { FilterParameters, Parameters, TagParameters } from "../domain/parameters.ts";
import { groupsInForce, type Profile } from "../domain/profile.ts";

/** The four modes that count as use of the booth, where a profile says nothing else. */
const DEFAULT_IN_USE: ModeSets["in_use"] = ["spray", "flash", "purge", "bake"];

/** Mode sets with what is absent derived: run = in_use and cool_down, runtime = run. */
export function completeModeSets(given: Partial<ModeSets>): ModeSets {
  const in_use = given.in_use ?? DEFAULT_IN_USE;
  const run = given.run ?? [...new Set([...in_use, "cool_down" as const])];
  return { in_use, run, runtime: given.runtime ?? run };
}

/** Everything that derivation depends on, for one booth: the box's configuration overrides the profile. Pure. */
export function parametersOf(profile: Profile, booth: BoothConfig): Parameters {
  const tags = Object.fromEntries(profile.tags.map((tag) => [tag.name, tagParameters(tag)]));
  const bits = profile.tags.flatMap(({ mode }) => mode ?? []);
  return {
    profile: profile.name,
    profile_version: profile.version,
    groups: groupsWithTags(profile, booth),
    tags: { ...tags, ...modeBitTags(tags) },
    // A bit's name is its mode.
    modes: { ...Object.fromEntries(bits.map((mode) => [mode, mode])), ...profile.modes },
    mode_sets: overrideModeSets(profile.mode_sets, booth.mode_sets ?? {}),
    ...picked(booth, ["min_stage_ms", "tz", "working_hours", "bay_count"]),
    filters: overrideFilters(profile.filters, booth.filters),
    ...picked(booth, ["burner_size_btu_h", "motor_size_hp"]),
  };
}

/** A group that no tag is in yet, as a profile in the making has it, is polled by nobody. */
function groupsWithTags(profile: Profile, booth: BoothConfig): Profile["groups"] {
  const used = new Set(profile.tags.map(({ group }) => group));
  return Object.fromEntries(Object.entries(groupsInForce(profile, booth)).filter(([group]) => used.has(group)));
}

/** Poll groups that the booth's configuration names and the profile doesn't have: they would have no effect. */
export function unknownGroups(profile: Profile, booth: BoothConfig): readonly string[] {
  return Object.keys(booth.poll).filter((group) => !Object.hasOwn(profile.groups, group));
}

/** These keys of it; one that is absent stays absent. */
export function picked<T extends object, const K extends keyof T>(from: T, keys: readonly K[]): Pick<T, K> {
  return Object.fromEntries(keys.flatMap((key) => (from[key] === undefined ? [] : [[key, from[key]]]))) as Pick<T, K>;
}

/** A tag without what only acquisition needs: where it stands in the device, and what people call it. */
export function tagParameters(tag: TagParameters): TagParameters {
  return {
    ...picked(tag, ["role", "unfit_role", "mode", "filter", "bay", "unit", "factor", "conversion", "group"]),
    ...picked(tag, ["deadband", "deadband_percent", "heartbeat_ms", "between", "counter"]),
  };
}

/** A set that the profile only had by derivation follows the override of the set it derives from. */
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

/** Limits are overridden one by one, so that a box can change the minutes and keep the profile's pressure. */
function overrideFilters(base: Profile["filters"], override: BoothConfig["filters"]): Parameters["filters"] {
  const merged: Partial<Record<FilterType, FilterParameters>> = { ...base };
  for (const [type, { limits }] of Object.entries(override) as [FilterType, { limits: FilterParameters["limits"] }][]) {
    const known = base[type];
    merged[type] = { ...known, limits: { ...known?.limits, ...limits } };
  }
  return merged;
}
