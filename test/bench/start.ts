import { execFile } from "node:child_process";
import { createServer } from "node:http";
import { join } from "node:path";
import { promisify } from "node:util";
import type { AgentStatus } from "../../src/domain/status.ts";
import { cpuSeconds } from "../support/process-figures.ts";
import { GATEWAY } from "../support/processes.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { comparedFigure, interleaved, withCleanUp, type BenchOptions, type Family, type Figure } from "./figure.ts";
import { withAgent } from "./packaged.ts";
import { startModbusPlc } from "./plcs.ts";

/** CPU of two starts: the agent's until its first reading is committed, and that of the command `status`. */

const MOST_OF_NODE = 12;
const MOST_OF_REQUEST = 2;

/** Returns the CPU time of an agent from its start until its first reading is committed, in ms. The status requests are part of it. */
function untilCommitted(booth: object): Promise<number> {
  return withAgent({ booths: [booth], hasRun: true }, async (agent) => {
    await agent.once("a reading is committed", ({ booths }) => booths.some(({ log }) => log.last_commit_at !== null));
    return cpuSeconds(agent.pid) * 1_000;
  });
}

/** Makes a process write at its end how much CPU it has used. */
const REPORT = `data:text/javascript,process.once("exit",()=>process.stderr.write(JSON.stringify(process.cpuUsage())))`;

/** Returns the CPU time of a whole process, user and system, in ms. */
async function cpuOf(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<number> {
  const all = { env: { PATH: process.env["PATH"] ?? "", ...env } };
  const { stderr } = await promisify(execFile)(process.execPath, ["--import", REPORT, ...args], all);
  const { user, system } = JSON.parse(stderr) as NodeJS.CpuUsage;
  return (user + system) / 1_000;
}

/** Compares the CPU time of a start with that of Node alone. */
export async function startFigure(rounds: number): Promise<Figure> {
  return withCleanUp(async (atEnd) => {
    const device = await startModbusPlc(atEnd);
    const booth = { profile: "click-booth", modbus: { host: "127.0.0.1", port: device.port } };
    await untilCommitted(booth); // writes the compiled code, as the first start on a box does
    const contenders = { agent: () => untilCommitted(booth), node: () => cpuOf(["--eval", ""]) };
    const { agent: value = NaN, node: anchor = NaN } = await interleaved(rounds, contenders);
    const figure = { name: "start.first_reading_cpu_ms", value, unit: "ms", anchor };
    return comparedFigure({ ...figure, atMost: MOST_OF_NODE, of: "bare Node" });
  });
}

const STATUS: AgentStatus = {
  agent_version: "0",
  gateway_id: "gateway",
  config_refused: null,
  needs_restart: [],
  at: 1_000,
  started_at: 0,
  boot: "boot",
  clock: { synced: true, offset_ms: 0 },
  lacks: [],
  service: { kind: "up", since: 0, url: "https://service.example", broker_url: null },
  booths: [],
  disabled: [],
  outputs: [],
  notices: [],
  shared: [],
  certificates: [],
  loss_window_ms: 10_000,
};
/** The same exchange with Node alone. */
const REQUEST = `require("node:http").get({socketPath:process.env.RUNTIME_DIRECTORY+"/agent.sock",path:"/status"},(a)=>a.resume())`;

/** Compares the command `status`, while an agent answers at once, with the request alone. */
async function statusFigure({ quick }: BenchOptions): Promise<Figure> {
  return withCleanUp(async (atEnd) => {
    const folder = temporaryFolder(undefined, atEnd);
    const server = createServer((_, answer) => void answer.end(JSON.stringify(STATUS)));
    await new Promise<void>((resolve) => server.listen(join(folder, "agent.sock"), resolve));
    atEnd(() => {
      server.closeAllConnections();
      server.close();
    });
    const env = { RUNTIME_DIRECTORY: folder };
    const status = (): Promise<number> => cpuOf([GATEWAY, "status"], env);
    await status(); // writes the compile cache, as the first call on a box does
    const contenders = { status, request: () => cpuOf(["--eval", REQUEST], env) };
    const { status: value = NaN, request: anchor = NaN } = await interleaved(quick ? 5 : 21, contenders);
    const figure = { name: "cli.status_start_cpu_ms", value, unit: "ms", anchor };
    return comparedFigure({ ...figure, atMost: MOST_OF_REQUEST, of: "bare request" });
  });
}

export const startFamily: Family = {
  name: "start",
  run: async (options) => [await startFigure(options.quick ? 2 : 9), await statusFigure(options)],
};
