import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import type { AgentStatus } from "../../src/domain/status.ts";
import { GATEWAY, startProgram } from "../support/processes.ts";
import { plcSite, type PlcSite } from "../cli/plc-site.ts";

const PROGRAM = fileURLToPath(new URL("./strict_plain_service.py", import.meta.url));
export const PLAIN_KEY = "key-of-the-customer";
export const PLAIN_SERIAL = "ABCD-123-123";

export interface PlainBooth {
  readonly nameplate: string;
  readonly facility_id: string;
  readonly id?: string | number;
  readonly serial_number?: string;
}

/** Options of the service, which its source text explains. */
export interface PlainWay {
  readonly booths: readonly PlainBooth[];
  readonly shown?: readonly ("id" | "serial_number")[];
  readonly bare?: boolean;
  readonly records?: Readonly<Record<string, { readonly completion_status: string }>>;
}

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  readonly status: number;
}

export interface PlainSite extends PlcSite {
  /** The requests so far. */
  readonly asked: readonly Asked[];
  /** The requests that change data, with the status of their answers: "POST /api/booths_provisioning 201". */
  readonly writes: () => readonly string[];
  /** Runs `booth-gateway NAME ...` against the agent. */
  readonly command: PlcSite["gateway"];
  readonly status: () => Promise<AgentStatus>;
}

/** Starts the strict service in Debian's Python, a simulated PLC, and a real agent without a serial number. */
export async function strictPlainSite(way: PlainWay): Promise<PlainSite> {
  const service = spawn("/usr/bin/python3", ["-I", PROGRAM, JSON.stringify({ key: PLAIN_KEY, ...way })], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const gone = once(service, "exit");
  onTestFinished(async () => {
    service.kill("SIGKILL");
    await gone;
  });
  const asked: Asked[] = [];
  const lines = createInterface({ input: service.stdout });
  const [port] = (await once(lines, "line")) as [string];
  // The program prints nothing else.
  lines.on("line", (line) => asked.push(JSON.parse(line) as Asked));
  const site = await plcSite({ service_url: `http://127.0.0.1:${port}`, api_key: PLAIN_KEY });
  const agent = startProgram(GATEWAY, ["run", "--config", site.configFile]);
  await agent.line(/"event":"plc_up"/, 60_000);
  const command: PlcSite["gateway"] = (name = "", ...words) =>
    site.gateway(name, ...words, "--config", site.configFile);
  return {
    ...site,
    asked,
    writes: () =>
      asked.filter(({ method }) => method !== "GET").map(({ method, path, status }) => `${method} ${path} ${status}`),
    command,
    // The answer is the agent's, so its shape is known.
    status: async () => JSON.parse((await command("status", "--json")).out) as AgentStatus,
  };
}
