import { cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { stringify } from "yaml";
import { clockFileText, clockFromNow, scaledClock } from "../../simulators/clock.ts";
import { findScenario } from "../../simulators/plc/scenarios/all.ts";
import { startPlc } from "../../simulators/plc/start.ts";
import type { OracleStream } from "../../simulators/service/admin/oracle.ts";
import { openDb } from "../../simulators/service/storage/open.ts";
import { seedSite } from "../../simulators/service/accounts/seed.ts";
import { onTestFinished } from "vitest";
import { askAgent } from "../../src/tools/agent-client.ts";
import type { AgentStatus } from "../../src/domain/status.ts";
import type { Random } from "../../src/domain/machine.ts";
import { openStoreFile } from "../../src/store/open.ts";
import { prepareStatements } from "../../src/store/log/statements.ts";
import { fillStore, STREAM } from "../support/filled-store.ts";
import { eventually } from "../support/eventually.ts";
import { freePort, mosquitto, type Mosquitto } from "./mosquitto.ts";
import { mqttTap, type MqttTap, type TappedPublish } from "../e2e/mqtt-tap.ts";
import { GATEWAY, startProgram, type Program } from "../support/processes.ts";
import { clickBooth } from "../support/profiles.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { unzipped } from "../support/unzipped.ts";

const SERVICE = fileURLToPath(new URL("./storm-service.ts", import.meta.url));
/** The service looks through all that it holds first. */
const STARTED_WITHIN_MS = 240_000;
const SERIAL = "ABCD-123-123";
const KEY = "provision-key-of-the-test";
/** A day after the first of what waits, so that nothing is too old to be kept. */
const STORY_START = Date.UTC(2026, 0, 2, 15);
/** Six changes a second, roughly. */
const RECORDS_PER_DAY = 86_400 * 6;

export interface StormOptions {
  /** Records that wait in the store when it begins, roughly. */
  readonly records: number;
  /** Simulated seconds per second. */
  readonly speed: number;
  /** Of the backlog, a simulated second. */
  readonly backlog_records_per_s: number;
  readonly random: Random;
  /** Chance of each batch to be the last thing that its connection brings. */
  readonly cut_chance: number;
}

/** Which batches came in a session, in their order; without a lone record that is offered once more, to see what the service has. */
export type Sessions = readonly (readonly number[])[];

/** Agent, broker and service as processes that can be killed one by one, and a PLC. */
export interface Storm {
  readonly folder: string;
  readonly dataDir: string;
  /** First seqs of the batches that each session brought. */
  readonly sessions: Sessions;
  /** How many chunks came, taken or not. */
  chunks(): number;
  /** What the agent logged since its last start. */
  lines(): readonly string[];
  readonly kill: Readonly<Record<"agent" | "broker" | "service", () => Promise<void>>>;
  fault(fault: object): Promise<void>;
  /** Newest seq that the service holds, in whichever stream. */
  newestHeld(): Promise<number>;
  brokerAway(ms: number): Promise<void>;
  status(): Promise<AgentStatus | undefined>;
  /** Kept while no agent runs. */
  copyStore(): Promise<void>;
  /** Puts the copy in the present one's place. */
  restoreStore(): Promise<void>;
  plcOffline(): Promise<void>;
  /** Everything ends; what is stored can be read. */
  end(): Promise<void>;
}

function fill(dataDir: string, records: number): void {
  fillStore(dataDir, records / RECORDS_PER_DAY);
  const db = openStoreFile(dataDir);
  const sql = prepareStatements(db);
  const row = sql.streamById.get(STREAM);
  if (row === undefined) throw new Error("no stream was filled");
  sql.moveStream.run({ stream: STREAM, newest: row.newest_seq, acked: 0, take: row.last_take });
  db.close();
}

interface Ground {
  readonly folder: string;
  readonly dataDir: string;
  readonly runtimeDir: string;
  readonly serviceDir: string;
  readonly clockFile: string;
}

/** Folders, the filled store, the service's booth, the clock that all share. */
function prepare(options: StormOptions, tz: string): Ground & { readonly origin: ReturnType<typeof clockFromNow> } {
  const folder = temporaryFolder();
  const within = (name: string): string => join(folder, name);
  const ground = { folder, dataDir: within("gateway"), runtimeDir: within("run"), serviceDir: within("service") };
  for (const path of [ground.dataDir, ground.runtimeDir, ground.serviceDir]) mkdirSync(path, { mode: 0o700 });
  fill(ground.dataDir, options.records);
  const origin = clockFromNow(options.speed, STORY_START);
  const clockFile = within("clock.json");
  writeFileSync(clockFile, clockFileText(origin));
  writeFileSync(within("api-key"), `${KEY}\n`, { mode: 0o600 });
  const db = openDb(ground.serviceDir);
  seedSite(db, { serial: SERIAL, tz, provisionKey: KEY, now: STORY_START });
  db.close();
  return { ...ground, clockFile, origin };
}

interface Wiring extends Ground {
  readonly options: StormOptions;
  readonly tz: string;
  readonly plcPort: number;
  readonly tap: MqttTap;
  readonly broker: Mosquitto;
}

interface Programs {
  readonly startAgent: () => Program;
  readonly startService: () => Promise<{ readonly program: Program; readonly admin: string }>;
}

async function programsOf(wiring: Wiring): Promise<Programs> {
  const { folder, dataDir, runtimeDir, serviceDir, clockFile, options, broker, tap } = wiring;
  const port = await freePort();
  const configFile = join(folder, "gateway.yaml");
  const booth = { id: "booth-1", serial: SERIAL, profile: "click-booth", tz: wiring.tz };
  const { backlog_records_per_s } = options;
  const url = `http://127.0.0.1:${port}`;
  const config = {
    data_dir: dataDir,
    runtime_dir: runtimeDir,
    clock_file: clockFile,
    page: { port: 0 },
    service: { url, api_key_file: join(folder, "api-key"), backlog_records_per_s },
    booths: [{ ...booth, modbus: { host: "127.0.0.1", port: wiring.plcPort } }],
  };
  writeFileSync(configFile, stringify(config));
  return {
    startAgent: () => startProgram(GATEWAY, ["run", "--config", configFile]),
    startService: async () => {
      const { url: own, password } = broker.service;
      const program = startProgram(SERVICE, [serviceDir, port.toString(), own, password, tap.url, clockFile]);
      const line = await program.line(/^ready /, STARTED_WITHIN_MS);
      return { program, admin: line.slice("ready ".length) };
    },
  };
}

async function end(program: Program): Promise<void> {
  program.signal("SIGKILL");
  await program.ended;
}

export async function storm(options: StormOptions): Promise<Storm> {
  const scenario = findScenario("busy-day");
  if (scenario === undefined) throw new Error("no such scenario");
  const { origin, ...ground } = prepare(options, scenario.tz);
  const { folder, dataDir, runtimeDir } = ground;
  const identity = { plc_serial: SERIAL };
  const plc = await startPlc({
    profile: clickBooth(),
    scenario,
    seed: 1,
    clock: scaledClock(origin),
    port: 0,
    identity,
  });
  onTestFinished(() => plc.stop());
  const broker = await mosquitto(folder, [{}]);
  const sessions: number[][] = [];
  let chunks = 0;
  const isAgain = offeredAgain();
  const tap = await mqttTap({
    target: () => `mqtt://127.0.0.1:${broker.ports[0] ?? 0}`,
    onPublish: (publish) => {
      const isChunk = publish.topic.endsWith("/up/chunk");
      if (!isChunk && !publish.topic.endsWith("/up/batch")) return true;
      const batch = isChunk ? chunkIn(publish) : batchIn(publish);
      if (isChunk) chunks += 1;
      if (!isAgain(batch)) (sessions[tap.connects.length] ??= []).push(batch.s0);
      return options.random.next() >= options.cut_chance;
    },
  });
  const wiring = { ...ground, options, tz: scenario.tz, plcPort: plc.port, tap, broker };
  const { startAgent, startService } = await programsOf(wiring);
  const live = { agent: startAgent(), service: await startService() };
  const { username, password } = await eventually("the agent comes with its credential", () => tap.connects[0]);
  broker.letIn(username, password);
  const whileDead = async (act: () => void): Promise<void> => {
    await end(live.agent);
    act();
    live.agent = startAgent();
  };
  const endService = (): Promise<void> => end(live.service.program);
  return {
    lines: () => live.agent.lines,
    chunks: () => chunks,
    folder,
    dataDir,
    sessions,
    fault: (fault) => post(`${live.service.admin}/fault`, fault),
    newestHeld: () => newestHeldAt(live.service.admin),
    kill: {
      agent: () => whileDead(() => undefined),
      broker: () => broker.restart(),
      service: async () => {
        await endService();
        live.service = await startService();
      },
    },
    brokerAway: async (ms) => {
      await broker.kill();
      await delay(ms);
      await broker.start();
    },
    status: () => statusAt(runtimeDir),
    ...copies(dataDir, join(folder, "copy"), whileDead),
    plcOffline: () => plc.offline(),
    end: async () => {
      await end(live.agent);
      await endService();
    },
  };
}

async function post(url: string, body: object): Promise<void> {
  const headers = { "content-type": "application/json" };
  const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(await answer.text());
}

async function newestHeldAt(admin: string): Promise<number> {
  const { streams } = (await (await fetch(`${admin}/oracle`)).json()) as { streams: readonly OracleStream[] };
  return Math.max(0, ...streams.map(({ ranges }) => ranges.at(-1)?.[1] ?? 0));
}

async function statusAt(runtimeDir: string): Promise<AgentStatus | undefined> {
  const ask = askAgent(join(runtimeDir, "agent.sock"), { method: "GET", path: "/status" });
  // The agent answers its own shape.
  return (await ask.catch(() => undefined)) as AgentStatus | undefined;
}

function copies(
  dataDir: string,
  copy: string,
  whileDead: (act: () => void) => Promise<void>,
): Pick<Storm, "copyStore" | "restoreStore"> {
  const files = (): string[] => readdirSync(dataDir).filter((name) => name.startsWith("store.db"));
  return {
    copyStore: () =>
      whileDead(() => {
        mkdirSync(copy);
        for (const name of files()) cpSync(join(dataDir, name), join(copy, name));
      }),
    restoreStore: () =>
      whileDead(() => {
        for (const name of files()) rmSync(join(dataDir, name));
        cpSync(copy, dataDir, { recursive: true });
      }),
  };
}

interface TappedBatch {
  readonly s0: number;
  readonly k: readonly string[];
}

function batchIn({ payload }: TappedPublish): TappedBatch {
  return JSON.parse(unzipped(payload).text) as TappedBatch;
}

/** A chunk's range. */
function chunkIn({ payload }: TappedPublish): TappedBatch {
  const end = payload.indexOf("}");
  const { from, to } = JSON.parse(payload.subarray(payload.indexOf("{"), end + 1).toString("utf8")) as {
    readonly from: number;
    readonly to: number;
  };
  return { s0: from, k: Array.from({ length: to - from + 1 }, () => "r") };
}

/** Tells a lone record that came before, in whichever session, from what a lane sends. */
function offeredAgain(): (batch: TappedBatch) => boolean {
  const seen = new Set<number>();
  return ({ s0, k }) => {
    const isAgain = k.length === 1 && seen.has(s0);
    for (let seq = s0; seq < s0 + k.length; seq += 1) seen.add(seq);
    return isAgain;
  };
}
