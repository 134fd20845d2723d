import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { AgentStatus } from "../../src/domain/status.ts";
import { comparedFigure, interleaved, type Family } from "./figure.ts";

const GATEWAY = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
const STATUS: AgentStatus = {
  agent_version: "0",
  gateway_id: "gateway",
  config_refused: null,
  needs_restart: [],
  at: 1_000,
  started_at: 0,
  boot: "boot",
  clock: { synced: true, offset_ms: 0 },
  lacks: [],
  service: { kind: "up", since: 0, url: "https://service.example", broker_url: null },
  booths: [],
  disabled: [],
  outputs: [],
  notices: [],
  shared: [],
  certificates: [],
  loss_window_ms: 10_000,
};

/** Loaded before the program, it tells at the end what the process has used. */
const TELL = `data:text/javascript,process.once("exit",()=>process.stderr.write(JSON.stringify(process.cpuUsage())))`;

/** CPU of a whole process, user and system, ms: what it takes on a machine that has nothing else to do. */
async function cpuOf(argv: readonly string[], env: Readonly<Record<string, string>>): Promise<number> {
  const all = { env: { PATH: process.env["PATH"] ?? "", ...env } };
  const { stderr } = await promisify(execFile)(process.execPath, ["--import", TELL, ...argv], all);
  const { user, system } = JSON.parse(stderr) as NodeJS.CpuUsage;
  return (user + system) / 1_000;
}

/** The same exchange without any of ours. */
const BARE = `require("node:http").get({socketPath:process.env.RUNTIME_DIRECTORY+"/agent.sock",path:"/status"},(a)=>a.resume())`;

/** What `status` costs when an agent answers at once, beside the bare request: on a small box people wait for it. */
export const cliFamily: Family = {
  name: "cli",
  run: async ({ quick }) => {
    const folder = mkdtempSync(join(tmpdir(), "bench-cli-"));
    const server = createServer((_, answer) => void answer.end(JSON.stringify(STATUS)));
    try {
      await new Promise<void>((resolve) => server.listen(join(folder, "agent.sock"), resolve));
      const env = { RUNTIME_DIRECTORY: folder };
      const status = (): Promise<number> => cpuOf([GATEWAY, "status"], env);
      await status(); // writes the compile cache, as the first call on a box does
      const bare = (): Promise<number> => cpuOf(["--eval", BARE], env);
      const { status: value = NaN, bare: anchor = NaN } = await interleaved(quick ? 5 : 21, { status, bare });
      return [
        comparedFigure({
          name: "cli.status_start_cpu_ms",
          value,
          unit: "ms",
          anchor,
          atMost: 2,
          of: "the bare request",
        }),
      ];
    } finally {
      server.closeAllConnections();
      server.close();
      rmSync(folder, { recursive: true });
    }
  },
};
