import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import { startAgent, type Agent, type AgentParts } from "./agent/agent.ts";
import type { BoothSetup } from "./agent/booth.ts";
import { createServiceTime } from "./agent/service-time.ts";
import { serveSocket, type MoreServices } from "./api/server.ts";
import { SOCKET_NAME } from "./cli/agent-client.ts";
import { checkCommand } from "./cli/check.ts";
import { CommandError, EXIT, type Io } from "./cli/command.ts";
import { detectCommand } from "./cli/detect.ts";
import { dispatch } from "./cli/dispatch.ts";
import { durationsCommand } from "./cli/durations.ts";
import { explainCommand } from "./cli/explain.ts";
import { filtersCommand } from "./cli/filters.ts";
import { historyCommand } from "./cli/history.ts";
import { rebuildCommand } from "./cli/rebuild.ts";
import { planCommand } from "./cli/plan.ts";
import { probeCommand } from "./cli/probe.ts";
import { provisionCommand } from "./cli/provision.ts";
import { recordCommand } from "./cli/record.ts";
import { releaseCommand } from "./cli/release.ts";
import { runCommand } from "./cli/run.ts";
import { schemasCommand } from "./cli/schemas.ts";
import { storeCommand } from "./cli/store.ts";
import { statusCommand } from "./cli/status.ts";
import { tagsCommand } from "./cli/tags.ts";
import { createHttpClient, type HttpClient } from "./cloud/http.ts";
import { createMqttLink } from "./cloud/mqtt-link.ts";
import { createServiceApi } from "./cloud/service-api.ts";
import type { ReadyBooth, RefusedBooth, UsableConfig } from "./config/usable.ts";
import { correctedNow, syncedOffset } from "./core/derive/clock.ts";
import type { DeriveState } from "./core/derive/state.ts";
import { parametersOf } from "./core/parameters.ts";
import { budgetOf } from "./core/storage.ts";
import { plcAddress } from "./core/plc-address.ts";
import type { BoothConfig, ServiceConfig } from "./core/types/config.ts";
import type { Profile } from "./core/types/profile.ts";
import type { EpochMs } from "./core/types/units.ts";
import { wireNameOf } from "./core/wire-names.ts";
import { holeKeepers } from "./drivers/modbus/hole-keeper.ts";
import { modbusLinks } from "./drivers/modbus/links.ts";
import { opcuaLibrary } from "./drivers/opcua/library.ts";
import { opcuaPki, type OpcuaPki } from "./drivers/opcua/pki.ts";
import { driverTools } from "./drivers/tools.ts";
import { ownLinkDriver } from "./drivers/own-link.ts";
import { clockFromFile, systemClock } from "./platform/clock.ts";
import { createLogger, STDERR } from "./platform/logger.ts";
import { systemdNotify } from "./platform/notify.ts";
import { systemRandom } from "./platform/random.ts";
import { openSealer } from "./platform/seal.ts";
import { openSecrets } from "./platform/secrets.ts";
import type { Logger } from "./ports.ts";
import { summaryOf } from "./report/summary.ts";
import { recordHash } from "./wire/hash.ts";
import { storeFiles } from "./store/files.ts";
import { lockFolder } from "./store/lock.ts";
import { openReportsThread } from "./store/reports-thread.ts";
import { openTail } from "./store/tail.ts";
import { openStoreThread } from "./store/thread.ts";

const VERSION = versionOf(new URL("../package.json", import.meta.url));

function versionOf(file: URL): string {
  const { version } = JSON.parse(readFileSync(file, "utf8")) as { version: string };
  return version;
}

/** The command line. Sets the process's exit code; never rejects. */
export async function main(argv: readonly string[]): Promise<void> {
  const io = terminalIo();
  const tools = driverTools({ wall: () => Date.now(), log: createLogger("error", STDERR) });
  const program = {
    name: "booth-gateway",
    summary: "edge gateway agent for paint and spray booths",
    version: VERSION,
    commands: [
      runCommand(runAgent),
      provisionCommand,
      releaseCommand,
      statusCommand,
      durationsCommand,
      historyCommand,
      filtersCommand,
      explainCommand,
      rebuildCommand,
      checkCommand,
      planCommand(tools),
      tagsCommand(tools),
      detectCommand(tools),
      probeCommand(tools),
      storeCommand(storeFiles(() => Date.now())),
      recordCommand(tools),
      schemasCommand,
    ],
  };
  process.exitCode = await dispatch(program, argv, io);
}

function terminalIo(): Io {
  const stopping = new AbortController();
  const stop = (): void => stopping.abort(new CommandError("stopped", EXIT.ok));
  process.once("SIGINT", stop);
  process.once("SIGTERM", stop);
  // Started by another program over a channel: without that program nobody would ever stop us.
  if (process.connected) process.once("disconnect", stop);
  return {
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(text),
    isTerminal: process.stdout.isTTY,
    ask: async (question) => {
      if (!process.stdin.isTTY) return null;
      const lines = createInterface({ input: process.stdin, output: process.stderr });
      try {
        return await lines.question(question);
      } finally {
        lines.close();
      }
    },
    environment: process.env,
    signal: stopping.signal,
  };
}

const STATE_VIEW: AgentParts["view"] = {
  summaryOf: (state, now) => summaryOf(state as DeriveState, now),
  parametersIn: (state) => (state as DeriveState).parameters,
  now: (state, at) => correctedNow(state as DeriveState | undefined, at),
  syncedOffset: (state, boot) => syncedOffset(state as DeriveState, boot),
};

/** Builds the real agent round the machine's clock, disk, network, and runs it until the signal. */
async function runAgent({ config, booths, refused }: UsableConfig, io: Io): Promise<void> {
  const clock = config.clock_file === undefined ? systemClock() : clockFromFile(config.clock_file);
  const random = systemRandom();
  const log = createLogger(config.log_level);
  const notify = systemdNotify(io.environment);
  const { http, ...ca } = wayToService(config.service);
  const lock = lockFolder(config.data_dir);
  const { store, identity, rebuilds } = openStoreThread({ dataDir: config.data_dir, budget: budgetOf(config.store) });
  const reports = openReportsThread(new URL("./reports-worker.ts", import.meta.url), { dataDir: config.data_dir });
  const tail = openTail(config.runtime_dir);
  const { gateway_id } = await identity.gateway();
  const service_time = createServiceTime();
  const [secrets, sealer] = [openSecrets(config.service, io.environment), openSealer(config.data_dir)];
  const wall = (): EpochMs => clock.wall();
  const links: Links = {
    modbus: modbusLinks(() => ({ mono: clock.mono(), wall: clock.wall() })),
    keeperOf: await holeKeepers({ identity, log }, booths),
    pki: opcuaPki({ dir: join(config.data_dir, "opcua"), wall, log }),
    wall,
    log,
  };
  await loadDrivers(booths);
  const agent = await startAgent(
    {
      clock,
      random,
      log,
      notify,
      store,
      identity,
      tail,
      service_time,
      version: VERSION,
      service_url: config.service.url,
      commit_interval_ms: config.commit_interval_ms,
      heartbeat_interval_ms: config.heartbeat_interval_ms,
      broker_url: config.service.mqtt_url ?? null,
      backlog_rate: config.service.backlog_records_per_s ?? null,
      view: STATE_VIEW,
      wireName: wireNameOf,
      makeHash: recordHash,
      secrets,
      sealer,
      api: createServiceApi({
        ...{ http, clock, random, service_time, sealer },
        ...{ agentVersion: VERSION, hardwareId: gateway_id },
      }),
      link: createMqttLink({ clock, service_time, agentVersion: VERSION, ...ca }),
      booths: booths.map((booth) => setupOf(booth, links)),
      certificates: () => links.pki.certificates(),
      disabled: refused.map(disabledOf),
    },
    io.signal,
  );
  try {
    const socket = join(io.environment["RUNTIME_DIRECTORY"] ?? config.runtime_dir, SOCKET_NAME);
    await serveUntilFinished(
      agent,
      { socket, services: { reports: (request) => reports.ask(request), rebuilds } },
      log,
    );
  } finally {
    notify.stopping();
    http.close();
    await reports.close();
    await store.close();
    tail.close();
    lock.release();
  }
}

function wayToService({ url, ca_file }: ServiceConfig): { readonly http: HttpClient; readonly ca?: string } {
  const ca = ca_file === undefined ? {} : { ca: readFileSync(ca_file, "utf8") };
  return { http: createHttpClient({ baseUrl: url, ...ca }), ...ca };
}

async function serveUntilFinished(
  agent: Agent,
  { socket, services }: { readonly socket: string; readonly services: MoreServices },
  log: Logger,
): Promise<void> {
  const server = await serveSocket(socket, agent, services);
  log.info({ event: "started", socket, version: VERSION }, `agent ${VERSION} is running`);
  try {
    await agent.finished;
    log.info({ event: "stopped" }, "agent has stopped; everything read is committed");
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

function disabledOf({ id, serial, error }: RefusedBooth): NonNullable<AgentParts["disabled"]>[number] {
  const advice =
    'correct it, try it with "booth-gateway check", then restart the agent; the other booths run meanwhile';
  return { booth: id, serial, file: error.file, line: error.line, reason: error.brief(), advice };
}

/** Loading takes most of a second, in which no other booth would be polled: before the first poll nobody waits for it. */
async function loadDrivers(booths: readonly ReadyBooth[]): Promise<void> {
  if (booths.some(({ config }) => config.opcua !== undefined)) await opcuaLibrary();
}

function setupOf({ config: booth, profile }: ReadyBooth, links: Links): BoothSetup {
  return {
    config: booth,
    profile,
    parameters: parametersOf(profile, booth),
    address: plcAddress(booth),
    ...wayTo(booth, profile, links),
  };
}

/** What the links of several booths share. */
interface Links {
  readonly modbus: ReturnType<typeof modbusLinks>;
  readonly keeperOf: Awaited<ReturnType<typeof holeKeepers>>;
  readonly pki: OpcuaPki;
  readonly wall: () => EpochMs;
  readonly log: Logger;
}

type Way = Pick<BoothSetup, "makeDriver" | "link" | "probe_ms" | "settle_ms" | "idle_close_ms">;

/** A profile of another protocol than the booth's link costs this booth alone. */
function wayTo(booth: BoothConfig, profile: Profile, { modbus, keeperOf, ...links }: Links): Way {
  if (booth.modbus !== undefined && profile.protocol === "modbus") {
    const { idle_close_ms } = profile.quirks;
    const way = modbus(booth.modbus, profile, keeperOf(booth.id));
    return { ...way, ...(idle_close_ms === undefined ? {} : { idle_close_ms }) };
  }
  // A link of its own, by a name that no Modbus address has.
  const link = `booth ${booth.id}`;
  return { link, makeDriver: () => ownLinkDriver({ booth, profile, ...links }) };
}
