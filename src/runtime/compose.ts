import { message, type Text } from "../domain/message.ts";
import { render } from "../domain/messages/render.ts";
import { randomBytes, randomUUID } from "node:crypto";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { createServiceTime } from "../acquisition/clock.ts";
import { holeKeepers } from "../acquisition/modbus/driver.ts";
import { opcuaLibrary } from "../acquisition/opcua/library.ts";
import { type OpcuaPki, opcuaPki } from "../acquisition/opcua/pki.ts";
import { createPollGaps, type PollGaps } from "../acquisition/poll-gaps.ts";
import type { Driver } from "../acquisition/port.ts";
import { openTail } from "../acquisition/tail.ts";
import { createFilterLabels } from "../api/filter-labels.ts";
import { type ReportRequest, requestOf } from "../api/report.ts";
import { type FiguresRequest, figuresOf, type OwnFigures } from "../api/report-thread.ts";
import { serveAdminSocket, serveSocket } from "../api/server.ts";
import { sharedReports } from "../api/shared-reports.ts";
import { fileProblems } from "../config/file-checks.ts";
import type { Config } from "../config/port.ts";
import { type LoadedConfig, loadUsableOrLastGood } from "../config/usable.ts";
import type { Clock, Random } from "../domain/machine.ts";
import type { Wiped } from "../domain/provisioning.ts";
import { DAY_MS, YEAR_MS } from "../domain/time.ts";
import type { EpochMs, Milliseconds } from "../domain/units.ts";
import { monotonicMs } from "../monotonic.ts";
import { retryingIdentity } from "../provisioning/binding.ts";
import { firstKeyOf, hasKey, noteKeyHosts, ownKeyOf } from "../provisioning/keys.ts";
import { createScrubber } from "../scrubber.ts";
import type { Store } from "../store/port.ts";
import { COLLECT_AFTER_MS, collectGarbage, MANY_BOOTHS, youngRoom } from "../store/thread/memory.ts";
import { openReportsThread } from "../store/thread/reports-thread.ts";
import { openStoreThread } from "../store/thread/thread.ts";
import { ADMIN_SOCKET_NAME, configPath, SOCKET_NAME } from "../tools/agent-client.ts";
import { type Call, CommandError, EXIT, type Io, type Run } from "../tools/command.ts";
import { type Agent, startAgent } from "./agent.ts";
import { systemClock } from "./clock.ts";
import { openPage, type PageSetting } from "./compose-page.ts";
import { markOf, wipeState } from "./decommission.ts";
import type { AgentSetup, Configured } from "./gateway.ts";
import { createLogger, rememberingLog } from "./logger.ts";
import { figuresNow, noticesOf, outputsOf } from "./outputs.ts";
import { createParts, type LoopWatch } from "./parts.ts";
import { boothSetups, openPlcLogins } from "./plc-links.ts";
import { agentRuns } from "./runs.ts";
import { learnMarked, scrubbedHttp, scrubbedLink, scrubbedLog } from "./scrubbed.ts";
import { openSealer, openSecrets } from "./secrets.ts";
import { cutLongStop, exitAfterFailure, systemdNotify } from "./service-manager.ts";
import { boothFields, serviceApi, waysTo } from "./service-ways.ts";
import { createSetUp, takenBack } from "./set-up.ts";
import { openTraffic } from "./traffic.ts";

/**
 * Builds the agent from the real machine: clock, disk, network, threads. Three lifetimes are kept apart:
 * - the process, with its log, store thread, page and sockets;
 * - the agent, which some changes of the configuration restart;
 * - the parts of an agent: booths, links, outputs.
 */

const PACKAGE = new URL("../../package.json", import.meta.url);
const { version: VERSION } = JSON.parse(readFileSync(PACKAGE, "utf8")) as { readonly version: string };
/** Time at which the package was built, from a file's modification time. The present time is certainly later. */
const MADE_AT: EpochMs = Math.round(statSync(PACKAGE).mtimeMs);

type LongIo = Io & { readonly outOfService: (wiped: Wiped) => void; readonly runLoop?: LoopWatch["runLoop"] };

type OpenProcess = Awaited<ReturnType<typeof openProcess>>;

async function openProcess(config: Config, outer: LongIo, file: string) {
  const { clock, paced } = await clockOf(config);
  const scrubber = createScrubber();
  const { lines, ...remembering } = rememberingLog(createLogger(config.log_level), () => clock.wall());
  const log = scrubbedLog(remembering.log, scrubber);
  cutLongStop(outer.signal, log);
  const thread = openStoreThread({
    dataDir: config.data_dir,
    standbyDir: join(config.runtime_dir, "standby"),
    budget: {
      max_bytes: config.store.max_bytes,
      max_age_ms: config.store.max_age_days * DAY_MS,
      records_age_ms: config.retention.records_years * YEAR_MS,
    },
  });
  /** Functions that end each thread at once, in case the process hangs after a fatal error. */
  const threads: (() => Promise<unknown>)[] = [thread.terminate];
  const watch = outer.runLoop === undefined ? {} : { runLoop: outer.runLoop };
  // Gives everything that outlives an agent the same signal as the agent. A stop or a fatal error aborts this signal.
  const parts = createParts(outer.signal, systemClock(), {
    ...watch,
    failed: (error, loop) => exitAfterFailure(log, { error, loop, threads, exit: outer.exit }),
  });
  const io = { ...outer, signal: parts.signal };
  const notify = systemdNotify(io.environment);
  /** Things to close at the end, in any order. */
  const open: { close(): unknown }[] = [thread.store];
  return { file, log, lines, scrubber, clock, paced, notify, thread, parts, watch, io, open, threads };
}

/**
 * Runs the agent until the signal aborts. If the configuration changes meanwhile, parts of the agent restart, or the whole agent does, on
 * the same store. Rejects with the first fatal error, after everything was closed. `outOfService` is called once every booth is permanently
 * out of service.
 */
async function runAgent(first: LoadedConfig, outer: LongIo, file: string): Promise<void> {
  const opened = await openProcess(first.usable.config, outer, file);
  const { parts, notify } = opened;
  const close = (): readonly Promise<unknown>[] => {
    notify.stopping();
    return opened.open.map(async (one) => {
      await one.close();
    });
  };
  try {
    await serveAgents(opened, first);
    await parts.finished;
  } catch (error) {
    // This call has no effect if the process is stopping, or if another error came first.
    parts.failed(error);
    await parts.finished.catch(() => undefined);
    await Promise.allSettled(close());
    await parts.finished;
    throw error;
  }
  await Promise.all(close());
}

/** The parts that outlive a restart of the agent. */
type LongLived = Awaited<ReturnType<typeof openLongLived>>;

async function openLongLived(opened: OpenProcess, config: Config) {
  const { clock, log, scrubber, io, parts, thread } = opened;
  const { data_dir, runtime_dir } = config;
  const identity = retryingIdentity({ identity: thread.identity, clock, log }, io.signal);
  // Waits for the store thread, which answers only after it has locked the data folder. Until then, the tail file may belong to another
  // agent.
  const { gateway_id } = await identity.gateway();
  // Long reports and the backlog run in the gaps between polls.
  const gaps = createPollGaps(clock);
  const reports = openReportsThread<{ report: ReportRequest; wish: FiguresRequest; value: OwnFigures }>(
    new URL("./reports-worker.ts", import.meta.url),
    { dataDir: data_dir },
    (needed_ms) => gaps.next(needed_ms),
  );
  const needRoom = youngRoom(clock, io.signal);
  const tail = openTail(runtime_dir);
  opened.open.push(reports, tail);
  opened.threads.push(() => reports.close());
  const sealer = openSealer(data_dir);
  const service_time = createServiceTime(MADE_AT);
  const logins = await openPlcLogins({ identity, sealer, scrubber });
  const traffic = await openTraffic({ clock, log, identity, service_time, file: join(runtime_dir, "traffic.json") });
  parts.begin({ "count of the traffic": (signal) => traffic.run(signal) });
  return {
    ...opened,
    data_dir,
    runtime_dir,
    identity,
    gateway_id,
    gaps,
    reports,
    needRoom,
    tail,
    sealer,
    service_time,
    logins,
    traffic,
    store: readInGaps(thread.store, gaps, needRoom),
    secrets: openSecrets(config.service, io.environment),
    random: systemRandom(),
    figures: async (...asked: Parameters<typeof figuresOf>) => reports.value(figuresOf(...asked)),
    /** The service of the present agent. */
    service: { url: config.service.url ?? null },
  };
}

/** Runs agents one after the other on the same store, and serves the sockets and the page. */
async function serveAgents(opened: OpenProcess, first: LoadedConfig): Promise<void> {
  const { config } = first.usable;
  const longLived = await openLongLived(opened, config);
  const { file, clock, log, io, parts, data_dir, logins } = longLived;
  const runs = await agentRuns({
    file,
    environment: io.environment,
    log,
    first,
    signal: io.signal,
    begin: (next, inUse) => beginAgent(longLived, next, inUse),
  });
  // Ignores the rejection, because `reload` itself logs why it failed.
  io.reloads?.(() => void runs.reload().catch(() => undefined));
  const set_up = createSetUp({
    file,
    data_dir,
    clock,
    log,
    has_key: () => hasKey(longLived),
    logins,
    status: () => runs.control.status(),
    change: runs.setUp,
  });
  parts.begin({ "set-up on the spot": (signal) => set_up.run(signal) });
  const services = { ...servicesOf(longLived, runs), set_up, reload: runs.reload };
  const runtime_dir = io.environment["RUNTIME_DIRECTORY"] ?? config.runtime_dir;
  await serveUntil(() => runs.run(), { config, file, clock, log, logins, services }, runtime_dir);
}

/** Returns the parts of the present agent that the sockets and the page use. */
function servicesOf(
  longLived: LongLived,
  { control, http }: Pick<Awaited<ReturnType<typeof agentRuns>>, "control" | "http">,
) {
  const { clock, identity, reports, needRoom, thread, lines } = longLived;
  const keys = () => ({ ...longLived, service_url: longLived.service.url });
  const key = async () => (await ownKeyOf(keys())) ?? firstKeyOf(keys());
  const ask = (request: ReportRequest) => {
    needRoom();
    return reports.ask(request);
  };
  return {
    control,
    reports: sharedReports((asked) => ask(requestOf(asked, control.status())), monotonicMs),
    fields: boothFields({ http, clock, key }),
    filter_labels: createFilterLabels(identity),
    rebuilds: thread.rebuilds,
    log: lines,
  };
}

/** Returns the machine's clock. In a simulated site it returns the site's clock, which waits for the drivers' reads. */
async function clockOf({ clock_file }: Config): Promise<{ clock: Clock; paced: (driver: Driver) => Driver }> {
  if (clock_file === undefined) return { clock: systemClock(), paced: (driver) => driver };
  const clock = (await import("./simulated-clock.ts")).clockFromFile(clock_file);
  return { clock, paced: clock.paced };
}

/** Time in which eight chunks of the backlog are read and sent. */
const CHUNKS_MS: Milliseconds = 6;

/** Wraps the store so that backlog reads run only between polls, and in memory reserved for them. */
export function readInGaps<S extends Pick<Store, "chunks">>(
  store: S,
  gaps: Pick<PollGaps, "next">,
  needRoom: () => void,
): S {
  return {
    ...store,
    async chunks(...asked) {
      needRoom();
      await gaps.next(CHUNKS_MS);
      return store.chunks(...asked);
    },
  };
}

/** Starts an agent with a configuration. */
async function beginAgent(longLived: LongLived, first: LoadedConfig, inUse: NonNullable<AgentSetup["config"]>) {
  const { clock, log, random, service_time, sealer, scrubber, io, traffic, parts, watch, ...rest } = longLived;
  const { commit_interval_ms, heartbeat_interval_ms, service } = first.usable.config;
  const service_url = service.url ?? null;
  longLived.service.url = service_url;
  traffic.setBudget(service.monthly_mb === undefined ? null : service.monthly_mb * 1e6);
  const ending = new AbortController();
  const signal = AbortSignal.any([io.signal, ending.signal]);
  const { meter } = traffic;
  const ways = await waysTo(service, { clock, service_time, log, meter, agentVersion: VERSION }, signal);
  const http = scrubbedHttp(ways.http, scrubber);
  const isByRoot = await fileSaysService(first.text, longLived);
  // Does not await the write, because an agent polls even if the disk cannot be written. Until the hosts are stored, every key counts as
  // one for the present service.
  void noteKeyHosts({ ...rest, service_url }, isByRoot).catch(() => undefined);
  const pki = opcuaPki({ dir: join(rest.data_dir, "opcua"), wall: () => clock.wall(), log });
  const begun = Promise.withResolvers<Agent>();
  const given = { pki, agent: begun.promise };
  const agentVersion = VERSION;
  const agent = await startAgent(
    {
      ...rest,
      clock,
      random,
      log,
      service_time,
      sealer,
      traffic,
      watch: { ...watch, failed: parts.failed },
      config: inUse,
      version: VERSION,
      service_url,
      commit_interval_ms,
      heartbeat_interval_ms,
      broker_url: service.mqtt_url ?? null,
      backlog_rate: service.backlog_records_per_s ?? null,
      link: scrubbedLink(ways.mqtt, scrubber),
      turn,
      api: serviceApi({ http, clock, random, service_time, sealer, agentVersion, hardwareId: rest.gateway_id }),
      certificates: () => [...ways.mqtt.certificates(), ...pki.certificates()],
      ...(await configuredBy(longLived, first, given)),
      outOfService: io.outOfService,
    },
    signal,
  );
  begun.resolve(agent);
  // Ignores the rejection, which means only that the agent has ended.
  void releaseStartMemory(agent, longLived, signal).catch(() => undefined);
  const become = async (next: LoadedConfig): Promise<void> => agent.become(await configuredBy(longLived, next, given));
  return { agent, http, become, stop: () => ending.abort() };
}

/** Returns whether the operator's file gives the service's address. The file is read again only if a set-up is stored. */
async function fileSaysService(text: string, { file, data_dir }: LongLived): Promise<boolean> {
  if (!existsSync(join(data_dir, "setup.json"))) return true;
  const { operatorSays } = await import("../config/set-up.ts");
  return operatorSays(text, file, ["service", "url"]);
}

/** Returns the part of a configuration that may change while the agent runs. Logs files that cannot be used. */
async function configuredBy(
  longLived: LongLived,
  { usable }: LoadedConfig,
  { pki, agent }: { readonly pki: OpcuaPki; readonly agent: Promise<Agent> },
): Promise<Configured> {
  const { log, identity, traffic, scrubber } = longLived;
  const { booths, refused, marked } = usable;
  learnMarked(scrubber, marked);
  for (const { path, message: text } of fileProblems(marked)) {
    log.error({ event: "file_unusable", setting: path }, message("text.at", { place: path, text }));
  }
  const keeperOf = await holeKeepers({ identity, log }, booths);
  const metrics = (ids: readonly string[]) => figuresNow(agent, ids);
  // Loads the OPC UA library before the first poll, because loading blocks the thread for most of a second.
  if (booths.some((booth) => booth.config.opcua !== undefined)) await opcuaLibrary();
  return {
    booths: booths.map(boothSetups({ ...longLived, pki, keeperOf })),
    disabled: refused.map(({ id, serial, error }) => ({
      booth: id,
      serial,
      file: error.file,
      line: error.line,
      reason: error.brief(),
      advice: message("booth.correct"),
    })),
    ...outputsOf(usable, { ...longLived, version: VERSION, meter: traffic.meter, metrics }),
    ...noticesOf(usable, longLived),
  };
}

const CHECK_START_MS: Milliseconds = 250;
/** Time limit of waiting for first commits. A PLC may be unreachable for days, and the memory must be released anyway. */
const LONGEST_START_MS: Milliseconds = 60_000;

/** Releases the memory that the start used, once every booth has its first commit, or after LONGEST_START_MS. */
async function releaseStartMemory(agent: Agent, { clock, needRoom }: LongLived, signal: AbortSignal): Promise<void> {
  const latest = clock.mono() + LONGEST_START_MS;
  do await clock.sleep(CHECK_START_MS, signal);
  while (clock.mono() < latest && agent.counts().some(({ commits }) => commits === 0));
  await clock.sleep(COLLECT_AFTER_MS, signal);
  collectGarbage();
  if (agent.counts().length >= MANY_BOOTHS) needRoom(Infinity);
}

async function serveUntil(end: () => Promise<void>, setting: PageSetting, runtime_dir: string): Promise<void> {
  const { log } = setting;
  const page = await openPage(setting);
  const open: { close(): void }[] = [page];
  const socket = join(runtime_dir, SOCKET_NAME);
  try {
    open.push(await serveSocket(socket, page.services));
    open.push(await serveAdminSocket(join(runtime_dir, ADMIN_SOCKET_NAME), page.services));
    log.info({ event: "started", socket, version: VERSION }, `agent ${VERSION} is running`);
    await end();
    log.info({ event: "stopped" }, "agent has stopped; everything read is committed");
  } finally {
    for (const one of open) one.close();
  }
}

/** Returns the machine's random source, which is cryptographically secure, as identifiers and credentials require. */
export function systemRandom(): Random {
  return {
    next: () => randomBytes(6).readUIntBE(0, 6) / 2 ** 48,
    uuid: () => randomUUID(),
    bytes: (count) => randomBytes(count),
  };
}

/** Loads the configuration. If a set-up was on trial when the last agent ended, it is reverted first. */
function loadAtStart(file: string, io: Io): LoadedConfig {
  const { environment } = io;
  const loaded = loadUsableOrLastGood(file, environment);
  const log = { warn: (_: unknown, text: Text) => io.err(`${render(text)}\n`) };
  const isReverted = takenBack(loaded.usable.config.data_dir, {
    reason: message("trial.stopped"),
    at: Date.now(),
    log,
  });
  return isReverted ? loadUsableOrLastGood(file, environment) : loaded;
}

/** Runs the agent until it is stopped, or until every booth is decommissioned. In that case its keys and data are wiped. */
export const runCommand: Run = (call) => runWatched(call);

/** Runs the agent as `runCommand` does. `runLoop` lets tests make a loop fail. */
export async function runWatched({ values, io }: Call, runLoop?: LoopWatch["runLoop"]): Promise<number> {
  const file = configPath(values);
  const loaded = loadAtStart(file, io);
  if (loaded.refused !== null) {
    io.err(
      `${loaded.refused.message}\nthe last good configuration stays in use: correct the file, then "booth-gateway reload"\n`,
    );
  }
  const folders = loaded.usable.config;
  const mark = markOf(folders);
  if (mark !== null) {
    wipeState(folders, mark.wiped);
    const what =
      mark.wiped === "all"
        ? "its keys and data are wiped"
        : `its keys are wiped; records that the service has not acknowledged are kept in ${folders.data_dir}`;
    throw new CommandError(
      `this gateway was decommissioned, and ${what}: delete ${mark.path} to put it into service as a new one`,
      EXIT.config,
    );
  }
  const leaving = new AbortController();
  const left: { wiped: Wiped | null } = { wiped: null };
  const outOfService = (wiped: Wiped): void => {
    left.wiped = wiped;
    leaving.abort();
  };
  const signal = AbortSignal.any([io.signal, leaving.signal]);
  await runAgent(loaded, { ...io, ...(runLoop === undefined ? {} : { runLoop }), signal, outOfService }, file);
  if (left.wiped !== null) wipeState(folders, left.wiped);
  return EXIT.ok;
}
