import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";

import { findProfile } from "../../src/config/profile.ts";
import { startOpcuaServer } from "../../simulators/plc/opcua/server.ts";
import { findScenario } from "../../simulators/plc/scenarios/all.ts";
import { boothFor } from "../../simulators/plc/start.ts";
import { memoryOf, type Memory } from "./process-figures.ts";
import { modbusPlc } from "./modbus-plc.ts";
import type { BenchOptions, Family, Figure } from "./figure.ts";
import { PASSWORD, whilePolling, withAgentAgain } from "./running-agent.ts";

/**
 * Resident memory of the agent as it is installed, its store's thread included, with one booth that is polled. No service answers. Beside
 * it what Node with one idle thread takes: most of that is the program itself, mapped from its file.
 */

/** Node with a thread that does nothing. */
const IDLE = `new (require("node:worker_threads").Worker)("setInterval(() => undefined, 1000)", { eval: true });`;
const IDLE_SETTLE_MS = 2_000;

async function idleMemory(): Promise<Memory> {
  const node = spawn(process.execPath, ["-e", IDLE], { stdio: "ignore" });
  const ended = once(node, "exit");
  await sleep(IDLE_SETTLE_MS);
  const memory = memoryOf(node.pid ?? 0);
  node.kill("SIGTERM");
  await ended;
  return memory;
}

/**
 * On a box where it has run before: the first start after an installation also compiles, and reads the configuration, which isn't
 * how months are spent.
 *
 * @param booth its profile and link as the configuration has them
 */
function agentMemory(booth: object, settle_ms: number): Promise<Memory> {
  const settled = whilePolling(async (pid) => {
    await sleep(settle_ms);
    return memoryOf(pid);
  });
  return withAgentAgain([booth], settled);
}

async function opcuaServer() {
  const profile = findProfile("plcnext-booth");
  const scenario = findScenario("standard-cycle");
  if (profile.protocol !== "opcua" || scenario === undefined) throw new Error("nothing to play");
  const booth = boothFor({ profile, scenario, seed: 1, start: Date.now() });
  return startOpcuaServer({ profile, booth, now: () => Date.now(), port: 0, password: PASSWORD });
}

async function run({ quick }: BenchOptions): Promise<readonly Figure[]> {
  const settle_ms = quick ? 500 : 20_000;
  const device = await modbusPlc();
  const server = await opcuaServer();
  const modbus = { profile: "click-booth", modbus: { host: "127.0.0.1", port: device.port } };
  const opcua = {
    endpoint: `opc.tcp://127.0.0.1:${server.port}`,
    user: "gateway",
    password_file: "password",
    server_certificate_fingerprint: server.fingerprint(),
  };
  // What one holds is no less for the others beside it: they are all waited for at once.
  const [idle, withModbus, withOpcua] = await Promise.all([
    idleMemory(),
    agentMemory(modbus, settle_ms),
    agentMemory({ profile: "plcnext-booth", opcua }, settle_ms),
  ]);
  await server.stop();
  await device.stop();
  return [
    ...figuresOf("modbus", { of: withModbus, idle, atMost: 85, privateAtMost: 35 }),
    ...figuresOf("opcua", { of: withOpcua, idle, atMost: 120 }),
  ];
}

/** MB; absent: nothing to reach. */
interface Limits {
  readonly atMost: number;
  readonly privateAtMost?: number;
}

function figuresOf(
  link: string,
  { of, idle, atMost, privateAtMost }: Limits & { readonly of: Memory; readonly idle: Memory },
): readonly Figure[] {
  const figure = (name: string, key: keyof Memory, most?: number): Figure => {
    const [value, anchor, beside] = [of[key], idle[key], "store's thread included; anchor: Node with an idle thread"];
    const verdict =
      most === undefined
        ? { target: beside, reached: null }
        : { target: `at most ${most} MB, ${beside}`, reached: value <= most };
    return { name, value, unit: "MB", anchor, ratio: value / anchor, ...verdict };
  };
  return [
    figure(`memory.${link}_mb`, "resident_mb", atMost),
    figure(`memory.${link}_private_mb`, "private_mb", privateAtMost),
  ];
}

export const memoryFamily: Family = { name: "memory", run };
