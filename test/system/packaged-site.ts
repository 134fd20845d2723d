import { execFileSync } from "node:child_process";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import Database from "better-sqlite3";
import { inject } from "vitest";
import { parseDocument, stringify } from "yaml";
import { inSnapshot, rows } from "../../simulators/service/storage/db.ts";
import { sqliteDb } from "../../simulators/service/storage/sqlite.ts";
import { heldSeqs, type StreamKey } from "../../simulators/service/ingest/records.ts";
import { askAgent } from "../../src/tools/agent-client.ts";
import type { AgentStatus } from "../../src/domain/status.ts";
import type { Container } from "./container.ts";
import { eventually } from "../support/eventually.ts";
import { SIMULATORS } from "../support/processes.ts";

const PACKAGER = fileURLToPath(new URL("../../systemd/package/main.ts", import.meta.url));
const README = fileURLToPath(new URL("../../README.md", import.meta.url));
export const UNIT = "booth-gateway.service";
export const CONFIG = "/etc/booth-gateway/gateway.yaml";
export const STATE = "/var/lib/booth-gateway";
export const SERIAL = "ABCD-123-123";
export const KEY = "provision-key-of-the-test";
const SOCKET = "/run/booth-gateway/agent.sock";
const PORTS = { service: 8480, mqtt: 8481, plc: 8482 };

/**
 * Returns the package of that version for this machine's architecture. The first call in a run makes it; later calls
 * reuse it.
 */
export function packageOf(version: string, name = "booth-gateway"): string {
  const out = inject("packages");
  const file = join(out, `${name}_${version}_amd64.deb`);
  const how = ["--quick", "--arch", "amd64", "--package", name, "--version", version, "--out", out];
  const making = [process.execPath, PACKAGER, ...how];
  // Parallel calls wait for the lock.
  execFileSync("flock", [`${file}.lock`, "sh", "-c", '[ -e "$0" ] || exec "$@"', file, ...making]);
  return file;
}

/** Returns the lines of the first code block under that heading of the README. */
export function readmeCommands(heading: string): readonly string[] {
  const section = readFileSync(README, "utf8").split(`\n## ${heading}\n`)[1]?.split("\n## ")[0] ?? "";
  const block = /```(?:\w*)\n(.*?)\n```/s.exec(section)?.[1];
  if (block === undefined) throw new Error(`the README has no commands under ${heading}`);
  return block.split("\n");
}

/** Prepares the technician's edits, which a fake editor in the container applies. */
export function putConfig(container: Container): void {
  const config = {
    commit_interval_ms: 1_000,
    service: { url: `http://127.0.0.1:${PORTS.service}`, api_key_credential: "booth-gateway-api-key" },
    booths: [
      { id: "booth-1", profile: "click-booth", modbus: { host: "127.0.0.1", port: PORTS.plc }, tz: "America/Denver" },
    ],
  };
  writeFileSync(container.inside("/root/gateway.yaml"), stringify(config));
}

/** Changes a setting of the installed configuration by its path. It takes effect at the next start. */
export function setConfig(container: Container, path: readonly string[], value: unknown): void {
  const file = container.inside(CONFIG);
  const document = parseDocument(readFileSync(file, "utf8"));
  document.setIn(path, value);
  writeFileSync(file, document.toString());
}

export function putPackage(container: Container, file: string): void {
  cpSync(file, join(container.inside("/root"), file.slice(file.lastIndexOf("/") + 1)));
}

export function startPlc(container: Container): void {
  container.beside(process.execPath, [SIMULATORS, "plc", "--scenario", "busy-day", "--modbus-port", String(PORTS.plc)]);
}

/** Starts the reference service on the data in `data`. Returns a function that stops it. */
export function startService(container: Container, data: string): () => Promise<void> {
  const site = ["--serial", SERIAL, "--api-key", KEY, "--data", data];
  const ports = ["--port", String(PORTS.service), "--mqtt-port", String(PORTS.mqtt)];
  const child = container.beside(process.execPath, [SIMULATORS, "service", ...ports, ...site]);
  const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  return () => {
    child.kill("SIGTERM");
    return gone;
  };
}

/**
 * Returns the agent's status; undefined if it doesn't answer. The socket is opened from outside, because a command in
 * the container takes 0.1 s of CPU.
 */
export async function statusOf(container: Container): Promise<AgentStatus | undefined> {
  const status = await askAgent(container.inside(SOCKET), { method: "GET", path: "/status" }).catch(() => undefined);
  // The answer is the agent's, so its shape is known.
  return status as AgentStatus | undefined;
}

/** Waits until the agent's only booth fulfils the condition. */
export function untilBooth(
  container: Container,
  what: string,
  is: (booth: AgentStatus["booths"][number]) => boolean,
): Promise<AgentStatus["booths"][number]> {
  return eventually(
    what,
    async () => {
      const booth = (await statusOf(container))?.booths[0];
      return booth !== undefined && is(booth) ? booth : undefined;
    },
    90_000,
  );
}

export interface Held {
  readonly records: number;
  readonly first: number;
  readonly last: number;
  readonly streams: number;
}

/**
 * Returns the service's records of that stream, or of all streams. With one stream and no gaps, `last` records from seq
 * 1 on are all records.
 */
export function heldBy(data: string, stream: string | null = null): Held {
  const db = sqliteDb(new Database(join(data, "service.db"), { readonly: true }));
  try {
    const of = "SELECT id, gateway_id FROM streams WHERE ? IS NULL OR stream_id = ?";
    const ranges = inSnapshot(db, () => rows<StreamKey>(db, of, stream, stream).map((one) => heldSeqs(db, one)));
    const all = ranges.flat();
    return {
      records: all.reduce((sum, [from, to]) => sum + to - from + 1, 0),
      first: all.length === 0 ? 0 : Math.min(...all.map(([from]) => from)),
      last: Math.max(0, ...all.map(([, to]) => to)),
      streams: ranges.filter(({ length }) => length > 0).length,
    };
  } finally {
    db.close();
  }
}
