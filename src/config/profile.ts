import { say } from "../domain/sentences.ts";
import { existsSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { completeModeSets, picked, tagParameters } from "./parameters.ts";
import { withUnitsInForce } from "../domain/tag-units.ts";
import type {
  ModbusPoint,
  ModbusProfile,
  ModbusTag,
  OpcuaNode,
  OpcuaPoint,
  OpcuaProfile,
  Profile,
} from "../domain/profile.ts";
import { parseWith, refuseIfAny } from "./explain.ts";
import { didYouMean } from "./nearest.ts";
import { checkPoint, checkProfile, checkTag, type Fault } from "./profile-checks.ts";
import { modbusProfileSchema, opcuaProfileSchema, type OpcuaTagInput, type ProfileInput } from "./profile-schema.ts";
import { openYaml, readSource, whole, type YamlSource } from "./yaml-source.ts";
import { type AddressFault, parseAddress, parseNode, parsePath } from "./profile-address.ts";

const PROTOCOLS: readonly string[] = ["modbus", "opcua"];

/** Where the profiles stand that come with the agent. */
export const SHIPPED_PROFILES = fileURLToPath(new URL("../../config/profiles", import.meta.url));

/** Pure. `file` is for messages alone. Throws ConfigError. */
export function parseProfile(text: string, file: string): Profile {
  return profileOf(openYaml(text, file));
}

function profileOf(source: YamlSource): Profile {
  return protocolOf(source) === "opcua" ? opcuaProfileOf(source) : modbusProfileOf(source);
}

/** Read before everything else, since it says which keys there may be. */
function protocolOf(source: YamlSource): string | undefined {
  const { data } = source;
  if (typeof data !== "object" || data === null || !("protocol" in data)) return undefined;
  const protocol = data.protocol;
  if (typeof protocol !== "string" || PROTOCOLS.includes(protocol)) return String(protocol);
  const hint = didYouMean(protocol, PROTOCOLS) ?? say("config.one_of", { names: PROTOCOLS.join(", ") });
  refuseIfAny([source.problemAt(["protocol"], `"${protocol.slice(0, 60)}" is not known here`, { hint })], source);
  return undefined;
}

function modbusProfileOf(source: YamlSource): ModbusProfile {
  const input = parseWith(modbusProfileSchema, source);
  const tags = tagsOf(input, source, (tag, index): Pointed<ModbusPoint> => {
    const at = parseAddress(source.writtenAt(["tags", index, "address"]) ?? String(tag.address));
    if ("message" in at) return { point: null, faults: [["address", at.message, at.hint]] };
    const own = picked(tag, ["type", "word_order", "byte_order", "string_order", "length", "bit"]);
    const point = { ...at, ...own, ...picked(tag, RULES) };
    return { point, faults: checkPoint(point, input.modbus) };
  });
  const { modbus: quirks, mode_sets, ...rest } = input;
  return { ...rest, quirks, mode_sets: completeModeSets(mode_sets), tags };
}

function opcuaProfileOf(source: YamlSource): OpcuaProfile {
  const input = parseWith(opcuaProfileSchema, source);
  const { opcua, mode_sets, ...rest } = input;
  const tags = tagsOf(input, source, (tag): Pointed<OpcuaPoint> => {
    const node = nodeOf(tag, opcua.namespace);
    if (!("message" in node)) return { point: { node, type: tag.type, ...picked(tag, RULES) }, faults: [] };
    return { point: null, faults: [[tag.node === undefined ? "path" : "node", node.message, node.hint]] };
  });
  const { max_nodes_per_read } = opcua;
  return { ...rest, quirks: { max_nodes_per_read }, mode_sets: completeModeSets(mode_sets), tags };
}

const RULES = ["scale", "offset", "sentinels", "min", "max", "labels"] as const;

/** Where a tag stands, and what is wrong with that; null: nowhere. */
interface Pointed<P> {
  readonly point: P | null;
  readonly faults: readonly Fault[];
}

/** The profile's tags. Throws ConfigError for everything that is wrong with them, and with the profile as a whole. */
function tagsOf<I extends ProfileInput, P>(
  input: I,
  source: YamlSource,
  pointOf: (tag: I["tags"][number], index: number) => Pointed<P>,
): readonly (Omit<ModbusTag, "point"> & { readonly point: P })[] {
  const problems = [...checkProfile(input, source)];
  const tags = input.tags.flatMap((tag, index) => {
    const { point, faults } = pointOf(tag, index);
    for (const [key, message, hint] of [...checkTag(input, tag), ...faults]) {
      problems.push(source.problemAt(["tags", index, key], message, { hint }));
    }
    return point === null
      ? []
      : [{ name: tag.name, label: tag.label ?? tag.name, ...withUnitsInForce(tagParameters(tag)), point }];
  });
  refuseIfAny(problems, source);
  return tags;
}

/** Reads and checks one profile. Throws ConfigError. */
export function loadProfile(path: string): Profile {
  return parseProfile(readSource(path), path);
}

/** The profile `name`.yaml of the first folder that has it. Throws ConfigError, also where it calls itself otherwise. */
export function findProfile(name: string, dirs: readonly string[] = [SHIPPED_PROFILES]): Profile {
  const path = profileFile(name, dirs);
  if (path === null) {
    throw whole(`${name}.yaml`, "there is no such profile", { hint: unknownProfileHint(name, dirs) });
  }
  const source = openYaml(readSource(path), path);
  const profile = profileOf(source);
  if (profile.name !== name) refuseIfAny([source.problemAt(["name"], say("config.file_name", { name }))], source);
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
  return (
    didYouMean(name, names) ?? say("config.known", { names: names.join(", ") || "none", folders: dirs.join(", ") })
  );
}

/** Names of all profiles in the folders, shipped ones by default. */
export function profileNames(dirs: readonly string[] = [SHIPPED_PROFILES]): readonly string[] {
  const files = dirs.filter((dir) => existsSync(dir)).flatMap((dir) => readdirSync(dir));
  return [...new Set(files.filter((file) => file.endsWith(".yaml")).map((file) => file.slice(0, -5)))].sort();
}

function nodeOf({ node, path }: OpcuaTagInput, namespace: string | undefined): OpcuaNode | AddressFault {
  if (node !== undefined && path !== undefined) return { message: say("config.node_or_path") };
  if (node !== undefined) return parseNode(node, namespace);
  return path === undefined ? { message: say("config.needs_node") } : parsePath(path, namespace);
}
