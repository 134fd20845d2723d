import { Aedes } from "aedes";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { findProfile } from "../../src/config/profile.ts";
import { startOpcuaServer } from "../../simulators/plc/opcua/server.ts";
import { findScenario } from "../../simulators/plc/scenarios/all.ts";
import { boothFor } from "../../simulators/plc/start.ts";
import { memoryOf, type Memory } from "../support/process-figures.ts";
import type { AtEnd } from "../support/temporary.ts";
import { limitedFigure, median, withCleanUp, type BenchOptions, type Family, type Figure } from "./figure.ts";
import { withAgent } from "./packaged.ts";
import { startModbusPlc } from "./plcs.ts";
import { PASSWORD } from "./running-agent.ts";

/** Resident memory of the installed agent, its store's thread included, with one booth that is polled and no service that answers. */

/** Node with a thread that does nothing: most of its memory is the program itself, mapped from its file. */
const IDLE = `new (require("node:worker_threads").Worker)("setInterval(() => undefined, 1000)", { eval: true });`;
const IDLE_SETTLE_MS = 2_000;
const MOST_MB = { modbus: 85, modbus_private: 35, opcua: 120, output: 3 };
/** The memory of one process varies by more than what an output takes. */
const OUTPUT_RUNS = { quick: 1, full: 3 };

export async function idleMemory(): Promise<Memory> {
  const node = spawn(process.execPath, ["-e", IDLE], { stdio: "ignore" });
  const ended = once(node, "exit");
  await sleep(IDLE_SETTLE_MS);
  const memory = memoryOf(node.pid ?? 0);
  node.kill("SIGTERM");
  await ended;
  return memory;
}

/** The first start after an installation also compiles and reads the configuration: the second one is measured. */
export function agentMemory(booth: object, settle_ms: number, config: object = {}): Promise<Memory> {
  return withAgent({ booths: [booth], hasRun: true, config }, async (agent) => {
    await agent.polling();
    await sleep(settle_ms);
    return memoryOf(agent.pid);
  });
}

/** Starts a plant's broker that is open to this machine. Returns its URL. */
async function startBroker(atEnd: AtEnd): Promise<string> {
  const broker = await Aedes.createBroker();
  const server = createServer((socket) => broker.handle(socket));
  await once(server.listen(0, "127.0.0.1"), "listening");
  atEnd(() => {
    broker.close();
    server.close();
  });
  return `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Measures what an output of either kind adds to an agent that already speaks MQTT with another output. */
async function outputFigure(booth: object, settle_ms: number, runs: number): Promise<Figure> {
  return withCleanUp(async (atEnd) => {
    const url = await startBroker(atEnd);
    const usual = { name: "usual", url, mqtt: {} };
    const residentWith = async (outputs: readonly object[]): Promise<number> => {
      const found: number[] = [];
      while (found.length < runs) found.push((await agentMemory(booth, settle_ms, { outputs })).resident_mb);
      return median(found);
    };
    const [none, mqtt, sparkplug] = await Promise.all([
      residentWith([usual]),
      residentWith([usual, { name: "more", url, mqtt: { home_assistant: {} } }]),
      residentWith([usual, { name: "more", url, sparkplug: { group_id: "plant" } }]),
    ]);
    const value = Math.max(mqtt, sparkplug) - none;
    const note = "one output more, the larger of both kinds; anchor: an agent with one MQTT output";
    return limitedFigure({ name: "memory.output_mb", value, unit: "MB", anchor: none, note }, MOST_MB.output);
  });
}

async function startOpcua(atEnd: AtEnd): Promise<object> {
  const profile = findProfile("plcnext-booth");
  const scenario = findScenario("standard-cycle");
  if (profile.protocol !== "opcua" || scenario === undefined) throw new Error("nothing to play");
  const booth = boothFor({ profile, scenario, seed: 1, start: Date.now() });
  const server = await startOpcuaServer({ profile, booth, now: () => Date.now(), port: 0, password: PASSWORD });
  atEnd(() => server.stop());
  const login = { user: "gateway", password_file: "password", server_certificate_fingerprint: server.fingerprint() };
  return { profile: "plcnext-booth", opcua: { endpoint: `opc.tcp://127.0.0.1:${server.port}`, ...login } };
}

function run({ quick }: BenchOptions): Promise<readonly Figure[]> {
  const settle_ms = quick ? 4_000 : 20_000;
  return withCleanUp(async (atEnd) => {
    const device = await startModbusPlc(atEnd);
    const modbus = { profile: "click-booth", modbus: { host: "127.0.0.1", port: device.port } };
    const opcua = await startOpcua(atEnd);
    // Processes don't share memory, so all settle at the same time.
    const [idle, withModbus, withOpcua] = await Promise.all([
      idleMemory(),
      agentMemory(modbus, settle_ms),
      agentMemory(opcua, settle_ms),
    ]);
    const note = "with the store's thread; anchor: Node with an idle thread";
    const limited = (name: string, [value, anchor]: readonly [number, number], most: number): Figure =>
      limitedFigure({ name, value, unit: "MB", anchor, note }, most);
    return [
      limited("memory.modbus_mb", [withModbus.resident_mb, idle.resident_mb], MOST_MB.modbus),
      limited("memory.modbus_private_mb", [withModbus.private_mb, idle.private_mb], MOST_MB.modbus_private),
      limited("memory.opcua_mb", [withOpcua.resident_mb, idle.resident_mb], MOST_MB.opcua),
      await outputFigure(modbus, settle_ms, quick ? OUTPUT_RUNS.quick : OUTPUT_RUNS.full),
    ];
  });
}

export const memoryFamily: Family = { name: "memory", run };
