import type { FilterLimits, FilterType, ModeSets, ProfileMode } from "./booth.ts";
import type { TagParameters } from "./parameters.ts";
import type { Milliseconds, TagName } from "./units.ts";

/** A Modbus table; each has its own addresses from 0 and its own function code for reading. */
export type ModbusTable = "coil" | "discrete" | "input" | "holding";

export type ModbusType = "bool" | "uint16" | "int16" | "uint32" | "int32" | "float32" | "string";

export type OpcuaType = ModbusType | "uint8" | "int8" | "uint64" | "int64" | "float64";

/** What becomes of a raw value, whatever way it came. */
export interface ValueRules {
  /** decoded = raw x scale + offset */
  readonly scale: number;
  readonly offset: number;
  /** Raw values that mean "no value": decoded as quality bad. */
  readonly sentinels: readonly number[];
  /** A decoded value outside is quality bad. */
  readonly min?: number;
  readonly max?: number;
}

/** Where a tag stands in a Modbus device. `address` is 0-based within its table. */
export interface ModbusPoint extends ValueRules {
  readonly table: ModbusTable;
  readonly address: number;
  readonly type: ModbusType;
  /** Where this point's word order differs from the device's. */
  readonly word_order?: ModbusQuirks["word_order"];
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
  /** Word order of 32-bit values. */
  readonly word_order: "high_first" | "low_first";
  /** Order of the two characters in a register of a string. */
  readonly string_order: "high_first" | "low_first";
  readonly max_registers: number;
  readonly max_bits: number;
  /** Ranges that answer with an exception, so that no block may span them; per table, [first, last]. */
  readonly holes: Readonly<Partial<Record<ModbusTable, readonly (readonly [number, number])[]>>>;
  readonly min_gap_ms: Milliseconds;
  readonly connect_delay_ms: Milliseconds;
  readonly unit_id: number;
}

/** How a server wants to be talked to. */
export interface OpcuaQuirks {
  /** Variables in one read at most, where the server's own limit isn't lower. */
  readonly max_nodes_per_read: number;
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

interface ProfileBase {
  readonly name: string;
  readonly version: string;
  readonly vendor: string;
  /** The vendor's or integrator's document that the map was made from. */
  readonly document: string;
  readonly groups: Readonly<Record<string, { readonly poll_interval_ms: Milliseconds }>>;
  readonly modes: Readonly<Record<string, ProfileMode>>;
  readonly mode_sets: ModeSets;
  readonly filters: Readonly<
    Partial<Record<FilterType, { readonly limits: FilterLimits; readonly baseline_pa?: number }>>
  >;
}

export interface ModbusProfile extends ProfileBase {
  readonly protocol: "modbus";
  readonly quirks: ModbusQuirks;
  readonly tags: readonly ModbusTag[];
}

export interface OpcuaProfile extends ProfileBase {
  readonly protocol: "opcua";
  readonly quirks: OpcuaQuirks;
  readonly tags: readonly OpcuaTag[];
}

/** The tags of one PLC program, as data: one YAML file in config/profiles. */
export type Profile = ModbusProfile | OpcuaProfile;
