import { findProfile } from "../../src/config/profile.ts";
import type { ModbusPoint, ModbusProfile, ModbusQuirks, ModbusTag, OpcuaProfile } from "../../src/domain/profile.ts";

/** The shipped profiles, and profiles for tests that need a certain shape instead of a real device. */

export function point(partial: Partial<ModbusPoint> = {}): ModbusPoint {
  return { table: "holding", address: 0, type: "uint16", scale: 1, offset: 0, sentinels: [], ...partial };
}

export const QUIRKS: ModbusQuirks = {
  unit_id: 1,
  word_order: "high_first",
  string_order: "high_first",
  max_registers: 125,
  max_bits: 2000,
  holes: {},
  min_gap_ms: 0,
  connect_delay_ms: 0,
};

/** Loads the shipped profile that most tests use. */
export function clickBooth(): ModbusProfile {
  const profile = findProfile("click-booth");
  if (profile.protocol !== "modbus") throw new Error("click-booth is no Modbus profile");
  return profile;
}

/** Loads the shipped profile for OPC UA. */
export function plcnextBooth(): OpcuaProfile {
  const profile = findProfile("plcnext-booth");
  if (profile.protocol !== "opcua") throw new Error("plcnext-booth speaks OPC UA");
  return profile;
}

/** Makes a profile with a tag per point (t0, t1, ...), all in group g. */
export function profileOf(points: readonly ModbusPoint[], quirks: Partial<ModbusQuirks> = {}): ModbusProfile {
  return {
    name: "made",
    version: "1",
    protocol: "modbus",
    vendor: "",
    document: "",
    quirks: { ...QUIRKS, ...quirks },
    groups: { g: { poll_interval_ms: 1000 } },
    tags: points.map((at, i): ModbusTag => ({
      name: `t${i}`,
      label: `t${i}`,
      bay: 0,
      unit: "",
      factor: 1,
      group: "g",
      deadband: 0,
      heartbeat_ms: 900_000,
      point: at,
    })),
    modes: { "0": "off" },
    mode_sets: { in_use: [], run: [], runtime: [] },
    filters: {},
  };
}
