import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { USUAL_MODE_SETS } from "../../../simulators/plc/model/types.ts";
import type { ModbusProfile, ModbusTable, ModbusTag } from "../../../src/domain/profile.ts";

type Fields = Readonly<Record<string, unknown>>;

/** 1-based notation of the map: 4xxxxx holding, else a coil. */
function place(address: number): { readonly table: ModbusTable; readonly address: number } {
  return address > 400_000 ? { table: "holding", address: address - 400_001 } : { table: "coil", address: address - 1 };
}

function tagOf(raw: Fields): ModbusTag {
  const point = {
    ...place(raw.address as number),
    type: raw.type as ModbusTag["point"]["type"],
    scale: (raw.scale as number | undefined) ?? 1,
    offset: 0,
    sentinels: [],
    ...(raw.length === undefined ? {} : { length: raw.length as number }),
    ...(raw.min === undefined ? {} : { min: raw.min as number, max: raw.max as number }),
  };
  const defaults = { bay: 0, unit: "", factor: 1, deadband: 0, heartbeat_ms: 600_000 };
  return { ...defaults, ...raw, point } as unknown as ModbusTag;
}

/** The shipped map, read without the gateway's own loader. */
export function clickProfile(): ModbusProfile {
  const raw = parse(readFileSync("config/profiles/click-booth.yaml", "utf8")) as Fields & {
    readonly modbus: object;
    readonly tags: readonly Fields[];
  };
  const { modbus, tags, ...rest } = raw;
  return { ...rest, mode_sets: USUAL_MODE_SETS, quirks: modbus, tags: tags.map(tagOf) } as unknown as ModbusProfile;
}
