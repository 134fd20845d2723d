import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { connect, createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { RunningPlc } from "../../simulators/plc/start.ts";
import { eventually } from "../support/eventually.ts";
import { temporaryFolder, type AtEnd } from "../support/temporary.ts";
import { notMeasured, type BenchOptions, type Family, type Figure } from "./figure.ts";
import { startLibmodbus } from "./libmodbus.ts";
import { modbusPlc } from "./modbus-plc.ts";
import { cpuSeconds, memoryOf, writtenBytes } from "./process-figures.ts";
import { withAgent } from "./running-agent.ts";
import { errorMessage } from "../../src/domain/error-message.ts";

/**
 * `npm run bench -- peers`: what others take who ask the same device for the same blocks as often as the agent does: Node-RED with
 * its Modbus nodes, which appends each answer to a file; modbus-serial and libmodbus, which do nothing with theirs. One after the other.
 */
const BOOTHS = 8;
const SETTLE_MS = { quick: 3_000, full: 10_000 };
const MEASURED_MS = { quick: 5_000, full: 60_000 };
const INSTALLED_WITHIN_MS = 300_000;
const ASKS_WITHIN_MS = 90_000;
/** The newest all of whose parts come from npm's registry. */
const NODE_RED = { "node-red": "5.0.7", "node-red-contrib-modbus": "5.23.3" };
const MODBUS_SERIAL = fileURLToPath(new URL("peer-modbus-serial.ts", import.meta.url));

/** A request as the wire has it. */
interface Asked {
  readonly fn: number;
  readonly address: number;
  readonly count: number;
}

const READS = new Map([
  [1, "Coil"],
  [2, "Input"],
  [3, "HoldingRegister"],
  [4, "InputRegister"],
]);

interface Bed {
  readonly device: RunningPlc;
  readonly length: "quick" | "full";
  readonly atEnd: AtEnd;
}

/** What a process takes, per quantity; how often it asks stands beside it. */
interface Taken {
  readonly of: readonly { readonly name: string; readonly value: number; readonly unit: string }[];
  readonly requests_per_s: number;
}

function tell(what: string): void {
  process.stderr.write(`\n  ${what} ... `);
}

async function taken(pid: number, { device, length }: Bed): Promise<Taken> {
  const seen = () => ({ cpu_s: cpuSeconds(pid), bytes: writtenBytes(pid), requests: device.counts.requests });
  await sleep(SETTLE_MS[length]);
  const before = seen();
  const begun = performance.now();
  await sleep(MEASURED_MS[length]);
  const after = seen();
  const elapsed_s = (performance.now() - begun) / 1_000;
  const { resident_mb, private_mb } = memoryOf(pid);
  const a_day = 86_400 / elapsed_s / 1e6;
  return {
    of: [
      { name: "cpu_percent", value: (100 * (after.cpu_s - before.cpu_s)) / elapsed_s, unit: "% of a core" },
      { name: "resident_mb", value: resident_mb, unit: "MB" },
      { name: "private_mb", value: private_mb, unit: "MB" },
      { name: "written_mb_per_day", value: (after.bytes - before.bytes) * a_day, unit: "MB" },
    ],
    requests_per_s: (after.requests - before.requests) / elapsed_s,
  };
}

/** A way to the device that notes what is read by it. */
async function noting(target: number, atEnd: AtEnd) {
  const asked = new Map<string, Asked>();
  const server = createServer({ noDelay: true }, (near) => {
    const far = connect({ host: "127.0.0.1", port: target, noDelay: true });
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      one.on("error", () => other.destroy()).on("close", () => other.destroy());
      one.pipe(other);
    }
    near.on("data", (bytes: Buffer) => {
      // The agent writes a request at once, and a read has twelve bytes.
      if (bytes.length < 12) return;
      const fn = bytes.readUInt8(7);
      const address = bytes.readUInt16BE(8);
      const count = bytes.readUInt16BE(10);
      if (READS.has(fn)) asked.set(`${fn} ${address} ${count}`, { fn, address, count });
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  atEnd(() => server.close());
  return { port: (server.address() as AddressInfo).port, asked };
}

async function ours(bed: Bed): Promise<Taken & { readonly asked: readonly Asked[] }> {
  const { port, asked } = await noting(bed.device.port, bed.atEnd);
  const every = { poll_interval_ms: 1_000 };
  const booths = Array.from({ length: BOOTHS }, (_, nth) => ({
    profile: "click-booth",
    modbus: { host: "127.0.0.1", port: nth === 0 ? port : bed.device.port },
    poll: { fast: every, slow: every },
  }));
  return withAgent(booths, async (pid) => {
    await sleep(SETTLE_MS[bed.length]);
    asked.clear(); // what is asked for at a connection alone isn't asked for each second
    return { ...(await taken(pid, bed)), asked: [...asked.values()] };
  });
}

/** Waits until the process asks the device, measures, and ends it. */
async function ofProcess(child: ChildProcess, bed: Bed): Promise<Taken> {
  const ended = once(child, "exit");
  try {
    const before = bed.device.counts.requests;
    const asks = () => {
      if (child.exitCode !== null) throw new Error(`it ended with exit code ${child.exitCode}`);
      return bed.device.counts.requests > before + BOOTHS ? true : undefined;
    };
    await eventually("it asks the device", asks, ASKS_WITHIN_MS);
    return await taken(child.pid ?? 0, bed);
  } finally {
    child.kill("SIGTERM");
    await ended;
  }
}

async function modbusSerial(bed: Bed, asked: readonly Asked[]): Promise<Taken> {
  const args = [MODBUS_SERIAL, bed.device.port, BOOTHS, JSON.stringify(asked)].map(String);
  return ofProcess(spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"] }), bed);
}

/** All booths over one connection. */
async function libmodbus(bed: Bed, asked: readonly Asked[]): Promise<Taken> {
  const blocks = asked.flatMap(({ fn, address, count }) => [fn, address, count]);
  const loop = startLibmodbus(bed.device.port, blocks);
  if (loop === null)
    throw new Error("libmodbus isn't installed: on Debian, apt-get install gcc pkg-config libmodbus-dev");
  const timer = setInterval(() => void loop.micros(BOOTHS), 1_000);
  try {
    return await taken(loop.pid, bed);
  } finally {
    clearInterval(timer);
    loop.stop();
  }
}

async function nodeRed(bed: Bed, asked: readonly Asked[]): Promise<Taken> {
  const folder = temporaryFolder(undefined, bed.atEnd);
  tell("npm installs Node-RED into a temporary folder");
  const packages = Object.entries(NODE_RED).map(([name, version]) => `${name}@${version}`);
  const quiet = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];
  await promisify(execFile)("npm", ["install", "--prefix", folder, ...quiet, ...packages], {
    timeout: INSTALLED_WITHIN_MS,
    cwd: folder,
  }).catch((cause: unknown) => {
    throw new Error("npm can't install node-red and node-red-contrib-modbus: it needs a registry of npm", { cause });
  });
  writeFileSync(join(folder, "flows.json"), JSON.stringify(flowOf(bed.device.port, asked, join(folder, "answers"))));
  const settings = {
    uiHost: "127.0.0.1",
    uiPort: await freePort(),
    httpAdminRoot: false,
    httpNodeRoot: false,
    flowFile: "flows.json",
    credentialSecret: false,
    logging: { console: { level: "error" } },
    telemetry: { enabled: false },
    externalModules: { autoInstall: false },
  };
  writeFileSync(join(folder, "settings.js"), `module.exports = ${JSON.stringify(settings)};\n`);
  tell("Node-RED runs");
  const program = join(folder, "node_modules/node-red/red.js");
  const args = [program, "--userDir", folder, "--settings", join(folder, "settings.js")];
  return ofProcess(spawn(process.execPath, args, { cwd: folder, stdio: ["ignore", "ignore", "inherit"] }), bed);
}

/** A connection a booth, a node a block that reads each second, and one that appends what they say to a file, a line an answer. */
function flowOf(port: number, asked: readonly Asked[], filename: string): readonly object[] {
  const file = { id: "answers", z: "tab", type: "file", filename, filenameType: "str", appendNewline: true };
  const flow: object[] = [
    { id: "tab", type: "tab", label: "booths" },
    { ...file, overwriteFile: "false", encoding: "none", wires: [[]] },
  ];
  for (let booth = 0; booth < BOOTHS; booth += 1) {
    const server = `client-${booth}`;
    flow.push({
      id: server,
      type: "modbus-client",
      clienttype: "tcp",
      tcpHost: "127.0.0.1",
      tcpPort: port.toString(),
      tcpType: "DEFAULT",
      unit_id: "1",
      bufferCommands: true,
      commandDelay: "1",
      clientTimeout: "5000",
      reconnectOnTimeout: true,
      reconnectTimeout: "2000",
      parallelUnitIdsAllowed: true,
    });
    for (const [index, { fn, address, count }] of asked.entries()) {
      flow.push({
        id: `read-${booth}-${index}`,
        z: "tab",
        type: "modbus-read",
        server,
        unitid: "1",
        wires: [["answers"], []],
        dataType: READS.get(fn),
        adr: address.toString(),
        quantity: count.toString(),
        rate: "1",
        rateUnit: "s",
      });
    }
  }
  return flow;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

const PEERS = [
  { name: "node_red", told: "Node-RED, which appends each answer to a file", of: nodeRed },
  { name: "modbus_serial", told: "modbus-serial, which does nothing with the answers", of: modbusSerial },
  { name: "libmodbus", told: "libmodbus in C, which does nothing with the answers", of: libmodbus },
] as const;

async function run({ quick }: BenchOptions): Promise<readonly Figure[]> {
  const undos: (() => unknown)[] = [];
  const device = await modbusPlc();
  const bed: Bed = { device, length: quick ? "quick" : "full", atEnd: (undo) => void undos.push(undo) };
  try {
    tell("the agent");
    const own = await ours(bed);
    const figures: Figure[] = [];
    for (const { name, told, of } of PEERS) {
      tell(name);
      try {
        figures.push(...beside(own, await of(bed, own.asked), { name, told }));
      } catch (error) {
        figures.push(notMeasured(`peers.${name}`, "", errorMessage(error)));
      }
    }
    return figures;
  } finally {
    for (const undo of undos.reverse()) await undo();
    await device.stop();
  }
}

function beside(own: Taken, other: Taken, { name, told }: { readonly name: string; readonly told: string }): Figure[] {
  const often = `${own.requests_per_s.toFixed(0)} and ${other.requests_per_s.toFixed(0)} requests a second`;
  return own.of.map(({ name: quantity, value, unit }, index) => {
    const anchor = other.of[index]?.value ?? NaN;
    const ratio = anchor === 0 ? null : value / anchor;
    const figure = { name: `peers.${name}_${quantity}`, value, unit, anchor, ratio };
    return { ...figure, target: `anchor: ${told}; ${often}`, reached: null };
  });
}

export const peersFamily: Family = { name: "peers", run };
