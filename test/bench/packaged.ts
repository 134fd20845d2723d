import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundleAgent } from "../../systemd/package/bundle.ts";
import { layOutProgram } from "../../systemd/package/tree.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");

/** How the agent is started on a box: what is measured is what is installed. */
export interface PackagedAgent {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<NodeJS.ProcessEnv>;
}

let made: Promise<PackagedAgent> | null = null;

/** The program of the Debian package, laid out in a temporary folder once for all figures of a run; goes with this process. */
export function packagedAgent(): Promise<PackagedAgent> {
  made ??= make();
  return made;
}

async function make(): Promise<PackagedAgent> {
  const stage = mkdtempSync(join(tmpdir(), "bench-package-"));
  process.once("exit", () => rmSync(stage, { recursive: true, force: true }));
  // Compiled code is one for all boxes.
  const cache_dir = join(stage, "cache");
  mkdirSync(cache_dir);
  const { node, launcher } = layOutProgram({
    root: ROOT,
    stage,
    architecture: process.arch === "arm64" ? "arm64" : "amd64",
    version: "0.0.0",
    made_at: new Date(0),
    cache: join(ROOT, "node_modules/.cache/booth-gateway-node"),
    bundle: await bundleAgent(ROOT),
  });
  const env = { ...process.env, ...serviceEnvironment(), NODE_COMPILE_CACHE: cache_dir };
  // Node's options stand in the launcher's first line, behind its path.
  const [, ...options] = (readFileSync(launcher, "utf8").split("\n")[0] ?? "").split(" ");
  return { command: node, args: [...options, launcher], env };
}

/** What the unit sets: how memory is given back, among it. */
function serviceEnvironment(): Readonly<Record<string, string>> {
  const unit = readFileSync(join(ROOT, "systemd/booth-gateway.service"), "utf8");
  const settings = /^Environment=(.*)$/m.exec(unit)?.[1]?.split(" ") ?? [];
  return Object.fromEntries(settings.map((setting) => [setting.replace(/=.*/, ""), setting.replace(/^[^=]*=/, "")]));
}
