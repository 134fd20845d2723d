import type { FilterLimits, FilterType, ModeSets, ProfileMode } from "./booth.ts";
import type { TagParameters } from "./parameters.ts";
import type { Milliseconds, TagName } from "./units.ts";

/** A Modbus table; each has its own addresses from 0 and its own function code for reading. */
export type ModbusTable = "coil" | "discrete" | "input" | "holding";

export type ModbusType = "bool" | "uint16" | "int16" | "uint32" | "int32" | "float32" | "string";

/** Where a tag stands in a Modbus device. `address` is 0-based within its table. */
export interface ModbusPoint {
  readonly table: ModbusTable;
  readonly address: number;
  readonly type: ModbusType;
  /** Where this point's word order differs from the device's. */
  readonly word_order?: ModbusQuirks["word_order"];
  /** Strings only: number of registers, two characters each. */
  readonly length?: number;
  /** 0..15: one bit of a register (type bool in table input or holding). */
  readonly bit?: number;
  /** decoded = raw x scale + offset */
  readonly scale: number;
  readonly offset: number;
  /** Raw values that mean "no value": decoded as quality bad. */
  readonly sentinels: readonly number[];
  /** A decoded value outside is quality bad. */
  readonly min?: number;
  readonly max?: number;
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

export interface ProfileTag extends TagParameters {
  readonly name: TagName;
  readonly label: string;
  readonly point: ModbusPoint;
}

/** The tags of one PLC program, as data: one YAML file in config/profiles. */
export interface Profile {
  readonly name: string;
  readonly version: string;
  readonly protocol: "modbus";
  readonly vendor: string;
  /** The vendor's or integrator's document that the map was made from. */
  readonly document: string;
  readonly quirks: ModbusQuirks;
  readonly groups: Readonly<Record<string, { readonly poll_interval_ms: Milliseconds }>>;
  readonly tags: readonly ProfileTag[];
  readonly modes: Readonly<Record<string, ProfileMode>>;
  readonly mode_sets: ModeSets;
  readonly filters: Readonly<
    Partial<Record<FilterType, { readonly limits: FilterLimits; readonly baseline_pa?: number }>>
  >;
}
