import { tagParameters } from "../core/parameters.ts";
import type { ModbusPoint, ModbusTag, OpcuaNode, OpcuaTag, ValueRules } from "../core/types/profile.ts";
import type { Problem } from "./config-error.ts";
import { parseAddress } from "./profile-address.ts";
import { checkPoint, checkTag } from "./profile-checks.ts";
import { parseNode, parsePath } from "./profile-node.ts";
import type { NodeFault } from "./profile-node.ts";
import type {
  ModbusProfileInput,
  ModbusTagInput,
  OpcuaProfileInput,
  OpcuaTagInput,
  TagInput,
} from "./profile-schema.ts";
import type { YamlSource } from "./yaml-source.ts";

/** A tag, or what is wrong with it; a tag with problems may be there too. */
export interface Built<T> {
  readonly tag: T | null;
  readonly problems: readonly Problem[];
}

interface Place {
  readonly source: YamlSource;
  readonly index: number;
}

type Fault = readonly [key: string, message: string, hint?: string | undefined];

export function buildModbusTag(input: ModbusProfileInput, tag: ModbusTagInput, place: Place): Built<ModbusTag> {
  const faults = checkTag(input, tag);
  const address = parseAddress(tag.address);
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

function nodeOf({ node, path }: OpcuaTagInput, namespace: string | undefined): OpcuaNode | NodeFault {
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
