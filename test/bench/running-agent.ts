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
export async function withAgent<T>(booths: readonly object[], act: Act<T>, prepared: Prepared = {}): Promise<T> {
  return withBox(booths, prepared, (start) => start(whilePolling(act)));
}

/** The same from the process's first moment on. */
export async function withStartedAgent<T>(booths: readonly object[], act: Act<T>, prepared: Prepared = {}): Promise<T> {
  return withBox(booths, prepared, (start) => start(act));
}

/** The same on a box where the agent has run before, as it has on any box but for its very first start. */
export async function withAgentAgain<T>(booths: readonly object[], act: Act<T>, prepared: Prepared = {}): Promise<T> {
  return withBox(booths, prepared, async (start) => {
    await start(whilePolling(() => Promise.resolve()));
    return start(act);
  });
}

export type Act<T> = (pid: number, socket: string) => Promise<T>;

/** Does it once every booth is polled. */
export function whilePolling<T>(act: Act<T>): Act<T> {
  return async (pid, socket) => {
    await polling(socket);
    return act(pid, socket);
  };
}

/** Starts the agent of one box, runs `act`, and ends the agent again. */
type Start = <T>(act: Act<T>) => Promise<T>;

/** Makes a box with these booths, and takes it away in the end. */
async function withBox<T>(
  booths: readonly object[],
  { fill, config: more = {}, profiles }: Prepared,
  act: (start: Start) => Promise<T>,
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
  const file = join(folder, "gateway.yaml");
  writeFileSync(file, stringify(config, { aliasDuplicateObjects: false }));
  const { command, args, env } = profiles === undefined ? await packagedAgent() : profiledAgent(profiles);
  try {
    return await act(async (act) => {
      const agent = spawn(command, [...args, "run", "--config", file], {
        env: { ...env, CACHE_DIRECTORY: join(folder, "cache") },
        stdio: ["ignore", "ignore", "inherit"],
      });
      const ended = once(agent, "exit");
      try {
        return await act(agent.pid ?? 0, join(runtime_dir, "agent.sock"));
      } finally {
        agent.kill("SIGTERM");
        await ended;
      }
    });
  } finally {
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
