import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { startAgent, type Agent, type AgentParts } from "./agent.ts";
import type { BoothSetup } from "./booth.ts";
import { firstKeyOf } from "../provisioning/first-key.ts";
import { retryingIdentity } from "../provisioning/retrying-identity.ts";
import { createPollGaps } from "../acquisition/poll-gaps.ts";
import { createServiceTime } from "../acquisition/service-time.ts";
import { serveAdminSocket, serveSocket } from "../api/server.ts";
import type { ReportRequest } from "../api/report-request.ts";
import { ADMIN_SOCKET_NAME, SOCKET_NAME } from "../tools/agent-client.ts";
import { localBooths, reportsNow } from "../api/local-booth.ts";
import type { Io } from "../cli/command.ts";
import { createBoothFields } from "../delivery/http/booth-fields.ts";
import { createHttpClient } from "../delivery/http/client.ts";
import { createMqttLink, type MqttLinkParts } from "../delivery/mqtt/link.ts";
import { createServiceApi } from "../delivery/http/service-api.ts";
import { withSessionTokens } from "../delivery/http/session-token.ts";
import { clientCertificateIn } from "../delivery/tls.ts";
import { openPage, type PageParts } from "./compose-page.ts";
import type { Lasting } from "../config/last-good.ts";
import type { ReadyBooth, RefusedBooth } from "../config/usable.ts";
import { parametersOf } from "../config/parameters.ts";
import { DAY_MS } from "../domain/storage.ts";
import { plcAddress } from "../domain/plc-address.ts";
import type { BoothConfig, ServiceConfig } from "../config/port.ts";
import type { Profile } from "../domain/profile.ts";
import type { AgentStatus } from "../domain/status.ts";
import type { EpochMs } from "../domain/units.ts";
import { wireNameOf } from "../domain/wire-names.ts";
import { holeKeepers } from "../acquisition/modbus/hole-keeper.ts";
import { modbusLinks } from "../acquisition/modbus/links.ts";
import { opcuaLibrary } from "../acquisition/opcua/library.ts";
import { opcuaPki, type OpcuaPki } from "../acquisition/opcua/pki.ts";
import { ownLinkDriver } from "../acquisition/own-link.ts";
import { clockFromFile, systemClock } from "./clock.ts";
import { createLogger, rememberingLog } from "./logger.ts";
import { systemdNotify } from "./notify.ts";
import { openSealer } from "./seal.ts";
import { openSecrets, ownFile } from "./secrets.ts";
import type { Clock, Logger, Random } from "../domain/machine.ts";
import type { ReportParts } from "../store/port.ts";
import { STATE_VIEW } from "./state-view.ts";
import { recordHash } from "../contract/hash.ts";
import { openReportsThread } from "../store/thread/reports-thread.ts";
import { openTail } from "../acquisition/tail.ts";
import { openStoreThread } from "../store/thread/thread.ts";
import { randomBytes, randomUUID } from "node:crypto";

const VERSION = versionOf(new URL("../../package.json", import.meta.url));
/** A package's files carry the time at which it was made. */
const MADE_AT: EpochMs = Math.round(statSync(new URL("../../package.json", import.meta.url)).mtimeMs);

function versionOf(file: URL): string {
  const { version } = JSON.parse(readFileSync(file, "utf8")) as { version: string };
  return version;
}

function linksOf({
  clock,
  log,
  dir,
  keeperOf,
}: Pick<Links, "log" | "keeperOf"> & { clock: Clock; dir: string }): Links {
  const wall = (): EpochMs => clock.wall();
  return {
    modbus: modbusLinks(() => ({ mono: clock.mono(), wall: clock.wall() })),
    keeperOf,
    pki: opcuaPki({ dir: join(dir, "opcua"), wall, log }),
    wall,
    log,
  };
}

/** The process, and what is to be done once every booth is out of service: none may be left out for its configuration. */
export interface Serving extends Io {
  readonly outOfService: () => void;
}

/** Builds the real agent round the machine's clock, disk, network, and runs it until the signal. */
export async function runAgent({ usable, refused: fileRefused }: Lasting, io: Serving, file: string): Promise<void> {
  const { config, booths, refused } = usable;
  const clock = config.clock_file === undefined ? systemClock() : clockFromFile(config.clock_file);
  const random = systemRandom();
  const { log, lines } = rememberingLog(createLogger(config.log_level), () => clock.wall());
  cutLongStop(io.signal, log);
  const notify = systemdNotify(io.environment);
  const service_time = createServiceTime(MADE_AT);
  const { http, mqtt } = waysTo(config.service, { clock, service_time, log }, io.signal);
  const thread = openStoreThread(storeOptionsOf(config));
  const { store, rebuilds } = thread;
  const open: { close(): unknown }[] = [store];
  try {
    const identity = retryingIdentity({ identity: thread.identity, clock, log }, io.signal);
    // The answer says that the folder is ours: only then may the tail be touched, which another agent may be writing.
    const { gateway_id } = await identity.gateway();
    const { gaps, reports } = reportsBetweenPolls(config, clock);
    const tail = openTail(config.runtime_dir);
    open.push(reports, tail);
    const [secrets, sealer] = [openSecrets(config.service, io.environment), openSealer(config.data_dir)];
    const links = linksOf({ clock, log, dir: config.data_dir, keeperOf: await holeKeepers({ identity, log }, booths) });
    await loadDrivers(booths);
    const agent = await startAgent(
      {
        ...{ clock, random, log, notify, gaps, store, identity, tail, service_time },
        version: VERSION,
        service_url: config.service.url,
        commit_interval_ms: config.commit_interval_ms,
        heartbeat_interval_ms: config.heartbeat_interval_ms,
        broker_url: config.service.mqtt_url ?? null,
        config_refused: fileRefused?.message ?? null,
        backlog_rate: config.service.backlog_records_per_s ?? null,
        view: STATE_VIEW,
        wireName: wireNameOf,
        makeHash: recordHash,
        ownReport: (path, query, status) => reports.ask(ownRequest(path, query, status)).then(plainReport),
        secrets,
        sealer,
        api: createServiceApi({
          ...{ http, clock, random, service_time, sealer },
          ...{ agentVersion: VERSION, hardwareId: gateway_id },
        }),
        link: mqtt,
        booths: booths.map((booth) => setupOf(booth, links)),
        certificates: () => [...mqtt.certificates(), ...links.pki.certificates()],
        disabled: refused.map(disabledOf),
        ...(refused.length === 0 ? { outOfService: io.outOfService } : {}),
      },
      io.signal,
    );
    const runtime_dir = io.environment["RUNTIME_DIRECTORY"] ?? config.runtime_dir;
    const key = async () => (await identity.gateway()).credential ?? firstKeyOf({ identity, secrets, sealer });
    const more = {
      reports: (request: ReportRequest) => reports.ask(request),
      rebuilds,
      log: lines,
      fields: createBoothFields({ http, clock, key }),
    };
    await serveUntilFinished(agent, { runtime_dir, config, file, clock, log, more });
  } finally {
    notify.stopping();
    http.close();
    await Promise.all(open.map((one) => one.close()));
  }
}

/** Long reports are made where the polls leave a gap. */
function reportsBetweenPolls({ data_dir }: Pick<Lasting["usable"]["config"], "data_dir">, clock: Clock) {
  const gaps = createPollGaps(clock);
  const entry = new URL("./reports-worker.ts", import.meta.url);
  return { gaps, reports: openReportsThread(entry, { dataDir: data_dir }, () => gaps.next()) };
}

function storeOptionsOf({
  data_dir,
  runtime_dir,
  store,
}: Lasting["usable"]["config"]): Parameters<typeof openStoreThread>[0] {
  const budget = { max_bytes: store.max_bytes, max_age_ms: store.max_age_days * DAY_MS };
  return { dataDir: data_dir, standbyDir: join(runtime_dir, "standby"), budget };
}

/** The service by HTTP and by its broker. Throws where a file of certificates or keys can't be used. */
function waysTo(service: ServiceConfig, parts: Omit<MqttLinkParts, "agentVersion">, signal: AbortSignal) {
  const ca = service.ca_file === undefined ? {} : { ca: readFileSync(service.ca_file, "utf8") };
  const http = createHttpClient({ baseUrl: service.url, ...ca, ...proxyOf(service) });
  // A service that takes a request and never answers would hold a stop up for the whole of the request's time.
  const close = (): void => http.close();
  if (signal.aborted) close();
  else signal.addEventListener("abort", close, { once: true });
  return {
    http: service.authorization === "session" ? withSessionTokens(http) : http,
    mqtt: createMqttLink({ ...parts, agentVersion: VERSION, ...ca, ...clientOf(service) }),
  };
}

function ownRequest(path: string, query: ReportRequest["query"], status: AgentStatus): ReportRequest {
  return { path, query, booths: localBooths(status), now_ms: reportsNow(status) };
}

/** A report as plain data. Throws where it isn't one. */
async function plainReport({ status, body }: ReportParts): Promise<unknown> {
  const parts: Buffer[] = [];
  for await (const part of body) parts.push(Buffer.from(part));
  const text = Buffer.concat(parts).toString();
  if (status !== 200) throw new Error(`the box's own report: ${status.toString()} ${text.slice(0, 200)}`);
  return JSON.parse(text) as unknown;
}

function proxyOf({ proxy_url }: ServiceConfig): { readonly proxy?: string } {
  return proxy_url === undefined ? {} : { proxy: proxy_url };
}

/** What the box shows of itself to a broker that asks for a certificate. Throws where others can read the key. */
function clientOf({
  client_certificate_file,
  client_key_file,
}: ServiceConfig): Pick<MqttLinkParts, "client_certificate"> {
  if (client_certificate_file === undefined || client_key_file === undefined) return {};
  return { client_certificate: clientCertificateIn(client_certificate_file, ownFile(client_key_file)) };
}

async function serveUntilFinished(
  agent: Agent,
  { runtime_dir, ...parts }: PageParts & { readonly runtime_dir: string },
): Promise<void> {
  const { log } = parts;
  const page = await openPage(agent, parts);
  const socket = join(runtime_dir, SOCKET_NAME);
  const server = await serveSocket(socket, agent, page.services);
  const admin = await serveAdminSocket(join(runtime_dir, ADMIN_SOCKET_NAME), agent, page.services);
  log.info({ event: "started", socket, version: VERSION }, `agent ${VERSION} is running`);
  try {
    await agent.finished;
    log.info({ event: "stopped" }, "agent has stopped; everything read is committed");
  } finally {
    page.close();
    server.close();
    admin.close();
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

type Way = Pick<BoothSetup, "makeDriver" | "link" | "lend" | "probe_ms" | "settle_ms" | "idle_close_ms">;

/** A profile of another protocol than the booth's link costs this booth alone. */
function wayTo(booth: BoothConfig, profile: Profile, { modbus, keeperOf, ...links }: Links): Way {
  if (booth.modbus !== undefined && profile.protocol === "modbus") {
    const { idle_close_ms } = profile.quirks;
    const way = modbus(booth.modbus, profile, keeperOf(booth.id));
    return { ...way, ...(idle_close_ms === undefined ? {} : { idle_close_ms }) };
  }
  // A link of its own, by a name that no Modbus address has.
  const link = `booth ${booth.id}`;
  return { link, makeDriver: (passwords) => ownLinkDriver({ booth, profile, passwords, ...links }) };
}

/** From the order to stop: systemd would wait longer, a person at the box doesn't, and what is left to do is safe without it. */
const STOP_WITHIN_MS = 4_000;

/**
 * Ends the process where a stop hangs, as signal 9 does: a disk that doesn't answer, a salvage or a long query in a thread, which no
 * exit can interrupt (Node waits for its threads). What was taken stands in the tail file and is committed at the next start.
 */
export function cutLongStop(signal: AbortSignal, log: Logger): void {
  const begin = (): void => {
    const cut = (): void => {
      const text = `the stop took longer than ${(STOP_WITHIN_MS / 1000).toString()} s and is cut short; what was read is in the tail file and is committed at the next start`;
      log.warn({ event: "stop_cut" }, text);
      process.kill(process.pid, "SIGKILL");
    };
    setTimeout(cut, STOP_WITHIN_MS).unref();
  };
  if (signal.aborted) begin();
  else signal.addEventListener("abort", begin, { once: true });
}

/** The machine's own source: good for identifiers and credentials as well as for jitter. */
export function systemRandom(): Random {
  return {
    next: () => randomBytes(6).readUIntBE(0, 6) / 2 ** 48,
    uuid: () => randomUUID(),
    bytes: (count) => randomBytes(count),
  };
}
