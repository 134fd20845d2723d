import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { askAgent, SOCKET_NAME } from "../../src/tools/agent-client.ts";
import type { AgentStatus } from "../../src/domain/status.ts";
import { eventually } from "../support/eventually.ts";

export const PASSWORD = "of-the-bench";
/** A box's runtime directory is in memory. */
const MEMORY = "/dev/shm";
const STARTS_WITHIN_MS = 180_000;

/** How an agent is started. */
export interface AgentProgram {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<NodeJS.ProcessEnv>;
}

/** Returns the arguments of Node that start a launcher: Node's options stand in its first line, after the path of Node. */
export function launcherArguments(launcher: string): readonly string[] {
  const [, ...options] = (readFileSync(launcher, "utf8").split("\n")[0] ?? "").split(" ");
  return [...options, launcher];
}

/** Returns the environment that a systemd unit sets. */
export function environmentOf(unit: string): Readonly<Record<string, string>> {
  const settings = /^Environment=(.*)$/m.exec(unit)?.[1]?.split(" ") ?? [];
  return Object.fromEntries(settings.map((setting) => [setting.replace(/=.*/, ""), setting.replace(/^[^=]*=/, "")]));
}

/** A box with an agent whose service does not answer, unless `config` names another. */
export interface Box {
  readonly booths: readonly object[];
  /** Fills the data folder before the agent starts. */
  readonly fill?: (folder: string) => void;
  /** Further settings. */
  readonly config?: object;
  /** The agent has run before, as on any box but for its very first start. */
  readonly hasRun?: boolean;
  /** The folder of the box's folder; default: the system's temporary one. */
  readonly within?: string;
  /** Folder of the compiled code; default: in the box's folder. */
  readonly cache?: string;
}

export interface RunningAgent {
  readonly pid: number;
  readonly socket: string;
  /** undefined while the agent does not answer. */
  readonly status: () => Promise<AgentStatus | undefined>;
  /** Resolves once the agent's status is as wanted. */
  readonly once: (what: string, isWanted: (status: AgentStatus) => boolean) => Promise<void>;
  /** Resolves once every booth is polled. */
  readonly polling: () => Promise<void>;
}

/** Runs `act` with an agent from the first moment of its process on, then ends the agent. */
export async function withProgram<T>(
  program: AgentProgram,
  box: Box,
  act: (agent: RunningAgent) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(box.within ?? tmpdir(), "bench-"));
  const runtime_dir = mkdtempSync(join(existsSync(MEMORY) ? MEMORY : folder, "bench-"));
  try {
    box.fill?.(folder);
    writeFileSync(join(folder, "password"), PASSWORD, { mode: 0o600 });
    const booths = box.booths.map((booth, i) => ({ id: `booth-${i + 1}`, ...booth }));
    const service = { url: "http://127.0.0.1:9" };
    const base = { data_dir: folder, runtime_dir, log_level: "error", page: { port: 0 }, service, booths };
    // JSON is YAML, too.
    writeFileSync(join(folder, "gateway.yaml"), JSON.stringify({ ...base, ...box.config }));
    const started = {
      program,
      folder,
      socket: join(runtime_dir, SOCKET_NAME),
      cache: box.cache ?? join(folder, "cache"),
    };
    if (box.hasRun === true) await oneRun(started, (agent) => agent.polling());
    return await oneRun(started, act);
  } finally {
    for (const each of [runtime_dir, folder]) rmSync(each, { recursive: true, force: true });
  }
}

interface Start {
  readonly program: AgentProgram;
  readonly folder: string;
  readonly socket: string;
  readonly cache: string;
}

async function oneRun<T>({ program, folder, socket, cache }: Start, act: (agent: RunningAgent) => Promise<T>) {
  const process = spawn(program.command, [...program.args, "run", "--config", join(folder, "gateway.yaml")], {
    env: { ...program.env, CACHE_DIRECTORY: cache },
    stdio: ["ignore", "ignore", "inherit"],
  });
  const ended = once(process, "exit");
  try {
    return await act(runningAgent(process.pid ?? 0, socket));
  } finally {
    process.kill("SIGTERM");
    await ended;
  }
}

function runningAgent(pid: number, socket: string): RunningAgent {
  const status = async (): Promise<AgentStatus | undefined> =>
    // The agent answers its own shape.
    (await askAgent(socket, { method: "GET", path: "/status" }).catch(() => undefined)) as AgentStatus | undefined;
  const isSo = async (what: string, isWanted: (status: AgentStatus) => boolean): Promise<void> => {
    const look = async () => {
      const seen = await status();
      return seen !== undefined && isWanted(seen) ? true : undefined;
    };
    await eventually(what, look, STARTS_WITHIN_MS);
  };
  const polling = (): Promise<void> =>
    isSo("every booth is read", ({ booths }) => booths.every(({ plc }) => plc.kind === "up"));
  return { pid, socket, status, once: isSo, polling };
}
