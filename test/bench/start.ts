import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { cpuSeconds } from "./process-figures.ts";
import { comparedFigure, interleaved, type BenchOptions, type Family, type Figure } from "./figure.ts";
import { modbusPlc } from "./modbus-plc.ts";
import { statusAt, withAgentAgain } from "./running-agent.ts";

const WITHIN_MS = 60_000;
/** Linux tells CPU in steps of 10 ms. */
const LOOK_MS = 10;
const MOST_OF_NODE = 8;
const TELL = `process.stdout.write(JSON.stringify(process.cpuUsage()))`;

/** CPU of an agent from its start until its first reading is committed, ms; being asked for it is part of that. */
async function untilCommitted(booth: object): Promise<number> {
  return withAgentAgain([booth], async (pid, socket) => {
    const deadline = performance.now() + WITHIN_MS;
    while (performance.now() < deadline) {
      const status = await statusAt(socket);
      if (status?.booths.some(({ log }) => log.last_commit_at !== null) === true) return cpuSeconds(pid) * 1_000;
      await sleep(LOOK_MS);
    }
    throw new Error("the agent commits nothing");
  });
}

async function bareNode(): Promise<number> {
  const { stdout } = await promisify(execFile)(process.execPath, ["--eval", TELL]);
  const { user, system } = JSON.parse(stdout) as NodeJS.CpuUsage;
  return (user + system) / 1_000;
}

async function run({ quick }: BenchOptions): Promise<readonly Figure[]> {
  const device = await modbusPlc();
  try {
    const booth = { profile: "click-booth", modbus: { host: "127.0.0.1", port: device.port } };
    await untilCommitted(booth); // writes the compiled code, as the first start on a box does
    const ours = (): Promise<number> => untilCommitted(booth);
    const { ours: value = NaN, bare: anchor = NaN } = await interleaved(quick ? 2 : 9, { ours, bare: bareNode });
    const figure = { name: "start.first_reading_cpu_ms", value, unit: "ms", anchor };
    return [comparedFigure({ ...figure, atMost: MOST_OF_NODE, of: "Node alone" })];
  } finally {
    await device.stop();
  }
}

/** From the process's start to the first reading that is safe, by CPU. */
export const startFamily: Family = { name: "start", run };
