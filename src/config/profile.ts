import { existsSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { join } from "node:path";

import { completeModeSets } from "../core/parameters.ts";
import type { ModbusPoint, Profile, ProfileTag } from "../core/types/profile.ts";
import type { Problem } from "./config-error.ts";
import { ConfigError } from "./config-error.ts";
import { didYouMean, parseWith, refuseIfAny } from "./explain.ts";
import { parseAddress } from "./profile-address.ts";
import { checkPoint, checkProfile, checkTag } from "./profile-checks.ts";
import { profileSchema } from "./profile-schema.ts";
import type { ProfileInput, TagInput } from "./profile-schema.ts";
import { openYaml, readSource } from "./yaml-source.ts";
import type { YamlSource } from "./yaml-source.ts";

/** Where the profiles stand that come with the agent. */
export const SHIPPED_PROFILES = fileURLToPath(new URL("../../config/profiles", import.meta.url));

/** Pure. `file` is for messages alone. Throws ConfigError. */
export function parseProfile(text: string, file: string): Profile {
  return profileOf(openYaml(text, file));
}

function profileOf(source: YamlSource): Profile {
  const input = parseWith(profileSchema, source);
  const built = input.tags.map((tag, index) => buildTag(input, tag, { source, index }));
  refuseIfAny([...checkProfile(input, source), ...built.flatMap(({ problems }) => problems)], source);
  const { modbus: quirks, mode_sets, ...rest } = input;
  return {
    ...rest,
    quirks,
    mode_sets: completeModeSets(mode_sets),
    tags: built.flatMap(({ tag }) => (tag === null ? [] : [tag])),
  };
}

/** Reads and checks one profile. Throws ConfigError. */
export function loadProfile(path: string): Profile {
  return parseProfile(readSource(path), path);
}

/** The profile `name`.yaml of the first folder that has it. Throws ConfigError, also where it calls itself otherwise. */
export function findProfile(name: string, dirs: readonly string[] = [SHIPPED_PROFILES]): Profile {
  const file = /^[a-z0-9][a-z0-9._-]*$/.test(name) ? `${name}.yaml` : null;
  const dir = file === null ? undefined : dirs.find((candidate) => existsSync(join(candidate, file)));
  if (file === null || dir === undefined) throw notFound(name, dirs);
  const path = join(dir, file);
  const source = openYaml(readSource(path), path);
  const profile = profileOf(source);
  if (profile.name !== name) refuseIfAny([source.problemAt(["name"], `the file's name says "${name}"`)], source);
  return profile;
}

/** Names of all profiles in the folders, shipped ones by default. */
export function profileNames(dirs: readonly string[] = [SHIPPED_PROFILES]): readonly string[] {
  const files = dirs.filter((dir) => existsSync(dir)).flatMap((dir) => readdirSync(dir));
  return [...new Set(files.filter((file) => file.endsWith(".yaml")).map((file) => file.slice(0, -5)))].sort();
}

function notFound(name: string, dirs: readonly string[]): ConfigError {
  const names = profileNames(dirs);
  const hint = didYouMean(name, names) ?? `known: ${names.join(", ") || "none"}; looked in ${dirs.join(", ")}`;
  return new ConfigError(`${name}.yaml`, [{ line: 0, column: 0, path: "", message: "there is no such profile", hint }]);
}

function buildTag(
  input: ProfileInput,
  tag: TagInput,
  place: { source: YamlSource; index: number },
): { tag: ProfileTag | null; problems: readonly Problem[] } {
  const problem = ([key, message, hint]: readonly [string, string, (string | undefined)?]): Problem =>
    place.source.problemAt(["tags", place.index, key], message, { hint });
  const faults = checkTag(input, tag);
  const address = parseAddress(tag.address);
  if ("message" in address) {
    return { tag: null, problems: [...faults, ["address", address.message, address.hint] as const].map(problem) };
  }
  const point = pointOf(tag, address);
  return {
    tag: tagOf(tag, point),
    problems: [...faults, ...checkPoint(point, input.modbus)].map(problem),
  };
}

function pointOf(tag: TagInput, at: Pick<ModbusPoint, "table" | "address">): ModbusPoint {
  const { type, scale, offset, sentinels } = tag;
  return { ...at, type, ...definedOf(tag), scale, offset, sentinels };
}

const OPTIONAL = ["word_order", "byte_order", "string_order", "length", "bit", "min", "max", "labels"] as const;

/** Only what the file gives: an absent key stays absent. */
function definedOf(tag: TagInput): Partial<Pick<ModbusPoint, (typeof OPTIONAL)[number]>> {
  return Object.fromEntries(OPTIONAL.flatMap((key) => (tag[key] === undefined ? [] : [[key, tag[key]]])));
}

function tagOf(tag: TagInput, point: ModbusPoint): ProfileTag {
  const { name, label, role, filter, bay, unit, factor, group, deadband, heartbeat_ms, counter } = tag;
  return {
    name,
    label: label ?? name,
    ...(role === undefined ? {} : { role }),
    ...(filter === undefined ? {} : { filter }),
    bay,
    unit,
    factor,
    group,
    deadband,
    heartbeat_ms,
    ...(counter === undefined ? {} : { counter }),
    point,
  };
}
