import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { stringify } from "yaml";

import { askAgent } from "../../src/cli/agent-client.ts";
import { findProfile } from "../../src/config/profile.ts";
import type { AgentStatus } from "../../src/core/types/status.ts";
import { clockFromNow, scaledClock } from "../../simulators/clock.ts";
import { startOpcuaServer } from "../../simulators/plc/opcua/server.ts";
import { findScenario } from "../../simulators/plc/scenarios/all.ts";
import { boothFor, startPlc } from "../../simulators/plc/start.ts";
import type { BenchOptions, Family, Figure } from "./figure.ts";

/** Resident memory of the real agent, its store's thread included, with one booth that is polled. No service answers. */

const GATEWAY = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
const PASSWORD = "of-the-bench";
const STARTS_WITHIN_MS = 60_000;

/** @param booth its profile and link as the configuration has them */
async function residentMb(booth: object, settle_ms: number): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "bench-"));
  const runtime_dir = join(folder, "run");
  mkdirSync(runtime_dir);
  writeFileSync(join(folder, "password"), PASSWORD, { mode: 0o600 });
  const service = { url: "http://127.0.0.1:9" };
  const config = { data_dir: folder, runtime_dir, log_level: "error", service, booths: [{ id: "booth-1", ...booth }] };
  writeFileSync(join(folder, "gateway.yaml"), stringify(config));
  const agent = spawn(process.execPath, [GATEWAY, "run", "--config", join(folder, "gateway.yaml")], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const ended = once(agent, "exit");
  try {
    await polling(join(runtime_dir, "agent.sock"));
    await sleep(settle_ms);
    const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${agent.pid ?? 0}/status`, "utf8"))?.[1];
    return (Number(kilobytes) * 1024) / 1_000_000;
  } finally {
    agent.kill("SIGTERM");
    await ended;
    rmSync(folder, { recursive: true, force: true });
  }
}

async function polling(socket: string): Promise<void> {
  const deadline = performance.now() + STARTS_WITHIN_MS;
  while (performance.now() < deadline) {
    await sleep(200);
    // The agent answers its own shape.
    const status = (await askAgent(socket, { method: "GET", path: "/status" }).catch(() => null)) as AgentStatus | null;
    if (status?.booths[0]?.plc.kind === "up") return;
  }
  throw new Error("the agent reads nothing");
}

async function modbusServer() {
  const profile = findProfile("click-booth");
  const scenario = findScenario("standard-cycle");
  if (profile.protocol !== "modbus" || scenario === undefined) throw new Error("nothing to play");
  return startPlc({ profile, scenario, seed: 1, clock: scaledClock(clockFromNow(1, Date.now())), port: 0 });
}

async function opcuaServer() {
  const profile = findProfile("plcnext-booth");
  const scenario = findScenario("standard-cycle");
  if (profile.protocol !== "opcua" || scenario === undefined) throw new Error("nothing to play");
  const booth = boothFor({ profile, scenario, seed: 1, start: Date.now() });
  return startOpcuaServer({ profile, booth, now: () => Date.now(), port: 0, password: PASSWORD });
}

async function run({ quick }: BenchOptions): Promise<readonly Figure[]> {
  const settle_ms = quick ? 5_000 : 20_000;
  const device = await modbusServer();
  const server = await opcuaServer();
  const modbus = { profile: "click-booth", modbus: { host: "127.0.0.1", port: device.port } };
  const opcua = {
    endpoint: `opc.tcp://127.0.0.1:${server.port}`,
    user: "gateway",
    password_file: "password",
    server_certificate_fingerprint: server.fingerprint(),
  };
  const values = {
    modbus: await residentMb(modbus, settle_ms),
    opcua: await residentMb({ profile: "plcnext-booth", opcua }, settle_ms),
  };
  await server.stop();
  await device.stop();
  return [figureOf("memory.modbus_mb", values.modbus, 75), figureOf("memory.opcua_mb", values.opcua, 115)];
}

function figureOf(name: string, value: number, atMost: number): Figure {
  const target = `at most ${atMost} MB, store's thread included`;
  return { name, value, unit: "MB", anchor: null, ratio: null, target, reached: value <= atMost };
}

export const memoryFamily: Family = { name: "memory", run };
