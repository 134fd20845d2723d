import { LinkError } from "./link-error.ts";
import type { Parameters, TagParameters } from "./parameters.ts";
import type { Milliseconds, TagName } from "./units.ts";

/** A Modbus table; each has its own addresses from 0 and its own function code for reading. */
export const MODBUS_TABLES = ["coil", "discrete", "input", "holding"] as const;
export type ModbusTable = (typeof MODBUS_TABLES)[number];

/**
 * Registers that a value of each type takes; a string says it itself. bcd16 and bcd32 are 4 and 8 binary-coded decimal digits,
 * 0..9,999 and 0..99,999,999: a counter in them wraps at 10,000 and 100,000,000 steps.
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

/** The order on the wire of two words of a value, or two bytes of a register. */
export type FirstOf = "high_first" | "low_first";

/** The OPC UA types. BCD exists in registers only. */
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

/** The decoding of a raw value, for both protocols. */
export interface ValueRules {
  /** decoded = raw x scale + offset */
  readonly scale: number;
  readonly offset: number;
  /** Raw values that mean "no value": decoded as quality bad. Text, decimal or 0x, for whole numbers beyond 2^53. */
  readonly sentinels: readonly (number | string)[];
  /** A decoded value outside is quality bad. */
  readonly min?: number;
  readonly max?: number;
  /** For whole numbers: the meaning of a raw value, by its decimal text. Other raw values read as their text. */
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
  /** Strings only: where the order of the two characters differs from the device's. */
  readonly string_order?: FirstOf;
  /** Strings only: number of registers, two characters each. */
  readonly length?: number;
  /** 0..15: one bit of a register (type bool in table input or holding). */
  readonly bit?: number;
}

/** A name with the URI of its namespace. Indexes of namespaces change when a server restarts; URIs don't. */
export interface OpcuaName {
  readonly namespace: string;
  readonly name: string;
}

/**
 * A variable of an OPC UA server: by its id (`i=`, `s=`, `g=` or `b=` and the identifier) in a namespace, or by the way
 * to it from the folder Objects.
 */
export type OpcuaNode =
  { readonly namespace: string; readonly id: string } | { readonly path: readonly [OpcuaName, ...OpcuaName[]] };

export interface OpcuaPoint extends ValueRules {
  readonly node: OpcuaNode;
  readonly type: OpcuaType;
}

/** How a device wants to be talked to. */
export interface ModbusQuirks {
  /**
   * Word order of values of two and four registers. With byte_order, in the letters of manuals: high/high ABCD,
   * low/high CDAB, high/low BADC, low/low DCBA.
   */
  readonly word_order: FirstOf;
  /** Order of the two bytes in a register that holds a number or bits. The default is Modbus's own, high_first. */
  readonly byte_order?: FirstOf;
  /** Order of the two characters in a register of a string. */
  readonly string_order: FirstOf;
  readonly max_registers: number;
  readonly max_bits: number;
  /** Ranges that answer with an exception, so that no block may span them; per table, [first, last]. */
  readonly holes: Readonly<Partial<Record<ModbusTable, readonly (readonly [number, number])[]>>>;
  readonly min_gap_ms: Milliseconds;
  readonly connect_delay_ms: Milliseconds;
  /**
   * The device closes an idle connection after this time. The driver closes it earlier, which is no fault. Absent: the device does
   * not.
   */
  readonly idle_close_ms?: Milliseconds;
  /** The tables that the device serves (function codes 1, 2, 4, 3); absent: all. */
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

interface ProfileBase extends Pick<Parameters, "groups" | "modes" | "mode_sets" | "filters"> {
  readonly name: string;
  readonly version: string;
  /** device: a single drive, burner or sensor without modes, whose values are logged and shown. Absent: a booth. */
  readonly kind?: "booth" | "device";
  readonly vendor: string;
  /** The vendor's or integrator's document that the map was made from. */
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
    /** Variables in one read at most, where the server's own limit isn't lower. */
    readonly max_nodes_per_read: number;
  };
  readonly tags: readonly OpcuaTag[];
}

/** The tags of one PLC program, as data: one YAML file in config/profiles. */
export type Profile = ModbusProfile | OpcuaProfile;

/** Last address of every Modbus table. */
export const LAST_ADDRESS = 65_535;

/** Coils and discrete inputs are read as bits, the other two tables as 16-bit registers. */
export function isBitTable(table: ModbusTable): boolean {
  return table === "coil" || table === "discrete";
}

/** How many addresses of its table a point takes: bits in a bit table, registers else. */
export function pointWidth(point: ModbusPoint): number {
  return point.type === "string" && point.length !== undefined ? point.length : REGISTERS[point.type];
}

/** The tags that one poll of the group reads, in the profile's order. */
export function tagsOfGroup<T extends ProfileTag>(
  profile: { readonly tags: readonly T[] },
  group: string,
): readonly T[] {
  return profile.tags.filter((tag) => tag.group === group);
}

/** The tags that one read of all these groups takes, in the profile's order. Throws a LinkError where a group has none. */
export function tagsOfGroups<T extends ProfileTag>(
  profile: { readonly tags: readonly T[] },
  groups: readonly string[],
): readonly T[] {
  const without = groups.find((group) => !profile.tags.some((tag) => tag.group === group));
  if (without !== undefined) throw new LinkError("config", `the profile has no tag in group "${without}"`);
  return profile.tags.filter(({ group }) => groups.includes(group));
}

/** Returns the poll interval of each group: the booth's setting, or the profile's. */
export function groupsInForce(
  profile: Pick<Profile, "groups">,
  booth: { readonly poll: Profile["groups"] },
): Profile["groups"] {
  return { ...profile.groups, ...booth.poll };
}
