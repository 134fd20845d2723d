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
  return {
    profile: profile.name,
    profile_version: profile.version,
    groups: groupsInForce(profile, booth),
    tags: { ...tags, ...modeBitTags(tags) },
    modes: { ...bitModes(tags), ...profile.modes },
    mode_sets: overrideModeSets(profile.mode_sets, booth.mode_sets ?? {}),
    ...(booth.min_stage_ms === undefined ? {} : { min_stage_ms: booth.min_stage_ms }),
    tz: booth.tz,
    working_hours: booth.working_hours,
    bay_count: booth.bay_count,
    filters: overrideFilters(profile.filters, booth.filters),
    ...(booth.burner_size_btu_h === undefined ? {} : { burner_size_btu_h: booth.burner_size_btu_h }),
    ...(booth.motor_size_hp === undefined ? {} : { motor_size_hp: booth.motor_size_hp }),
  };
}

/** Poll groups that the booth's configuration names and the profile doesn't have: they would have no effect. */
export function unknownGroups(profile: Profile, booth: BoothConfig): readonly string[] {
  return Object.keys(booth.poll).filter((group) => !Object.hasOwn(profile.groups, group));
}

/** A tag without what only acquisition needs: where it stands in the device, and what people call it. */
export function tagParameters(tag: TagParameters): TagParameters {
  const { role, mode, filter, bay, unit, factor, group, deadband, deadband_percent, heartbeat_ms, counter } = tag;
  const { between } = tag;
  return {
    ...(role === undefined ? {} : { role }),
    ...(mode === undefined ? {} : { mode }),
    ...(filter === undefined ? {} : { filter }),
    bay,
    unit,
    factor,
    group,
    deadband,
    ...(deadband_percent === undefined ? {} : { deadband_percent }),
    heartbeat_ms,
    ...(between === undefined ? {} : { between }),
    ...(counter === undefined ? {} : { counter }),
  };
}

/** A bit's name is its mode. */
function bitModes(tags: Parameters["tags"]): Parameters["modes"] {
  return Object.fromEntries(Object.values(tags).flatMap(({ mode }) => (mode === undefined ? [] : [[mode, mode]])));
}

/** A set that the profile only had by derivation follows the override of the set it derives from. */
function overrideModeSets(base: ModeSets, override: Partial<ModeSets>): ModeSets {
  const derived = completeModeSets({ in_use: base.in_use });
  const runIsDerived = sameModes(base.run, derived.run);
  const runtimeIsDerived = sameModes(base.runtime, base.run);
  return completeModeSets({
    in_use: base.in_use,
    ...(runIsDerived ? {} : { run: base.run }),
    ...(runtimeIsDerived ? {} : { runtime: base.runtime }),
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
