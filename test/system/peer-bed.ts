import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { until } from "../support/eventually.ts";

export const PYMODBUS_SERVER = fileURLToPath(new URL("./peers/pymodbus_server.py", import.meta.url));

/** Debian packages for tests with foreign devices, each with a command that proves the installation. */
const PACKAGES: readonly (readonly [probe: readonly [string, ...string[]], name: string])[] = [
  [["socat", "-V"], "socat"],
  [["cc", "--version"], "gcc"],
  [["pkg-config", "--exists", "libmodbus"], "libmodbus-dev and pkg-config"],
  [["/usr/bin/python3", "-c", "import pymodbus.server"], "python3-pymodbus and python3-serial-asyncio"],
];

/** Throws with the name of every package that is missing. */
export function needPackages(): void {
  const missing = PACKAGES.filter(([[command, ...args]]) => spawnSync(command, args).status !== 0);
  if (missing.length === 0) return;
  throw new Error(`these Debian packages are missing: ${missing.map(([, name]) => name).join(", ")}`);
}

/** Foreign servers and serial lines, in a folder of their own. */
export interface SystemBed {
  /** Ends all started programs, newest first. */
  readonly end: () => Promise<void>;
  readonly folder: string;
  start(command: string, args: readonly string[]): ChildProcess;
  /** Creates a serial line and returns the paths of its two ends. */
  ptyPair(name: string): Promise<{ readonly near: string; readonly far: string }>;
  /** Starts a server, writes its register image to it, and returns its port once it prints "ready PORT". */
  peer(command: string, args: readonly string[], image: string): Promise<number>;
}

export function systemBed(): SystemBed {
  const folder = mkdtempSync(join(tmpdir(), "system-"));
  const children: ChildProcess[] = [];
  const start = (command: string, args: readonly string[]) => {
    const child = spawn(command, args, { stdio: ["pipe", "pipe", "ignore"] });
    children.push(child);
    return child;
  };
  return {
    folder,
    start,
    async end() {
      for (const child of children.splice(0).reverse()) {
        if (child.exitCode !== null || child.signalCode !== null) continue;
        const gone = once(child, "exit");
        child.kill("SIGKILL");
        await gone;
      }
      rmSync(folder, { recursive: true, force: true });
    },
    async ptyPair(name) {
      const near = join(folder, `${name}-near`);
      const far = join(folder, `${name}-far`);
      start("socat", [`pty,raw,echo=0,link=${near}`, `pty,raw,echo=0,link=${far}`]);
      await until(() => existsSync(near) && existsSync(far), `the pty pair ${name}`);
      return { near, far };
    },
    async peer(command, args, image) {
      const { stdin, stdout } = start(command, args);
      stdin.write(image);
      for await (const line of createInterface({ input: stdout })) {
        const port = /^ready (\d+)$/.exec(line)?.[1];
        if (port !== undefined) return Number(port);
      }
      throw new Error(`${command} ended before it was ready`);
    },
  };
}
