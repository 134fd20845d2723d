import { LinkError } from "./link-error.ts";
import type { Parameters, TagParameters } from "./parameters.ts";
import type { Milliseconds, TagName } from "./units.ts";

/** The Modbus tables. Each has its own addresses from 0 and its own function code for reading. */
export const MODBUS_TABLES = ["coil", "discrete", "input", "holding"] as const;
export type ModbusTable = (typeof MODBUS_TABLES)[number];

/**
 * Number of registers per type. A string's length is set in the profile. bcd16 and bcd32 have 4 and 8 binary-coded decimal digits, 0..9,999
 * and 0..99,999,999: such counters wrap at 10,000 and 100,000,000 steps.
 */
const REGISTERS = {
  bool: 1,
  uint16: 1,
  int16: 1,
  uint32: 2,
  int32: 2,
  uint64: 4,
  int64: 4,
  float32: 2,
  float64: 4,
  bcd16: 1,
  bcd32: 2,
  string: 1,
};
export type ModbusType = keyof typeof REGISTERS;
export const MODBUS_TYPES = Object.keys(REGISTERS) as readonly ModbusType[];

/** Order on the wire of the two words of a value, or of the two bytes of a register. */
export type FirstOf = "high_first" | "low_first";

/** Types for OPC UA. BCD exists only in registers. */
export const OPCUA_TYPES = [
  "bool",
  "uint8",
  "int8",
  "uint16",
  "int16",
  "uint32",
  "int32",
  "uint64",
  "int64",
  "float32",
  "float64",
  "string",
] as const;
export type OpcuaType = (typeof OPCUA_TYPES)[number];

/** Rules for decoding a raw value, for Modbus and OPC UA. */
export interface ValueRules {
  /** decoded value = raw value x scale + offset */
  readonly scale: number;
  readonly offset: number;
  /** Raw values that mean "no value". They are decoded as quality bad. Integers beyond 2^53 are written as text, decimal or 0x. */
  readonly sentinels: readonly (number | string)[];
  /** Smallest valid decoded value. A lower value is decoded as quality bad. */
  readonly min?: number;
  readonly max?: number;
  /**
   * Meanings of raw values, by the value's decimal text. Only for integers. A raw value without a meaning is decoded as its decimal text.
   */
  readonly labels?: Readonly<Record<string, string>>;
}

/** The location of a tag in a Modbus device. `address` is 0-based within its table. */
export interface ModbusPoint extends ValueRules {
  readonly table: ModbusTable;
  readonly address: number;
  readonly type: ModbusType;
  /** Set if this point's word order differs from the device's. */
  readonly word_order?: FirstOf;
  /** Set if this point's byte order differs from the device's. */
  readonly byte_order?: FirstOf;
  /** Order of the two characters in a register, if it differs from the device's order. Only for strings. */
  readonly string_order?: FirstOf;
  /** Number of registers, with two characters each. Only for strings. */
  readonly length?: number;
  /** Bit of a register, 0..15 (type bool in table input or holding). */
  readonly bit?: number;
}

/** A name with its namespace URI. A server can change namespace indexes at a restart, but not URIs. */
export interface OpcuaName {
  readonly namespace: string;
  readonly name: string;
}

/**
 * A variable of an OPC UA server: either its id (`i=`, `s=`, `g=` or `b=` and the identifier) in a namespace, or its path from the folder
 * Objects.
 */
export type OpcuaNode =
  { readonly namespace: string; readonly id: string } | { readonly path: readonly [OpcuaName, ...OpcuaName[]] };

export interface OpcuaPoint extends ValueRules {
  readonly node: OpcuaNode;
  readonly type: OpcuaType;
}

/** Properties of a Modbus device that requests and decoding depend on. */
export interface ModbusQuirks {
  /**
   * Word order of values with two and four registers. With byte_order, in the letters of manuals: high/high ABCD, low/high CDAB, high/low
   * BADC, low/low DCBA.
   */
  readonly word_order: FirstOf;
  /** Order of the two bytes in a register with a number or bits. The default is Modbus's own, high_first. */
  readonly byte_order?: FirstOf;
  /** Order of the two characters in a register that holds part of a string. */
  readonly string_order: FirstOf;
  readonly max_registers: number;
  readonly max_bits: number;
  /** Ranges of addresses that the device answers with an exception, per table, as [first, last]. No read block may include them. */
  readonly holes: Readonly<Partial<Record<ModbusTable, readonly (readonly [number, number])[]>>>;
  readonly min_gap_ms: Milliseconds;
  readonly connect_delay_ms: Milliseconds;
  /**
   * Time after which the device closes an idle connection. The driver closes it earlier, so that this isn't a fault. Absent: the device
   * doesn't close idle connections.
   */
  readonly idle_close_ms?: Milliseconds;
  /** The Modbus tables that the device serves (function codes 1, 2, 4, 3); absent: all. */
  readonly tables?: readonly ModbusTable[];
  readonly unit_id: number;
}

interface TagBase extends TagParameters {
  readonly name: TagName;
  readonly label: string;
}

export interface ModbusTag extends TagBase {
  readonly point: ModbusPoint;
}

export interface OpcuaTag extends TagBase {
  readonly point: OpcuaPoint;
}

export type ProfileTag = ModbusTag | OpcuaTag;

interface ProfileBase extends Pick<Parameters, "groups" | "modes" | "mode_sets" | "filters" | "bake_rules"> {
  readonly name: string;
  readonly version: string;
  /** "device": a single drive, burner or sensor without modes, whose values are logged and shown; absent: a booth. */
  readonly kind?: "booth" | "device";
  readonly vendor: string;
  /** The vendor's or integrator's document that the profile was made from. */
  readonly document: string;
}

export interface ModbusProfile extends ProfileBase {
  readonly protocol: "modbus";
  readonly quirks: ModbusQuirks;
  readonly tags: readonly ModbusTag[];
}

export interface OpcuaProfile extends ProfileBase {
  readonly protocol: "opcua";
  readonly quirks: {
    /** Maximum number of variables in one read, unless the server has a lower limit. */
    readonly max_nodes_per_read: number;
  };
  readonly tags: readonly OpcuaTag[];
}

/** A profile: the tags of one PLC program as data, from one YAML file in config/profiles. */
export type Profile = ModbusProfile | OpcuaProfile;

/** Last address of each Modbus table. */
export const LAST_ADDRESS = 65_535;

/** Returns whether a table is read as bits: coils and discrete inputs. The other two tables are read as 16-bit registers. */
export function isBitTable(table: ModbusTable): boolean {
  return table === "coil" || table === "discrete";
}

/** Returns how many addresses of its table a point takes: bits in a bit table, otherwise registers. */
export function pointWidth(point: ModbusPoint): number {
  return point.type === "string" && point.length !== undefined ? point.length : REGISTERS[point.type];
}

/** Returns the tags that one poll of the group reads, in the profile's order. */
export function tagsOfGroup<T extends ProfileTag>(
  profile: { readonly tags: readonly T[] },
  group: string,
): readonly T[] {
  return profile.tags.filter((tag) => tag.group === group);
}

/** Returns the tags that one read of all these groups includes, in the profile's order. Throws a LinkError if a group has no tags. */
export function tagsOfGroups<T extends ProfileTag>(
  profile: { readonly tags: readonly T[] },
  groups: readonly string[],
): readonly T[] {
  const without = groups.find((group) => !profile.tags.some((tag) => tag.group === group));
  if (without !== undefined) throw new LinkError("config", `the profile has no tag in group "${without}"`);
  return profile.tags.filter(({ group }) => groups.includes(group));
}

/** Returns the poll interval of each group, from the booth's settings or else from the profile. */
export function groupsInForce(
  profile: Pick<Profile, "groups">,
  booth: { readonly poll: Profile["groups"] },
): Profile["groups"] {
  return { ...profile.groups, ...booth.poll };
}
