import { message, type Message } from "../domain/message.ts";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type {
  ModbusPoint,
  ModbusProfile,
  ModbusTag,
  OpcuaNode,
  OpcuaPoint,
  OpcuaProfile,
  Profile,
} from "../domain/profile.ts";
import { withUnitsInForce } from "../domain/tag-units.ts";
import { parseWith, refuseIfAny } from "./explain.ts";
import { didYouMean } from "./nearest.ts";
import { completeModeSets, picked, tagParameters } from "./parameters.ts";
import { type AddressFault, parseAddress, parseNode, parsePath } from "./profile-address.ts";
import { checkPoint, checkProfile, checkTag } from "./profile-checks.ts";
import { modbusProfileSchema, opcuaProfileSchema, type OpcuaTagInput, type ProfileInput } from "./profile-schema.ts";
import {
  type Fault,
  openYaml,
  problemsFrom,
  readSource,
  valueAt,
  whole,
  within,
  type YamlSource,
} from "./yaml-source.ts";

const PROTOCOLS: readonly string[] = ["modbus", "opcua"];

/** The folder of the shipped profiles. */
export const SHIPPED_PROFILES = fileURLToPath(new URL("../../config/profiles", import.meta.url));

/** Parses a profile; `file` is only used in messages. Pure. Throws ConfigError. */
export function parseProfile(text: string, file: string): Profile {
  return profileOf(openYaml(text, file));
}

/**
 * Makes the profile of a file, whose protocol decides which keys the file may have. The Modbus schema rejects a missing or misspelled
 * protocol.
 */
function profileOf(source: YamlSource): Profile {
  const protocol = valueAt(source.data, ["protocol"]);
  if (typeof protocol === "string" && !PROTOCOLS.includes(protocol)) {
    const hint = didYouMean(protocol, PROTOCOLS) ?? message("config.one_of", { names: PROTOCOLS.join(", ") });
    const unknown = message("config.unknown_value", { value: `"${protocol.slice(0, 60)}"` });
    refuseIfAny([source.problemAt(["protocol"], unknown, { hint })], source);
  }
  return protocol === "opcua" ? opcuaProfileOf(source) : modbusProfileOf(source);
}

function modbusProfileOf(source: YamlSource): ModbusProfile {
  const input = parseWith(modbusProfileSchema, source);
  const tags = tagsOf(input, source, (tag, index): Located<ModbusPoint> => {
    const at = parseAddress(source.writtenAt(["tags", index, "address"]) ?? String(tag.address));
    if ("message" in at) return { point: null, faults: [["address", at.message, { hint: at.hint }]] };
    const keys = ["type", "word_order", "byte_order", "string_order", "length", "bit"] as const;
    const point = { ...at, ...picked(tag, keys), ...picked(tag, VALUE_KEYS) };
    return { point, faults: checkPoint(point, input.modbus) };
  });
  const { modbus: quirks, mode_sets, ...rest } = input;
  return { ...rest, quirks, mode_sets: completeModeSets(mode_sets), tags };
}

function opcuaProfileOf(source: YamlSource): OpcuaProfile {
  const input = parseWith(opcuaProfileSchema, source);
  const { opcua, mode_sets, ...rest } = input;
  const tags = tagsOf(input, source, (tag): Located<OpcuaPoint> => {
    const node = nodeOf(tag, opcua.namespace);
    if (!("message" in node)) return { point: { node, type: tag.type, ...picked(tag, VALUE_KEYS) }, faults: [] };
    return { point: null, faults: [[tag.node === undefined ? "path" : "node", node.message, { hint: node.hint }]] };
  });
  const { max_nodes_per_read } = opcua;
  return { ...rest, quirks: { max_nodes_per_read }, mode_sets: completeModeSets(mode_sets), tags };
}

const VALUE_KEYS = ["scale", "offset", "sentinels", "min", "max", "labels"] as const;

/** A tag's address in the device, and the address's faults; null if the address can't be parsed. */
interface Located<P> {
  readonly point: P | null;
  readonly faults: readonly Fault[];
}

/** Returns the profile's tags. Throws a ConfigError with every fault of the tags and of the profile as a whole. */
function tagsOf<I extends ProfileInput, P>(
  input: I,
  source: YamlSource,
  pointOf: (tag: I["tags"][number], index: number) => Located<P>,
): readonly (Omit<ModbusTag, "point"> & { readonly point: P })[] {
  const found = [...checkProfile(input)];
  const tags = input.tags.flatMap((tag, index) => {
    const { point, faults } = pointOf(tag, index);
    found.push(...within(["tags", index], [...checkTag(input, tag), ...faults]));
    return point === null
      ? []
      : [{ name: tag.name, label: tag.label ?? tag.name, ...withUnitsInForce(tagParameters(tag)), point }];
  });
  refuseIfAny(problemsFrom(source, found), source);
  return tags;
}

/** Reads and checks a profile. Throws ConfigError. */
export function loadProfile(path: string): Profile {
  return parseProfile(readSource(path), path);
}

/** Loads `name`.yaml from the first folder that has this file. Throws ConfigError, even for a file whose content has another name. */
export function findProfile(name: string, dirs: readonly string[] = [SHIPPED_PROFILES]): Profile {
  const path = profileFile(name, dirs);
  if (path === null) {
    throw whole(`${name}.yaml`, message("config.no_profile", { profile: name }), {
      hint: unknownProfileHint(name, dirs),
    });
  }
  const source = openYaml(readSource(path), path);
  const profile = profileOf(source);
  if (profile.name !== name) refuseIfAny([source.problemAt(["name"], message("config.file_name", { name }))], source);
  return profile;
}

/** Returns the path of a profile; null if none of the folders has the profile. */
export function profileFile(name: string, dirs: readonly string[]): string | null {
  if (!/^[a-z0-9][a-z0-9._-]*$/.test(name)) return null;
  return dirs.map((dir) => join(dir, `${name}.yaml`)).find((path) => existsSync(path)) ?? null;
}

/** Returns a hint with the name that was probably meant, or with all known names. */
export function unknownProfileHint(name: string, dirs: readonly string[]): Message {
  const names = profileNames(dirs);
  const known = names.length === 0 ? message("config.none") : names.join(", ");
  return didYouMean(name, names) ?? message("config.known", { names: known, folders: dirs.join(", ") });
}

/** Returns the names of all profiles in the folders. */
export function profileNames(dirs: readonly string[] = [SHIPPED_PROFILES]): readonly string[] {
  const files = dirs.filter((dir) => existsSync(dir)).flatMap((dir) => readdirSync(dir));
  return [...new Set(files.filter((file) => file.endsWith(".yaml")).map((file) => file.slice(0, -5)))].sort();
}

function nodeOf({ node, path }: OpcuaTagInput, namespace: string | undefined): OpcuaNode | AddressFault {
  if (node !== undefined && path !== undefined) return { message: message("config.node_or_path") };
  if (node !== undefined) return parseNode(node, namespace);
  return path === undefined ? { message: message("config.needs_node") } : parsePath(path, namespace);
}
