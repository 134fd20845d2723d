import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { stringify } from "yaml";

import { askAgent } from "../../src/tools/agent-client.ts";
import type { AgentStatus } from "../../src/domain/status.ts";
import { GATEWAY } from "../support/processes.ts";
import { packagedAgent, type PackagedAgent } from "./packaged.ts";

/** The agent as it is installed, as a process of its own, with these booths; no service answers. */

export const PASSWORD = "of-the-bench";
const MEMORY = "/dev/shm";
const STARTS_WITHIN_MS = 60_000;

export interface Prepared {
  /** Fills the data folder before the agent starts. */
  readonly fill?: (folder: string) => void;
  /** Further settings. */
  readonly config?: object;
  /** It runs from its sources, and each of its threads writes there in the end where its CPU went. */
  readonly profiles?: string;
}

/** Runs `act` while every booth is polled, then ends the agent. `socket`: the agent's. */
export async function withAgent<T>(
  booths: readonly object[],
  act: (pid: number, socket: string) => Promise<T>,
  prepared: Prepared = {},
): Promise<T> {
  return withStartedAgent(
    booths,
    async (pid, socket) => {
      await polling(socket);
      return act(pid, socket);
    },
    prepared,
  );
}

/** The same from the process's first moment on. */
export async function withStartedAgent<T>(
  booths: readonly object[],
  act: (pid: number, socket: string) => Promise<T>,
  { fill, config: more = {}, profiles }: Prepared = {},
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "bench-"));
  fill?.(folder);
  // In memory, as a box's runtime directory is.
  const runtime_dir = mkdtempSync(join(existsSync(MEMORY) ? MEMORY : folder, "bench-"));
  writeFileSync(join(folder, "password"), PASSWORD, { mode: 0o600 });
  const numbered = booths.map((booth, i) => ({ id: `booth-${i + 1}`, ...booth }));
  const service = { url: "http://127.0.0.1:9" };
  const page = { port: 0 };
  const config = { data_dir: folder, runtime_dir, log_level: "error", page, service, booths: numbered, ...more };
  writeFileSync(join(folder, "gateway.yaml"), stringify(config, { aliasDuplicateObjects: false }));
  const { command, args, env } = profiles === undefined ? await packagedAgent() : profiledAgent(profiles);
  const agent = spawn(command, [...args, "run", "--config", join(folder, "gateway.yaml")], {
    env,
    stdio: ["ignore", "ignore", "inherit"],
  });
  const ended = once(agent, "exit");
  try {
    return await act(agent.pid ?? 0, join(runtime_dir, "agent.sock"));
  } finally {
    agent.kill("SIGTERM");
    await ended;
    for (const each of [runtime_dir, folder]) rmSync(each, { recursive: true, force: true });
  }
}

function profiledAgent(folder: string): PackagedAgent {
  return { command: process.execPath, args: ["--cpu-prof", `--cpu-prof-dir=${folder}`, GATEWAY], env: process.env };
}

/** What the agent says of itself; null while it doesn't answer. */
export async function statusAt(socket: string): Promise<AgentStatus | null> {
  // The agent answers its own shape.
  return (await askAgent(socket, { method: "GET", path: "/status" }).catch(() => null)) as AgentStatus | null;
}

async function polling(socket: string): Promise<void> {
  const deadline = performance.now() + STARTS_WITHIN_MS;
  while (performance.now() < deadline) {
    await sleep(200);
    const status = await statusAt(socket);
    if (status?.booths.every(({ plc }) => plc.kind === "up") === true) return;
  }
  throw new Error("the agent doesn't read every booth");
}
