import type { Target } from "./target.ts";
import { chunks } from "./targets/chunks.ts";
import { config, profile, trace } from "./targets/files.ts";
import { httpAnswers, httpBodies } from "./targets/http.ts";
import { lists } from "./targets/lists.ts";
import { modbusRtu, modbusTcp } from "./targets/modbus.ts";
import { mqttAcks, mqttCommands, mqttPackets } from "./targets/mqtt.ts";
import { opcuaAnswers, opcuaFrames } from "./targets/opcua.ts";
import { database, tail } from "./targets/stored.ts";

/** Every reader of data from outside. */
export const TARGETS: readonly Target[] = [
  modbusTcp,
  modbusRtu,
  opcuaFrames,
  opcuaAnswers,
  mqttPackets,
  mqttAcks,
  mqttCommands,
  httpAnswers,
  httpBodies,
  config,
  profile,
  trace,
  lists,
  tail,
  database,
  chunks,
];
