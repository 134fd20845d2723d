import { randomBytes, randomUUID } from "node:crypto";
import { setImmediate as turn } from "node:timers/promises";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Driver } from "../acquisition/port.ts";
import { holeKeepers } from "../acquisition/modbus/driver.ts";
import { opcuaLibrary } from "../acquisition/opcua/library.ts";
import { type OpcuaPki, opcuaPki } from "../acquisition/opcua/pki.ts";
import { createPollGaps } from "../acquisition/poll-gaps.ts";
import { createServiceTime } from "../acquisition/clock.ts";
import { openTail } from "../acquisition/tail.ts";
import { openTraffic, type TrafficWatch } from "./traffic.ts";
import { createFilterLabels } from "../api/filter-labels.ts";
import { type ReportRequest, requestOf } from "../api/report.ts";
import { type FiguresRequest, figuresOf, type OwnFigures } from "../api/report-thread.ts";
import { serveAdminSocket, serveSocket } from "../api/server.ts";
import { sharedReports } from "../api/shared-reports.ts";
import type { Config } from "../config/port.ts";
import { fileProblems } from "../config/file-checks.ts";
import { type Lasting, loadLasting, type RefusedBooth } from "../config/usable.ts";
import type { Clock, Notify, Random, Scrubber } from "../domain/machine.ts";
import { DAY_MS } from "../domain/time.ts";
import type { BoothId, EpochMs } from "../domain/units.ts";
import { firstKeyOf, hasKey, noteKeyHosts, ownKeyOf } from "../provisioning/keys.ts";
import { retryingIdentity } from "../provisioning/binding.ts";
import { COLLECT_AFTER_MS, collectGarbage, MANY_BOOTHS, youngRoom } from "../store/thread/memory.ts";
import { openReportsThread } from "../store/thread/reports-thread.ts";
import { openStoreThread } from "../store/thread/thread.ts";
import { ADMIN_SOCKET_NAME, configPath, SOCKET_NAME } from "../tools/agent-client.ts";
import { type Call, CommandError, EXIT, type Io, type Run } from "../tools/command.ts";
import { type Agent, startAgent } from "./agent.ts";
import { readInGaps } from "./bulk.ts";
import { systemClock } from "./clock.ts";
import { openPage, type PageSetting } from "./compose-page.ts";
import { createChanges } from "./changes.ts";
import type { AgentSetup, Configured } from "./gateway.ts";
import { createLogger, rememberingLog } from "./logger.ts";
import { linksOf, setupOf } from "./plc-links.ts";
import { openPlcLogins, type PlcLogins } from "./plc-logins.ts";
import { createParts, type LoopWatch, type Parts } from "./parts.ts";
import { cutLongStop, exitAfterFailure, systemdNotify } from "./service-manager.ts";
import { noticesOf } from "./notices.ts";
import { figuresNow, outputsOf } from "./outputs.ts";
import { createScrubber } from "../scrubber.ts";
import { learnMarked, scrubbedHttp, scrubbedLink, scrubbedLog } from "./scrubbed.ts";
import { openSealer, openSecrets } from "./secrets.ts";
import { agentRuns } from "./runs.ts";
import { boothFields, serviceApi, waysTo } from "./service-ways.ts";
import { createSetUp, takenBack } from "./set-up.ts";
import { markOf, wipeState } from "./decommission.ts";
import type { Wiped } from "../domain/provisioning.ts";
import { say } from "../domain/sentences.ts";
import { monotonicMs } from "../monotonic.ts";

const PACKAGE = new URL("../../package.json", import.meta.url);
const { version: VERSION } = JSON.parse(readFileSync(PACKAGE, "utf8")) as { readonly version: string };
/** A package's files carry the time at which it was made. */
const MADE_AT: EpochMs = Math.round(statSync(PACKAGE).mtimeMs);

type LongIo = Io & { readonly outOfService: (wiped: Wiped) => void; readonly runLoop?: LoopWatch["runLoop"] };

/** What lives as long as the process, whichever agent runs in it. */
interface OpenProcess extends Awaited<ReturnType<typeof clockOf>>, ReturnType<typeof rememberingLog> {
  readonly notify: Notify;
  readonly scrubber: Scrubber;
  readonly thread: ReturnType<typeof openStoreThread>;
  readonly parts: Parts;
  readonly observed: Pick<LoopWatch, "runLoop">;
  /** Aborts at a stop, and after any fatal error. */
  readonly io: LongIo;
  /** Closed at the end, in no order. */
  readonly open: { close(): unknown }[];
  /** Ends each thread at once, if the process hangs after a fatal error. */
  readonly threads: (() => Promise<unknown>)[];
}

async function openProcess(config: Config, outer: LongIo): Promise<OpenProcess> {
  const { clock, paced } = await clockOf(config);
  const scrubber = createScrubber();
  const { lines, ...remembering } = rememberingLog(createLogger(config.log_level), () => clock.wall());
  const log = scrubbedLog(remembering.log, scrubber);
  cutLongStop(outer.signal, log);
  const thread = openStoreThread({
    dataDir: config.data_dir,
    standbyDir: join(config.runtime_dir, "standby"),
    budget: { max_bytes: config.store.max_bytes, max_age_ms: config.store.max_age_days * DAY_MS },
  });
  const threads = [thread.terminate];
  const { runLoop } = outer;
  const observed = runLoop === undefined ? {} : { runLoop };
  // What outlives an agent ends by the same signal as the agent: at a stop, and after any fatal error.
  const parts = createParts(outer.signal, systemClock(), {
    ...observed,
    failed: (error, loop) => exitAfterFailure(log, { error, loop, threads, exit: outer.exit }),
  });
  const io = { ...outer, signal: parts.signal };
  const notify = systemdNotify(io.environment);
  return { log, lines, scrubber, clock, paced, notify, thread, parts, observed, io, open: [thread.store], threads };
}

/**
 * Builds the real agent round the machine's clock, disk and network, and runs it until the signal aborts. If the configuration
 * changes meanwhile, the parts that differ begin anew, or the whole agent does, over the same store. Rejects with the first fatal
 * error, after everything was closed. `outOfService` is called once every booth is out of service for good.
 */
async function runAgent(first: Lasting, outer: LongIo, file: string): Promise<void> {
  const opened = await openProcess(first.usable.config, outer);
  const { parts, notify } = opened;
  const close = (): readonly Promise<unknown>[] => {
    notify.stopping();
    return opened.open.map(async (one) => {
      await one.close();
    });
  };
  try {
    await serveAgents(opened, first, file);
    await parts.finished;
  } catch (error) {
    // No effect if the process was told to stop, or if another error came first.
    parts.failed(error);
    await parts.finished.catch(() => undefined);
    await Promise.allSettled(close());
    await parts.finished;
    throw error;
  }
  await Promise.all(close());
}

/** Runs one agent after the other over the same store, with the socket and the page. */
async function serveAgents(opened: OpenProcess, first: Lasting, file: string): Promise<void> {
  const { clock, paced, log, lines, scrubber, notify, parts, observed, io, open, threads } = opened;
  const { store, rebuilds, ...thread } = opened.thread;
  const { config } = first.usable;
  const identity = retryingIdentity({ identity: thread.identity, clock, log }, io.signal);
  // The answer says that the folder is ours: only then may the tail be touched, which another agent may be writing.
  const { gateway_id } = await identity.gateway();
  // Long reports are made, and what waits is sent, where the polls leave a gap.
  const gaps = createPollGaps(clock);
  const reports = openReports(config, gaps);
  const needRoom = youngRoom(clock, io.signal);
  const tail = openTail(config.runtime_dir);
  open.push(reports, tail);
  threads.push(() => reports.close());
  const local = await openLocal(opened, config, identity);
  const changes = createChanges({
    file,
    environment: io.environment,
    log,
    first,
    runs: { become: (next) => runs.become(next), restart: (next) => runs.restart(next) },
  });
  const lasting: LongLived = {
    clock,
    log,
    notify,
    gaps,
    identity,
    tail,
    ...local,
    gateway_id,
    paced,
    io,
    needRoom,
    scrubber,
    store: readInGaps(store, gaps, needRoom),
    folders: config,
    config: changes.inUse,
    file,
    service: { url: config.service.url ?? null },
    random: systemRandom(),
    figures: async (booth, day, status) => reports.value(figuresOf(booth, day, status)),
    watch: { ...observed, failed: parts.failed },
  };
  const runs = await agentRuns((next) => beginAgent(lasting, next), { first, signal: io.signal });
  io.reloads?.(() => void changes.reload().catch(() => undefined)); // what is refused it has told
  const set_up = createSetUp({
    file,
    data_dir: config.data_dir,
    clock,
    log,
    has_key: () => hasKey(lasting),
    logins: local.logins,
    status: () => runs.control.status(),
    change: changes.setUp,
  });
  const { reload } = changes;
  const services = { ...servicesOf(lasting, runs, reports), rebuilds, set_up, log: lines, reload };
  const runtime_dir = io.environment["RUNTIME_DIRECTORY"] ?? config.runtime_dir;
  parts.begin({ "set-up on the spot": (signal) => set_up.run(signal) });
  await serveUntil(() => runs.run(), { config, file, clock, log, logins: local.logins, services }, runtime_dir);
}

/** Opens what the gateway keeps for itself: its secrets, the time it knows, and the count of its traffic. */
async function openLocal(opened: OpenProcess, config: Config, identity: LongLived["identity"]) {
  const { clock, log, scrubber, io, parts } = opened;
  const sealer = openSealer(config.data_dir);
  const service_time = createServiceTime(MADE_AT);
  const file = join(config.runtime_dir, "traffic.json");
  const local = {
    secrets: openSecrets(config.service, io.environment),
    sealer,
    logins: await openPlcLogins({ identity, sealer, scrubber }),
    service_time,
    traffic: await openTraffic({ clock, log, identity, service_time, file }),
  };
  parts.begin({ "count of the traffic": (signal) => local.traffic.run(signal) });
  return local;
}

type ReportsThread = ReturnType<typeof openReports>;

function openReports({ data_dir }: Config, gaps: ReturnType<typeof createPollGaps>) {
  return openReportsThread<{ report: ReportRequest; wish: FiguresRequest; value: OwnFigures }>(
    new URL("./reports-worker.ts", import.meta.url),
    { dataDir: data_dir },
    (needed_ms) => gaps.next(needed_ms),
  );
}

/** Returns what the socket and the page need from the agent that runs now. */
function servicesOf(
  lasting: LongLived,
  { control, http }: Pick<Awaited<ReturnType<typeof agentRuns>>, "control" | "http">,
  reports: ReportsThread,
) {
  const keys = () => ({ ...lasting, service_url: lasting.service.url });
  const key = async () => (await ownKeyOf(keys())) ?? firstKeyOf(keys());
  const askReport = (asked: ReportRequest) => {
    lasting.needRoom();
    return reports.ask(asked);
  };
  return {
    control,
    reports: sharedReports((asked) => askReport(requestOf(asked, control.status())), monotonicMs),
    fields: boothFields({ http, clock: lasting.clock, key }),
    filter_labels: createFilterLabels(lasting.identity),
  };
}

/** The machine's own; in a simulated site the site's, which waits for the drivers' reads. */
async function clockOf({ clock_file }: Config): Promise<{ clock: Clock; paced: (driver: Driver) => Driver }> {
  if (clock_file === undefined) return { clock: systemClock(), paced: (driver) => driver };
  const clock = (await import("./simulated-clock.ts")).clockFromFile(clock_file);
  return { clock, paced: clock.paced };
}

/** What one run of the agent hands on to the next. */
type LongLived = Pick<
  AgentSetup,
  | "clock"
  | "log"
  | "notify"
  | "gaps"
  | "store"
  | "identity"
  | "tail"
  | "secrets"
  | "sealer"
  | "random"
  | "service_time"
  | "figures"
  | "config"
  | "watch"
> & {
  /** Of the process, whatever a later configuration says. */
  readonly folders: Pick<Config, "data_dir" | "runtime_dir">;
  readonly gateway_id: string;
  readonly scrubber: Scrubber;
  readonly logins: PlcLogins;
  readonly traffic: TrafficWatch;
  /** The service of the agent that runs now. */
  readonly service: { url: string | null };
  readonly file: string;
  readonly paced: (driver: Driver) => Driver;
  readonly io: LongIo;
  readonly needRoom: ReturnType<typeof youngRoom>;
};

/** Starts the agent as a configuration says. */
async function beginAgent(lasting: LongLived, first: Lasting) {
  const { clock, log, gateway_id, random, service_time, sealer, scrubber, io, folders, ...rest } = lasting;
  const { commit_interval_ms, heartbeat_interval_ms, service } = first.usable.config;
  const ending = new AbortController();
  const signal = AbortSignal.any([io.signal, ending.signal]);
  const { meter } = lasting.traffic;
  lasting.traffic.setBudget(service.monthly_mb === undefined ? null : service.monthly_mb * 1e6);
  const ways = await waysTo(service, { clock, service_time, log, meter, agentVersion: VERSION }, signal);
  const http = scrubbedHttp(ways.http, scrubber);
  const mqtt = scrubbedLink(ways.mqtt, scrubber);
  lasting.service.url = service.url ?? null;
  const { identity, secrets } = lasting;
  const isByRoot = await fileSaysService(first.text, lasting);
  // Not awaited: on a disk that can't be written the agent polls all the same. Until it is noted, every key is for the present service.
  void noteKeyHosts({ identity, secrets, service_url: lasting.service.url }, isByRoot).catch(() => undefined);
  const pki = opcuaPki({ dir: join(folders.data_dir, "opcua"), wall: () => clock.wall(), log });
  const begun = Promise.withResolvers<Agent>();
  const given = { pki, agent: begun.promise };
  const agent = await startAgent(
    {
      ...rest,
      clock,
      random,
      log,
      service_time,
      sealer,
      version: VERSION,
      service_url: service.url ?? null,
      commit_interval_ms,
      heartbeat_interval_ms,
      broker_url: service.mqtt_url ?? null,
      backlog_rate: service.backlog_records_per_s ?? null,
      link: mqtt,
      turn,
      api: serviceApi({
        http,
        clock,
        random,
        service_time,
        sealer,
        agentVersion: VERSION,
        hardwareId: gateway_id,
      }),
      certificates: () => [...ways.mqtt.certificates(), ...pki.certificates()],
      ...(await configuredBy(lasting, first, given)),
      outOfService: io.outOfService,
    },
    signal,
  );
  begun.resolve(agent);
  void leaveStartBehind(agent, lasting, signal).catch(() => undefined); // it ends with the agent, and rejects then
  const become = async (next: Lasting): Promise<void> => agent.become(await configuredBy(lasting, next, given));
  return { agent, http, become, stop: () => ending.abort() };
}

/** Whether the operator's file gives the service's address. Reading that file again is needed only if something was set up on the spot. */
async function fileSaysService(text: string, { file, folders }: LongLived): Promise<boolean> {
  if (!existsSync(join(folders.data_dir, "setup.json"))) return true;
  const { operatorSays } = await import("../config/set-up.ts");
  return operatorSays(text, file, ["service", "url"]);
}

/** What of a configuration can change while the agent runs. */
async function configuredBy(
  lasting: LongLived,
  { usable }: Lasting,
  { pki, agent }: { readonly pki: OpcuaPki; readonly agent: Promise<Agent> },
): Promise<Configured> {
  const { clock, log, identity, logins, paced, traffic, scrubber } = lasting;
  const { runtime_dir } = lasting.folders;
  const metrics = (ids: readonly BoothId[]) => figuresNow(agent, ids);
  const { booths, refused, marked } = usable;
  learnMarked(scrubber, marked);
  for (const { path, message } of fileProblems(marked)) {
    log.error({ event: "file_unusable", setting: path }, `${path}: ${message}`);
  }
  const links = linksOf({ clock, log, logins, pki, scrubber, keeperOf: await holeKeepers({ identity, log }, booths) });
  // Loading takes most of a second, in which no other booth would be polled: before the first poll nobody waits for it.
  if (booths.some((booth) => booth.config.opcua !== undefined)) await opcuaLibrary();
  return {
    booths: booths.map((booth) => setupOf(booth, links, paced)),
    disabled: refused.map(disabledOf),
    ...outputsOf(usable, { ...lasting, version: VERSION, runtime_dir, meter: traffic.meter, metrics }),
    ...noticesOf(usable, { clock, log, runtime_dir, scrubber }),
  };
}

/** Interval of the checks whether every booth has been read. */
const LOOK_MS = 250;
/** A PLC may be away for days. */
const LONGEST_START_MS = 60_000;

/** Collects the garbage that a start leaves, after every booth has its first commit, or after LONGEST_START_MS. */
async function leaveStartBehind(agent: Agent, { clock, needRoom }: LongLived, signal: AbortSignal): Promise<void> {
  const latest = clock.mono() + LONGEST_START_MS;
  do await clock.sleep(LOOK_MS, signal);
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

function disabledOf({ id, serial, error }: RefusedBooth): NonNullable<AgentSetup["disabled"]>[number] {
  const advice = say("booth.correct");
  return { booth: id, serial, file: error.file, line: error.line, reason: error.brief(), advice };
}

/** The machine's own source: good for identifiers and credentials as well as for jitter. */
export function systemRandom(): Random {
  return {
    next: () => randomBytes(6).readUIntBE(0, 6) / 2 ** 48,
    uuid: () => randomUUID(),
    bytes: (count) => randomBytes(count),
  };
}

/** Loads the configuration of the files. A set-up that was on trial when the last agent ended is taken back first. */
function loadAtStart(file: string, io: Io): Lasting {
  const { environment } = io;
  const lasting = loadLasting(file, environment);
  const why = { reason: say("trial.stopped"), at: Date.now() };
  const log = { warn: (_: unknown, text: string) => io.err(`${text}\n`) };
  const isOther = takenBack(lasting.usable.config.data_dir, { ...why, log });
  return isOther ? loadLasting(file, environment) : lasting;
}

/** Runs the agent until it is stopped, or until it is taken out of service: then its keys and data are wiped. */
export const runCommand: Run = (call) => runWatched(call);

/** The same, with a way to make loops fail, for tests. */
export async function runWatched({ values, io }: Call, runLoop?: LoopWatch["runLoop"]): Promise<number> {
  const file = configPath(values);
  const lasting = loadAtStart(file, io);
  if (lasting.refused !== null) {
    io.err(
      `${lasting.refused.message}\nthe last good configuration stays in use: correct the file, then "booth-gateway reload"\n`,
    );
  }
  const folders = lasting.usable.config;
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
  const watched = runLoop === undefined ? {} : { runLoop };
  await runAgent(lasting, { ...io, ...watched, signal, outOfService }, file);
  if (left.wiped !== null) wipeState(folders, left.wiped);
  return EXIT.ok;
}
