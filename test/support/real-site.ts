import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import { clockFileText, clockFromNow, scaledClock, type SimClock } from "../../simulators/clock.ts";
import type { Scenario } from "../../simulators/plc/model/scenario.ts";
import type { RunningOpcua } from "../../simulators/plc/opcua/server.ts";
import { findScenario } from "../../simulators/plc/scenarios/all.ts";
import { startPlc, type RunningPlc } from "../../simulators/plc/start.ts";
import { seedSite } from "../../simulators/service/accounts/seed.ts";
import { startService, type RunningService } from "../../simulators/service/start.ts";
import type { AgentStatus } from "../../src/domain/status.ts";
import { askAgent } from "../../src/tools/agent-client.ts";
import { GATEWAY, startProgram, type Program } from "./processes.ts";
import { clickBooth, plcnextBooth } from "./profiles.ts";
import { ofTest, temporaryFolder, type AtEnd } from "./temporary.ts";

export const SERIAL = "ABCD-123-123";
const ADMIN_KEY = "admin-key-of-the-test";
export const PROVISION_KEY = "provision-key-of-the-test";
/** Monday 2026-03-02 08:00 in Denver. */
const STORY_START = Date.UTC(2026, 2, 2, 15);

export interface RealSiteOptions {
  /** Simulated seconds per second. */
  readonly speed: number;
  /** The serial in the agent's configuration; null: not configured, a command enters it later. */
  readonly serial: string | null;
  /** A scenario's name, or a scenario of the test itself. */
  readonly scenario?: string | Scenario;
  /**
   * Epoch ms; default: Monday 2026-03-02 08:00 in Denver. `story` is the start of the PLC's story, which may be
   * earlier.
   */
  readonly begins?: { readonly wall: number; readonly story: number };
  /** Fills the agent's folder before its first start. */
  readonly fill?: (dataDir: string) => Promise<void>;
  /**
   * Places a proxy between the agent and a port of its PLC or service. Returns the port for the agent's configuration.
   */
  readonly through?: (port: number, peer: "plc" | "service") => Promise<number>;
  /** Further settings of the first booth. */
  readonly booth?: object;
  /** Further booths on the same PLC, without a serial number. */
  readonly others?: readonly string[];
  /** The agent reads the PLC by OPC UA instead of Modbus. */
  readonly opcua?: boolean;
  /** Registers the cleanup. Default: at the end of the test. */
  readonly atEnd?: AtEnd;
  /** Options of Node for each agent process. */
  readonly node?: readonly string[];
}

/** A PLC and a service in this process with real sockets, and the agent as a separate process. */
export interface RealSite {
  readonly folder: string;
  readonly dataDir: string;
  readonly runtimeDir: string;
  readonly configFile: string;
  /** Key of the service's account. */
  readonly adminKey: string;
  /** The agent's first key. The agent wipes the file after its first claim. */
  readonly provisionKey: string;
  readonly clock: SimClock;
  readonly plc: RunningPlc;
  readonly service: RunningService;
  /** Stops the service. `serviceUp` uses the same data and ports. */
  serviceDown(): Promise<void>;
  serviceUp(): Promise<void>;
  startAgent(): Program;
  /** Returns the status that the running agent reports; undefined if it doesn't answer. */
  status(): Promise<AgentStatus | undefined>;
}

export async function realSite(options: RealSiteOptions): Promise<RealSite> {
  const { atEnd = ofTest, node = [], through = (port: number) => Promise.resolve(port) } = options;
  const folder = temporaryFolder(undefined, atEnd);
  const dataDir = join(folder, "gateway");
  const runtimeDir = join(folder, "run");
  for (const path of [dataDir, runtimeDir]) mkdirSync(path, { mode: 0o700 });
  const { wall, story } = options.begins ?? { wall: STORY_START, story: undefined };
  await options.fill?.(dataDir);
  const origin = clockFromNow(options.speed, wall);
  const clock = scaledClock(origin);
  writeFileSync(join(folder, "clock.json"), clockFileText(origin));
  writeFileSync(join(folder, "api-key"), `${PROVISION_KEY}\n`, { mode: 0o600 });
  const { scenario: wanted = "standard-cycle" } = options;
  const scenario = typeof wanted === "string" ? findScenario(wanted) : wanted;
  if (scenario === undefined) throw new Error(`no scenario ${JSON.stringify(wanted)}`);
  const identity = { plc_serial: SERIAL };
  const behind = options.opcua === true ? { opcua: { profile: plcnextBooth(), port: 0 } } : {};
  const from = story === undefined ? {} : { start: story };
  const plc = await startPlc({
    profile: clickBooth(),
    scenario,
    seed: 1,
    clock,
    port: 0,
    identity,
    ...from,
    ...behind,
  });
  atEnd(() => plc.stop());
  const startAt = (port: number, mqttPort: number): Promise<RunningService> =>
    startService({ dataDir: join(folder, "service"), port, mqttPort, clock });
  let service = await startAt(0, 0);
  atEnd(() => service.stop());
  seedSite(service.db, {
    serial: SERIAL,
    tz: scenario.tz,
    provisionKey: PROVISION_KEY,
    adminKey: ADMIN_KEY,
    now: wall,
  });
  const configFile = join(folder, "gateway.yaml");
  const way =
    plc.opcua === null
      ? { profile: "click-booth", modbus: { host: "127.0.0.1", port: await through(plc.port, "plc") } }
      : { profile: "plcnext-booth", opcua: opcuaLogin(folder, plc.opcua) };
  const booth = { id: "booth-1", ...way };
  const url = new URL(service.url);
  url.port = (await through(Number(url.port), "service")).toString();
  const config = {
    data_dir: dataDir,
    runtime_dir: runtimeDir,
    clock_file: join(folder, "clock.json"),
    page: { port: 0, lan_port: 0 },
    service: { url: url.href.replace(/\/$/, ""), api_key_file: join(folder, "api-key") },
    booths: [
      { ...booth, ...(options.serial === null ? {} : { serial: options.serial }), tz: scenario.tz, ...options.booth },
      ...(options.others ?? []).map((id) => ({ ...booth, id, tz: scenario.tz })),
    ],
  };
  writeFileSync(configFile, stringify(config));
  return {
    folder,
    dataDir,
    runtimeDir,
    configFile,
    adminKey: ADMIN_KEY,
    provisionKey: PROVISION_KEY,
    clock,
    plc,
    get service() {
      return service;
    },
    serviceDown: () => service.stop(),
    async serviceUp() {
      service = await startAt(Number(new URL(service.url).port), Number(new URL(service.mqttUrl).port));
    },
    startAgent: () => startProgram(GATEWAY, ["run", "--config", configFile], { atEnd, node }),
    status: async () => {
      const socket = join(runtimeDir, "agent.sock");
      const answer = await askAgent(socket, { method: "GET", path: "/status" }).catch(() => undefined);
      // The answer is the agent's, so its shape is known.
      return answer as AgentStatus | undefined;
    },
  };
}

/**
 * Starts a new gateway as delivered: its file names folders, but no service and no booth. The two minutes of a trial
 * are divided by `speed`: on a busy machine a connection takes seconds.
 */
export async function freshBox(speed = 5, more: Partial<RealSiteOptions> = {}): Promise<RealSite> {
  const site = await realSite({ speed, serial: null, ...more });
  const { service, booths, ...rest } = parse(readFileSync(site.configFile, "utf8")) as Record<string, unknown>;
  if (service === undefined || booths === undefined) throw new Error("a site has both");
  writeFileSync(site.configFile, stringify(rest));
  return site;
}

function opcuaLogin(folder: string, server: RunningOpcua): Readonly<Record<string, string>> {
  const password_file = join(folder, "plc-password");
  writeFileSync(password_file, "booth\n", { mode: 0o600 });
  const { endpoint } = server;
  return { endpoint, user: "gateway", password_file, server_certificate_fingerprint: server.fingerprint() };
}
