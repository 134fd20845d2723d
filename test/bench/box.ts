import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { arch, cpus, platform, totalmem } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { deflateRawSync } from "node:zlib";
import { chunkMessage, factLines } from "../../src/contract/chunk.ts";
import { sha256 } from "../../src/contract/hash.ts";
import type { AgentStatus } from "../../src/domain/status.ts";
import { askAgent, SOCKET_NAME } from "../../src/tools/agent-client.ts";
import { aligned } from "../support/aligned.ts";
import { writerIn } from "../support/store.ts";
import { median } from "./figure.ts";
import { cpuSeconds, memoryOf, writtenBytes } from "./process-figures.ts";
import { fillStore, STREAM } from "./store-filled.ts";

/**
 * What the agent takes on this very box: /usr/lib/booth-gateway/bench, which needs nothing but the package. Runs the installed agent
 * beside the one that may be running, on a device of its own and in a folder of its own, and prints a text.
 */
const HELP = `/usr/lib/booth-gateway/bench [--folder DIR] [--seconds N]

Measures on this box, some minutes long: CPU of a start, memory, CPU of reading, what is written to the flash, CPU of packing a log that
waited. Nothing of the gateway that runs here is touched; it takes CPU from what is measured.
  --folder DIR   where the trial's store stands; give one on the flash (default: /var/tmp)
  --seconds N    how long each is measured (default: 60)
`;
const STARTS = 3;
const WITHIN_MS = 180_000;
const LOOK_MS = 20;
/** Of a day of the busy booth that is packed. */
const PACKED_DAYS = 0.25;
const UNIT = "/usr/lib/systemd/system/booth-gateway.service";

/** Beside this program as it is installed. */
const LAUNCHER = join(dirname(process.argv[1] ?? ""), "booth-gateway");

/** A PLC in spray: every fifth register changes each second, and there is nothing but reads. */
function device(): void {
  const answer = (request: Buffer): Buffer => {
    const fn = request.readUInt8(7);
    const address = request.readUInt16BE(8);
    const count = request.readUInt16BE(10);
    const bytes = fn <= 2 ? Math.ceil(count / 8) : 2 * count;
    const isRead = fn >= 1 && fn <= 4;
    const body = isRead ? Buffer.alloc(2 + bytes) : Buffer.from([fn | 0x80, 1]);
    if (isRead) body.set([fn, bytes]);
    const second = Math.floor(Date.now() / 1_000);
    if (fn === 3 || fn === 4) {
      for (let at = 0; at < count; at += 1) {
        const register = address + at;
        body.writeUInt16BE(register === 0 ? 3 : register % 5 === 0 ? 100 + (second % 50) : 7, 2 + 2 * at);
      }
    }
    const head = Buffer.from(request.subarray(0, 7));
    head.writeUInt16BE(1 + body.length, 4);
    return Buffer.concat([head, body]);
  };
  const server = createServer({ noDelay: true }, (socket: Socket) => {
    socket.on("error", () => socket.destroy());
    socket.on("data", (request) => {
      if (request.length >= 12) socket.write(answer(request));
    });
  });
  server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
  process.on("disconnect", () => process.exit());
}

interface Bed {
  readonly port: number;
  readonly folder: string;
  readonly seconds: number;
}

/** As the unit sets it, where it is installed. */
function unitEnvironment(): Readonly<Record<string, string>> {
  try {
    const settings = /^Environment=(.*)$/m.exec(readFileSync(UNIT, "utf8"))?.[1]?.split(" ") ?? [];
    return Object.fromEntries(settings.map((one) => [one.replace(/=.*/, ""), one.replace(/^[^=]*=/, "")]));
  } catch {
    return {}; // run from the tree
  }
}

/** Runs `act` beside an agent that polls so many booths from its first moment on. */
async function withBooths<T>(bed: Bed, count: number, act: (pid: number, socket: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(bed.folder, "agent-"));
  const runtime_dir = mkdtempSync("/dev/shm/booth-gateway-bench-");
  const every = { poll_interval_ms: 1_000 };
  const booths = Array.from({ length: count }, (_, nth) => ({
    id: `booth-${nth + 1}`,
    profile: "click-booth",
    modbus: { host: "127.0.0.1", port: bed.port },
    poll: { fast: every, slow: every },
  }));
  const service = { url: "http://127.0.0.1:9" };
  const config = { data_dir: folder, runtime_dir, log_level: "error", page: { port: 0 }, service, booths };
  // JSON is YAML, too.
  writeFileSync(join(folder, "gateway.yaml"), JSON.stringify(config));
  const CACHE_DIRECTORY = join(bed.folder, "cache");
  mkdirSync(CACHE_DIRECTORY, { recursive: true });
  // Node's options stand in the launcher's first line, behind its path.
  const [, ...options] = (readFileSync(LAUNCHER, "utf8").split("\n")[0] ?? "").split(" ");
  const args = [...options, LAUNCHER, "run", "--config", join(folder, "gateway.yaml")];
  const env = { ...process.env, ...unitEnvironment(), CACHE_DIRECTORY };
  const agent = spawn(process.execPath, args, { env, stdio: ["ignore", "ignore", "inherit"] });
  const ended = once(agent, "exit");
  try {
    return await act(agent.pid ?? 0, join(runtime_dir, SOCKET_NAME));
  } finally {
    agent.kill("SIGTERM");
    await ended;
    for (const each of [runtime_dir, folder]) rmSync(each, { recursive: true, force: true });
  }
}

/** Waits until all booths have something that is safe. */
async function committed(socket: string): Promise<void> {
  const deadline = performance.now() + WITHIN_MS;
  while (performance.now() < deadline) {
    // The agent answers its own shape.
    const status = (await askAgent(socket, { method: "GET", path: "/status" }).catch(() => null)) as AgentStatus | null;
    if (status?.booths.every(({ log }) => log.newest_seq > 0) === true) return;
    await sleep(LOOK_MS);
  }
  throw new Error("the agent commits nothing");
}

/** CPU from the start to the first reading that is safe, ms. */
function startCpu(bed: Bed): Promise<number> {
  return withBooths(bed, 1, async (pid, socket) => {
    await committed(socket);
    return cpuSeconds(pid) * 1_000;
  });
}

async function bareNodeCpu(): Promise<number> {
  const tell = "process.send(process.cpuUsage());process.disconnect()";
  const node = spawn(process.execPath, ["--eval", tell], { stdio: ["ignore", "ignore", "inherit", "ipc"] });
  const [{ user, system }] = (await once(node, "message")) as [NodeJS.CpuUsage];
  return (user + system) / 1_000;
}

interface Steady {
  readonly cpu_percent: number;
  readonly resident_mb: number;
  readonly private_mb: number;
  readonly written_mb_per_day: number;
}

function steady(bed: Bed, count: number): Promise<Steady> {
  return withBooths(bed, count, async (pid, socket) => {
    await committed(socket);
    await sleep(bed.seconds * 250);
    const cpu_s = cpuSeconds(pid);
    const bytes = writtenBytes(pid);
    const begun = performance.now();
    await sleep(bed.seconds * 1_000);
    const elapsed_s = (performance.now() - begun) / 1_000;
    return {
      cpu_percent: (100 * (cpuSeconds(pid) - cpu_s)) / elapsed_s,
      written_mb_per_day: ((writtenBytes(pid) - bytes) / elapsed_s) * (86_400 / 1e6),
      ...memoryOf(pid),
    };
  });
}

/** A log that waited is made what goes over the line, without the line: readings a second of CPU, and bytes each. */
function packing(folder: string): { readonly per_cpu_s: number; readonly bytes_each: number } {
  const store = join(folder, "waiting");
  const { changes } = fillStore(store, PACKED_DAYS, { has_facts: true });
  const writer = writerIn(store);
  writer.openStream("booth-1");
  const { newest_seq } = writer.resend(STREAM, 1);
  const head = { gateway_id: "gw-1", generation: 1, stream: STREAM };
  const before = process.cpuUsage();
  let bytes = 0;
  let from = 1;
  while (from <= newest_seq) {
    for (const { chunk, to } of writer.chunks(STREAM, from, newest_seq)) {
      from = to + 1;
      if (chunk === null) continue;
      const message = chunkMessage(head, chunk, deflateRawSync(factLines(chunk.facts)));
      if (sha256(message) !== "") bytes += message.length;
    }
  }
  const { user, system } = process.cpuUsage(before);
  writer.close();
  return { per_cpu_s: (changes / (user + system)) * 1e6, bytes_each: bytes / changes };
}

function tell(what: string): void {
  process.stderr.write(`${what} ...\n`);
}

async function measured(bed: Bed): Promise<string> {
  tell("starts");
  await startCpu(bed); // compiles, as the first start after an installation does
  const starts: number[] = [];
  for (let nth = 0; nth < STARTS; nth += 1) starts.push(await startCpu(bed));
  const bare = await bareNodeCpu();
  tell("one booth");
  const one = await steady(bed, 1);
  tell("8 booths");
  const eight = await steady(bed, 8);
  tell("a log that waited");
  const { per_cpu_s, bytes_each } = packing(bed.folder);
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
  const plc = fork(process.argv[1] ?? "", ["device"], { stdio: "inherit" });
  try {
    const [port] = (await once(plc, "message")) as [number];
    process.stdout.write(`${machine()}\n${await measured({ port, folder, seconds })}\n`);
  } finally {
    plc.disconnect();
    rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv[2] === "device") device();
else void run();
