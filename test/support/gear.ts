import { spawn, spawnSync } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { until } from "./eventually.ts";

/** Programs of Debian that tests of real gear need. A missing one fails the test with the package's name. */

const PACKAGES: readonly (readonly [probe: readonly [string, ...string[]], name: string])[] = [
  [["socat", "-V"], "socat"],
  [["cc", "--version"], "gcc"],
  [["pkg-config", "--exists", "libmodbus"], "libmodbus-dev and pkg-config"],
  [["/usr/bin/python3", "-c", "import pymodbus.server"], "python3-pymodbus and python3-serial-asyncio"],
];

/** Throws with every package that is missing. */
export function needGear(): void {
  const missing = PACKAGES.filter(([[command, ...args]]) => spawnSync(command, args).status !== 0);
  if (missing.length === 0) return;
  throw new Error(`these Debian packages are missing: ${missing.map(([, name]) => name).join(", ")}`);
}

export interface Gear {
  /** Ends everything that was started, newest first. */
  readonly end: () => Promise<void>;
  readonly folder: string;
  /** Starts a program; it is ended with the rest. */
  start(command: string, args: readonly string[]): ChildProcess;
  /** Two ends of a serial line. */
  ptyPair(name: string): Promise<{ readonly near: string; readonly far: string }>;
  /** Starts a peer, gives it its image, and waits for "ready PORT". */
  peer(command: string, args: readonly string[], image: string): Promise<number>;
}

export function makeGear(): Gear {
  const folder = mkdtempSync(join(tmpdir(), "gear-"));
  const children: ChildProcess[] = [];
  const start: Gear["start"] = (command, args) => {
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
      const [near, far] = [join(folder, `${name}-near`), join(folder, `${name}-far`)];
      start("socat", [`pty,raw,echo=0,link=${near}`, `pty,raw,echo=0,link=${far}`]);
      await until(() => existsSync(near) && existsSync(far), `the pty pair ${name}`);
      return { near, far };
    },
    peer: async (command, args, image) => {
      const child = start(command, args);
      child.stdin?.write(image);
      if (child.stdout === null) throw new Error("no output");
      for await (const line of createInterface({ input: child.stdout })) {
        const ready = /^ready (\d+)$/.exec(line);
        if (ready !== null) return Number(ready[1]);
      }
      throw new Error(`${command} ended before it was ready`);
    },
  };
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
