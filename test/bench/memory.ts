import { Aedes } from "aedes";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
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
function agentMemory(booth: object, settle_ms: number, config: object = {}): Promise<Memory> {
  const settled = whilePolling(async (pid) => {
    await sleep(settle_ms);
    return memoryOf(pid);
  });
  return withAgentAgain([booth], settled, { config });
}

/** A plant's broker, open to this machine. */
async function plantBroker() {
  const broker = await Aedes.createBroker();
  const server = createServer((socket) => broker.handle(socket));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const stop = async (): Promise<void> => {
    broker.close();
    server.close();
    await once(server, "close");
  };
  return { url: `mqtt://127.0.0.1:${port}`, stop };
}

/** One process's memory varies by more than what is looked for. */
const OUTPUT_RUNS = 3;

/** What one output, of either kind, adds to an agent that speaks MQTT already, as each does with the service; here to another output. */
async function outputMemory(booth: object, { settle_ms, runs }: { readonly settle_ms: number; readonly runs: number }) {
  const broker = await plantBroker();
  const one = (name: string, own: object): object => ({ name, url: broker.url, ...own });
  const usual = [one("usual", { mqtt: {} })];
  const kinds = {
    none: usual,
    mqtt: [...usual, one("beside", { mqtt: { home_assistant: {} } })],
    sparkplug: [...usual, one("beside", { sparkplug: { group_id: "plant" } })],
  };
  const median = async (outputs: readonly object[]): Promise<number> => {
    const found: number[] = [];
    for (let run = 0; run < runs; run += 1) found.push((await agentMemory(booth, settle_ms, { outputs })).resident_mb);
    return found.sort((a, b) => a - b)[Math.floor(runs / 2)] ?? NaN;
  };
  const [none, mqtt, sparkplug] = await Promise.all([median(kinds.none), median(kinds.mqtt), median(kinds.sparkplug)]);
  await broker.stop();
  return { none, most: Math.max(mqtt, sparkplug) };
}

/** MB that an output may add. */
const OUTPUT_MB = 3;

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
  const output = await outputMemory(modbus, { settle_ms, runs: quick ? 1 : OUTPUT_RUNS });
  await device.stop();
  const more = output.most - output.none;
  return [
    ...figuresOf("modbus", { of: withModbus, idle, atMost: 85, privateAtMost: 35 }),
    ...figuresOf("opcua", { of: withOpcua, idle, atMost: 120 }),
    {
      name: "memory.output_mb",
      value: more,
      unit: "MB",
      anchor: output.none,
      ratio: output.most / output.none,
      target: `at most ${OUTPUT_MB} MB more with one output, the larger of both kinds; anchor: an agent that speaks MQTT`,
      reached: more <= OUTPUT_MB,
    },
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
    const value = of[key];
    const anchor = idle[key];
    const beside = "store's thread included; anchor: Node with an idle thread";
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
