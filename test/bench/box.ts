import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { arch, cpus, platform, totalmem } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { deflateRawSync } from "node:zlib";
import { chunkMessage, factLines } from "../../src/contract/chunk.ts";
import { sha256 } from "../../src/contract/hash.ts";
import type { AgentStatus } from "../../src/domain/status.ts";
import { aligned } from "../support/aligned.ts";
import { fillStore, STREAM } from "../support/filled-store.ts";
import { cpuSeconds, memoryOf, writtenBytes, type Memory } from "../support/process-figures.ts";
import { writerIn } from "../support/store.ts";
import { startDevice } from "./device.ts";
import { cpuMs, median } from "./figure.ts";
import { environmentOf, launcherArguments, withProgram, type RunningAgent } from "./running-agent.ts";

/**
 * Measures the installed agent on this box, from /usr/lib/booth-gateway/bench, which needs only the package. Starts a
 * second agent with its own device and folder, and prints a text.
 */
const HELP = `/usr/lib/booth-gateway/bench [--folder DIR] [--seconds N]

Measures on this box, some minutes long: CPU of a start, memory, CPU of reading, what is written to the flash, CPU of packing a log that
waited. Nothing of the gateway that runs here is touched; it takes CPU from what is measured.
  --folder DIR   where the trial's store stands; give one on the flash (default: /var/tmp)
  --seconds N    how long each is measured (default: 60)
`;
const STARTS = 3;
/** The part of a day of a busy booth that is packed. */
const PACKED_DAYS = 0.25;
const UNIT = "/usr/lib/systemd/system/booth-gateway.service";

/** Beside this program as it is installed. */
const LAUNCHER = join(dirname(process.argv[1] ?? ""), "booth-gateway");

interface Bed {
  readonly port: number;
  readonly folder: string;
  readonly seconds: number;
}

function unitEnvironment(): Readonly<Record<string, string>> {
  try {
    return environmentOf(readFileSync(UNIT, "utf8"));
  } catch {
    return {}; // run from the sources
  }
}

/** Runs `act` with an agent that polls so many booths from its first moment on. */
async function withBooths<T>(bed: Bed, count: number, act: (agent: RunningAgent) => Promise<T>): Promise<T> {
  const every = { poll_interval_ms: 1_000 };
  const booth = { profile: "click-booth", modbus: { host: "127.0.0.1", port: bed.port } };
  const booths = Array.from({ length: count }, () => ({ ...booth, poll: { fast: every, slow: every } }));
  const env = { ...process.env, ...unitEnvironment() };
  const program = { command: process.execPath, args: launcherArguments(LAUNCHER), env };
  const cache = join(bed.folder, "cache");
  mkdirSync(cache, { recursive: true });
  return withProgram(program, { booths, cache, within: bed.folder }, act);
}

const hasCommitted = ({ booths }: AgentStatus): boolean => booths.every(({ log }) => log.newest_seq > 0);

/** Returns the CPU time from the start to the first committed reading, in ms. */
function startCpu(bed: Bed): Promise<number> {
  return withBooths(bed, 1, async (agent) => {
    await agent.once("a reading is committed", hasCommitted);
    return cpuSeconds(agent.pid) * 1_000;
  });
}

async function bareNodeCpu(): Promise<number> {
  const report = "process.send(process.cpuUsage());process.disconnect()";
  const node = spawn(process.execPath, ["--eval", report], { stdio: ["ignore", "ignore", "inherit", "ipc"] });
  const [{ user, system }] = (await once(node, "message")) as [NodeJS.CpuUsage];
  return (user + system) / 1_000;
}

interface Steady extends Memory {
  readonly cpu_percent: number;
  readonly written_mb_per_day: number;
}

function steady(bed: Bed, count: number): Promise<Steady> {
  return withBooths(bed, count, async (agent) => {
    await agent.once("readings of all booths are committed", hasCommitted);
    await sleep(bed.seconds * 250);
    const cpu_s = cpuSeconds(agent.pid);
    const bytes = writtenBytes(agent.pid);
    const begun = performance.now();
    await sleep(bed.seconds * 1_000);
    const elapsed_s = (performance.now() - begun) / 1_000;
    return {
      cpu_percent: (100 * (cpuSeconds(agent.pid) - cpu_s)) / elapsed_s,
      written_mb_per_day: ((writtenBytes(agent.pid) - bytes) / elapsed_s) * (86_400 / 1e6),
      ...memoryOf(agent.pid),
    };
  });
}

/** Packs a log for the line, without the line. Returns readings per second of CPU, and bytes of each. */
async function packing(folder: string): Promise<{ readonly per_cpu_s: number; readonly bytes_each: number }> {
  const store = join(folder, "waiting");
  const { changes } = fillStore(store, PACKED_DAYS, { has_facts: true });
  const writer = writerIn(store);
  writer.openStream("booth-1");
  const { newest_seq } = writer.resend(STREAM, 1);
  const head = { gateway_id: "gw-1", generation: 1, stream: STREAM };
  let bytes = 0;
  const cpu_ms = await cpuMs(() => {
    let from = 1;
    while (from <= newest_seq) {
      for (const { chunk, to } of writer.chunks(STREAM, from, newest_seq)) {
        from = to + 1;
        if (chunk === null) continue;
        const message = chunkMessage(head, chunk, deflateRawSync(factLines(chunk.facts)));
        if (sha256(message) !== "") bytes += message.length;
      }
    }
  });
  writer.close();
  return { per_cpu_s: (changes / cpu_ms) * 1_000, bytes_each: bytes / changes };
}

async function measured(bed: Bed): Promise<string> {
  const progress = (what: string): void => void process.stderr.write(`${what} ...\n`);
  progress("starts");
  await startCpu(bed); // compiles, as the first start after an installation does
  const starts: number[] = [];
  for (let nth = 0; nth < STARTS; nth += 1) starts.push(await startCpu(bed));
  const bare = await bareNodeCpu();
  progress("one booth");
  const one = await steady(bed, 1);
  progress("8 booths");
  const eight = await steady(bed, 8);
  progress("a log that waited");
  const { per_cpu_s, bytes_each } = await packing(bed.folder);
  const n = (value: number) => value.toFixed(0);
  const mb = (value: number) => value.toFixed(1);
  return aligned([
    ["CPU from the start to the first reading that is safe", `${n(median(starts))} ms (Node alone ${n(bare)} ms)`],
    ["memory, one booth", `${mb(one.resident_mb)} MB, ${mb(one.private_mb)} MB of them private`],
    ["memory, 8 booths", `${mb(eight.resident_mb)} MB, ${mb(eight.private_mb)} MB of them private`],
    ["CPU, one booth read each second", `${one.cpu_percent.toFixed(2)} % of a core`],
    ["CPU, 8 booths", `${eight.cpu_percent.toFixed(2)} % of a core`],
    ["written to the flash, one booth", `${n(one.written_mb_per_day)} MB a day`],
    ["a log that waited, packed for the line", `${n(per_cpu_s)} readings/s of CPU, ${bytes_each.toFixed(2)} B each`],
  ]);
}

function machine(): string {
  const model = /^(?:model name|Model|Hardware)\s*: (.*)$/m.exec(readFileSync("/proc/cpuinfo", "utf8"))?.[1];
  const gb = (totalmem() / 1e9).toFixed(1);
  return `${platform()} ${arch()}, ${cpus().length} x ${model ?? cpus()[0]?.model ?? "unknown"}, ${gb} GB, Node ${process.version}`;
}

async function run(): Promise<void> {
  const text = { type: "string" } as const;
  const { values } = parseArgs({
    options: {
      folder: { ...text, default: "/var/tmp" },
      seconds: { ...text, default: "60" },
      help: { type: "boolean" },
    },
  });
  const seconds = Number(values.seconds);
  if (values.help === true || !(seconds >= 1 && seconds <= 3_600)) {
    process.stdout.write(HELP);
    return;
  }
  const folder = mkdtempSync(join(values.folder, "booth-gateway-bench-"));
  const device = await startDevice(process.argv[1] ?? "");
  try {
    process.stdout.write(`${machine()}\n${await measured({ port: device.port, folder, seconds })}\n`);
  } finally {
    device.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

// device.ts runs the device of the fork.
if (process.argv[2] !== "device") void run();
