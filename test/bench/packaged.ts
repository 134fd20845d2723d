import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { AGENT, bundleOf } from "../../systemd/package/bundle.ts";
import { layOutProgram } from "../../systemd/package/tree.ts";
import {
  environmentOf,
  launcherArguments,
  withProgram,
  type AgentProgram,
  type Box,
  type RunningAgent,
} from "./running-agent.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");

let made: Promise<AgentProgram> | null = null;

/** The environment variable that hands the program, once laid out, to the processes of the families. */
const HANDED = "BENCH_AGENT";

/** Lays out the program of the Debian package in a temporary folder, once for all figures of a run. */
export function packagedAgent(): Promise<AgentProgram> {
  const handed = process.env[HANDED];
  // This file writes it.
  made ??= handed === undefined ? make() : Promise.resolve(JSON.parse(handed) as AgentProgram);
  return made;
}

/** Returns the environment of a family's process. */
export async function familyEnvironment(): Promise<NodeJS.ProcessEnv> {
  return { ...process.env, [HANDED]: JSON.stringify(await packagedAgent()) };
}

/** Runs `act` with the agent as it is installed, from the first moment of its process on. */
export async function withAgent<T>(box: Box, act: (agent: RunningAgent) => Promise<T>): Promise<T> {
  return withProgram(await packagedAgent(), box, act);
}

async function make(): Promise<AgentProgram> {
  const stage = mkdtempSync(join(tmpdir(), "bench-package-"));
  process.once("exit", () => rmSync(stage, { recursive: true, force: true }));
  // All boxes share the compiled code.
  const cache_dir = join(stage, "cache");
  mkdirSync(cache_dir);
  const { node, launcher } = layOutProgram({
    root: ROOT,
    stage,
    architecture: process.arch === "arm64" ? "arm64" : "amd64",
    version: "0.0.0",
    made_at: new Date(0),
    cache: join(ROOT, "node_modules/.cache/booth-gateway-node"),
    bundle: await bundleOf(ROOT, AGENT),
  });
  const env = { ...process.env, ...serviceEnvironment(), NODE_COMPILE_CACHE: cache_dir };
  return { command: node, args: launcherArguments(launcher), env };
}

/** Returns the environment that a unit file sets: how memory is given back, among it. */
function serviceEnvironment(): Readonly<Record<string, string>> {
  return environmentOf(readFileSync(join(ROOT, "systemd/booth-gateway.service"), "utf8"));
}
