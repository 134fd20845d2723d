import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { until } from "../support/eventually.ts";

const PEERS = fileURLToPath(new URL("./peers", import.meta.url));
export const PYMODBUS_SERVER = join(PEERS, "pymodbus_server.py");

/** Programs of Debian that tests with devices of others need. A missing one fails the test with the package's name. */
const PACKAGES: readonly (readonly [probe: readonly [string, ...string[]], name: string])[] = [
  [["socat", "-V"], "socat"],
  [["cc", "--version"], "gcc"],
  [["pkg-config", "--exists", "libmodbus"], "libmodbus-dev and pkg-config"],
  [["/usr/bin/python3", "-c", "import pymodbus.server"], "python3-pymodbus and python3-serial-asyncio"],
];

/** Throws with every package that is missing. */
export function needPackages(): void {
  const missing = PACKAGES.filter(([[command, ...args]]) => spawnSync(command, args).status !== 0);
  if (missing.length === 0) return;
  throw new Error(`these Debian packages are missing: ${missing.map(([, name]) => name).join(", ")}`);
}

/** A server that others wrote, with faults of its own. */
export interface Peer {
  readonly port: number;
  /** Switches a fault by a line such as "drop 5 1"; 0 switches it off. */
  fault(line: string): void;
  /** How many faults it has made. */
  faultsMade(): Promise<number>;
}

/** Servers of others and serial lines, in a folder of their own. */
export interface SystemBed {
  /** Ends everything that was started, newest first. */
  readonly end: () => Promise<void>;
  readonly folder: string;
  /** Starts a program; it is ended with the rest. */
  start(command: string, args: readonly string[]): ChildProcess;
  /** Two ends of a serial line. */
  ptyPair(name: string): Promise<{ readonly near: string; readonly far: string }>;
  /** As `faultyPeer`, for who wants the port alone. */
  peer(command: string, args: readonly string[], image: string): Promise<number>;
  /** Starts a peer, gives it its image, and waits for "ready PORT". */
  faultyPeer(command: string, args: readonly string[], image: string): Promise<Peer>;
}

export function systemBed(): SystemBed {
  const folder = mkdtempSync(join(tmpdir(), "system-"));
  const children: ChildProcess[] = [];
  const start: SystemBed["start"] = (command, args) => {
    const child = spawn(command, args, { stdio: ["pipe", "pipe", "ignore"] });
    children.push(child);
    return child;
  };
  return {
    folder,
    start,
    end: async () => {
      for (const child of children.splice(0).reverse()) await ended(child);
      rmSync(folder, { recursive: true, force: true });
    },
    ptyPair: async (name) => {
      const near = join(folder, `${name}-near`);
      const far = join(folder, `${name}-far`);
      start("socat", [`pty,raw,echo=0,link=${near}`, `pty,raw,echo=0,link=${far}`]);
      await until(() => existsSync(near) && existsSync(far), `the pty pair ${name}`);
      return { near, far };
    },
    peer: async (...peer) => (await startPeer(start, ...peer)).port,
    faultyPeer: (...peer) => startPeer(start, ...peer),
  };
}

async function startPeer(
  start: SystemBed["start"],
  ...[command, args, image]: Parameters<SystemBed["faultyPeer"]>
): Promise<Peer> {
  const { stdin, stdout } = start(command, args);
  if (stdin === null || stdout === null) throw new Error("no input or output");
  const lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
  const told = async (pattern: RegExp): Promise<number> => {
    for (;;) {
      const line = await lines.next();
      if (line.done === true) throw new Error(`${command} ended before it said ${pattern.source}`);
      const found = pattern.exec(line.value);
      if (found !== null) return Number(found[1]);
    }
  };
  const say = (line: string): void => void stdin.write(`${line}\n`);
  stdin.write(image);
  const port = await told(/^ready (\d+)$/);
  const faultsMade = (): Promise<number> => {
    say("told");
    return told(/^faults (\d+)$/);
  };
  return { port, fault: say, faultsMade };
}

function ended(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) {
      resolve();
      return;
    }
    child.once("exit", () => resolve());
    child.kill("SIGKILL");
  });
}

/** Compiles the libmodbus server into a folder and gives the program's path. */
export function compileLibmodbus(folder: string): string {
  const program = join(folder, "libmodbus_server");
  const flags = execFileSync("pkg-config", ["--cflags", "--libs", "libmodbus"], { encoding: "utf8" });
  const source = join(PEERS, "libmodbus_server.c");
  execFileSync("cc", ["-O1", "-Wall", "-pthread", "-o", program, source, ...flags.trim().split(/\s+/)]);
  return program;
}
