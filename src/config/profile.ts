import { existsSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { completeModeSets, tagParameters } from "./parameters.ts";
import type {
  ModbusPoint,
  ModbusProfile,
  ModbusTag,
  OpcuaNode,
  OpcuaProfile,
  OpcuaTag,
  Profile,
  ValueRules,
} from "../domain/profile.ts";
import { ConfigError, type Problem } from "./config-error.ts";
import { didYouMean, parseWith, refuseIfAny } from "./explain.ts";
import { checkPoint, checkProfile, checkTag, type Fault } from "./profile-checks.ts";
import {
  type ModbusProfileInput,
  modbusProfileSchema,
  type ModbusTagInput,
  type OpcuaProfileInput,
  opcuaProfileSchema,
  type OpcuaTagInput,
  type TagInput,
} from "./profile-schema.ts";
import { openYaml, readSource, type YamlSource } from "./yaml-source.ts";
import { type AddressFault, parseAddress, parseNode, parsePath } from "./profile-address.ts";

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

/** A tag, or what is wrong with it; a tag with problems may be there too. */
export interface Built<T> {
  readonly tag: T | null;
  readonly problems: readonly Problem[];
}

interface Place {
  readonly source: YamlSource;
  readonly index: number;
}

export function buildModbusTag(input: ModbusProfileInput, tag: ModbusTagInput, place: Place): Built<ModbusTag> {
  const faults = checkTag(input, tag);
  const written = place.source.writtenAt(["tags", place.index, "address"]);
  const address = parseAddress(written ?? String(tag.address));
  if ("message" in address) {
    return { tag: null, problems: problemsOf([...faults, ["address", address.message, address.hint]], place) };
  }
  const point = modbusPointOf(tag, address);
  return {
    tag: { ...meaningOf(tag), point },
    problems: problemsOf([...faults, ...checkPoint(point, input.modbus)], place),
  };
}

export function buildOpcuaTag(input: OpcuaProfileInput, tag: OpcuaTagInput, place: Place): Built<OpcuaTag> {
  const faults = checkTag(input, tag);
  const node = nodeOf(tag, input.opcua.namespace);
  if ("message" in node) {
    const key = tag.node === undefined ? "path" : "node";
    return { tag: null, problems: problemsOf([...faults, [key, node.message, node.hint]], place) };
  }
  const point = { node, type: tag.type, ...rulesOf(tag) };
  return { tag: { ...meaningOf(tag), point }, problems: problemsOf(faults, place) };
}

function problemsOf(faults: readonly Fault[], { source, index }: Place): readonly Problem[] {
  return faults.map(([key, message, hint]) => source.problemAt(["tags", index, key], message, { hint }));
}

function nodeOf({ node, path }: OpcuaTagInput, namespace: string | undefined): OpcuaNode | AddressFault {
  if (node !== undefined && path !== undefined) return { message: "give node or path, not both" };
  if (node !== undefined) return parseNode(node, namespace);
  return path === undefined ? { message: "a tag needs a node or a path" } : parsePath(path, namespace);
}

function modbusPointOf(tag: ModbusTagInput, at: Pick<ModbusPoint, "table" | "address">): ModbusPoint {
  return { ...at, type: tag.type, ...given(tag, MODBUS_OPTIONAL), ...rulesOf(tag) };
}

function rulesOf(tag: TagInput): ValueRules {
  const { scale, offset, sentinels } = tag;
  return { scale, offset, sentinels, ...given(tag, RULES_OPTIONAL) };
}

const MODBUS_OPTIONAL = ["word_order", "byte_order", "string_order", "length", "bit"] as const;
const RULES_OPTIONAL = ["min", "max", "labels"] as const;

/** Only what the file gives: an absent key stays absent. */
function given<T extends object, K extends keyof T>(tag: T, keys: readonly K[]): Partial<Pick<T, K>> {
  return Object.fromEntries(keys.flatMap((key) => (tag[key] === undefined ? [] : [[key, tag[key]]]))) as Partial<
    Pick<T, K>
  >;
}

function meaningOf(tag: TagInput): Omit<ModbusTag, "point"> {
  return { name: tag.name, label: tag.label ?? tag.name, ...tagParameters(tag) };
}
