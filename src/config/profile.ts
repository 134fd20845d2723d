import { existsSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { join } from "node:path";

import { completeModeSets } from "../core/parameters.ts";
import type { ModbusProfile, OpcuaProfile, Profile } from "../core/types/profile.ts";
import { ConfigError } from "./config-error.ts";
import { didYouMean, parseWith, refuseIfAny } from "./explain.ts";
import { checkProfile } from "./profile-checks.ts";
import { modbusProfileSchema, opcuaProfileSchema } from "./profile-schema.ts";
import { buildModbusTag, buildOpcuaTag } from "./profile-tags.ts";
import { openYaml, readSource } from "./yaml-source.ts";
import type { YamlSource } from "./yaml-source.ts";

const PROTOCOLS: readonly string[] = ["modbus", "opcua"];

/** Where the profiles stand that come with the agent. */
export const SHIPPED_PROFILES = fileURLToPath(new URL("../../config/profiles", import.meta.url));

/** Pure. `file` is for messages alone. Throws ConfigError. */
export function parseProfile(text: string, file: string): Profile {
  return profileOf(openYaml(text, file));
}

function profileOf(source: YamlSource): Profile {
  const protocol = protocolOf(source);
  return protocol === "opcua" ? opcuaProfileOf(source) : modbusProfileOf(source);
}

/** Read before everything else, since it says which keys there may be. */
function protocolOf(source: YamlSource): string | undefined {
  const { data } = source;
  if (typeof data !== "object" || data === null || !("protocol" in data)) return undefined;
  const protocol = data.protocol;
  if (typeof protocol !== "string" || PROTOCOLS.includes(protocol)) return String(protocol);
  const hint = didYouMean(protocol, PROTOCOLS) ?? `one of ${PROTOCOLS.join(", ")}`;
  refuseIfAny([source.problemAt(["protocol"], `"${protocol.slice(0, 60)}" is not known here`, { hint })], source);
  return undefined;
}

function modbusProfileOf(source: YamlSource): ModbusProfile {
  const input = parseWith(modbusProfileSchema, source);
  const built = input.tags.map((tag, index) => buildModbusTag(input, tag, { source, index }));
  refuseIfAny([...checkProfile(input, source), ...built.flatMap(({ problems }) => problems)], source);
  const { modbus: quirks, mode_sets, ...rest } = input;
  const tags = built.flatMap(({ tag }) => (tag === null ? [] : [tag]));
  return { ...rest, quirks, mode_sets: completeModeSets(mode_sets), tags };
}

function opcuaProfileOf(source: YamlSource): OpcuaProfile {
  const input = parseWith(opcuaProfileSchema, source);
  const built = input.tags.map((tag, index) => buildOpcuaTag(input, tag, { source, index }));
  refuseIfAny([...checkProfile(input, source), ...built.flatMap(({ problems }) => problems)], source);
  const { opcua, mode_sets, ...rest } = input;
  const { max_nodes_per_read } = opcua;
  const tags = built.flatMap(({ tag }) => (tag === null ? [] : [tag]));
  return { ...rest, quirks: { max_nodes_per_read }, mode_sets: completeModeSets(mode_sets), tags };
}

/** Reads and checks one profile. Throws ConfigError. */
export function loadProfile(path: string): Profile {
  return parseProfile(readSource(path), path);
}

/** The profile `name`.yaml of the first folder that has it. Throws ConfigError, also where it calls itself otherwise. */
export function findProfile(name: string, dirs: readonly string[] = [SHIPPED_PROFILES]): Profile {
  const path = profileFile(name, dirs);
  if (path === null) throw notFound(name, dirs);
  const source = openYaml(readSource(path), path);
  const profile = profileOf(source);
  if (profile.name !== name) refuseIfAny([source.problemAt(["name"], `the file's name says "${name}"`)], source);
  return profile;
}

/** Where the profile of that name stands; null: nowhere in these folders. */
export function profileFile(name: string, dirs: readonly string[]): string | null {
  if (!/^[a-z0-9][a-z0-9._-]*$/.test(name)) return null;
  const dir = dirs.find((candidate) => existsSync(join(candidate, `${name}.yaml`)));
  return dir === undefined ? null : join(dir, `${name}.yaml`);
}

/** The name that may have been meant, or those that there are. */
export function unknownProfileHint(name: string, dirs: readonly string[]): string {
  const names = profileNames(dirs);
  return didYouMean(name, names) ?? `known: ${names.join(", ") || "none"}; looked in ${dirs.join(", ")}`;
}

/** Names of all profiles in the folders, shipped ones by default. */
export function profileNames(dirs: readonly string[] = [SHIPPED_PROFILES]): readonly string[] {
  const files = dirs.filter((dir) => existsSync(dir)).flatMap((dir) => readdirSync(dir));
  return [...new Set(files.filter((file) => file.endsWith(".yaml")).map((file) => file.slice(0, -5)))].sort();
}

function notFound(name: string, dirs: readonly string[]): ConfigError {
  const hint = unknownProfileHint(name, dirs);
  return new ConfigError(`${name}.yaml`, [{ line: 0, column: 0, path: "", message: "there is no such profile", hint }]);
}
