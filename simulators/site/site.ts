import { rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { loadProfile, SHIPPED_PROFILES } from "../../src/config/profile.ts";
import { clockFileText, clockFromNow } from "../clock.ts";
import { addDays, instantOf, localDate, weekdayOf } from "../plc/model/local-time.ts";
import type { Scenario } from "../plc/model/scenario.ts";
import { startPlc, type RunningPlc } from "../plc/start.ts";
import { seedAlerts } from "../service/demo/alerts.ts";
import { seedSite } from "../service/accounts/seed.ts";
import { startService, type RunningService } from "../service/start.ts";
import {
  askPage,
  askStatus,
  startAgentProcess,
  type AgentLine,
  type AgentProcess,
  type SeenPage,
} from "./agent-process.ts";
import { FolderError, newKey, replaceFile, type SiteFolder, type SiteMemory } from "./folder.ts";
import { gatewayConfig, pollAt } from "./gateway-config.ts";
import { deliverHistory, dropUnfinished, fillBox } from "./history.ts";
import { createPace, keepPace, paceWords, type SitePace } from "./pace.ts";
import type { Screen } from "./screen.ts";
import { isOver } from "../../src/domain/signal.ts";
import { aborted, pause } from "./waiting.ts";
import { DAY_MS } from "../../src/domain/time.ts";

const PROFILE = join(SHIPPED_PROFILES, "click-booth.yaml");
const SERIAL = "ABCD-123-123";
/** The first story starts a little before the working day. */
const FIRST_WALL = "07:59:50";
/** A history ends in the middle of a working day, so that today has data too. */
const JOINT_WALL = "13:30:00";
const DAYS_OF_A_WEEK = 7;
const STATUS_EVERY_MS = 500;
const REMEMBER_EVERY_MS = 5_000;
/** Pause before an agent that ended by itself is restarted, as by a service manager. */
const RESTART_AFTER_MS = 500;

export interface SitePorts {
  readonly http: number;
  readonly mqtt: number;
  readonly modbus: number;
  readonly admin: number;
  readonly page: number;
}

interface SiteOptions {
  readonly folder: SiteFolder;
  readonly scenario: Scenario;
  readonly speed: number;
  readonly seed: number;
  /** Days of history in gateway and service; 0: none. */
  readonly history_days: number;
  readonly ports: SitePorts;
  readonly screen: Screen;
}

interface Site {
  readonly options: SiteOptions;
  readonly memory: SiteMemory;
  readonly clock: SitePace;
  readonly plc: RunningPlc;
  readonly service: RunningService;
}

/**
 * Runs a whole site on loopback until the signal aborts: PLC, service, and the agent as a separate process. Returns
 * false if the signal came before the history was complete; the history is then deleted.
 */
export async function runSite(options: SiteOptions, signal: AbortSignal): Promise<boolean> {
  const { folder, screen } = options;
  const memory = await recall(options, signal);
  if (memory === null) return false;
  const origin = clockFromNow(options.speed, memory.wall);
  const poll_interval_ms = pollAt(options.speed).fast.poll_interval_ms;
  const clock = createPace({ origin, file: folder.paceFile });
  rmSync(folder.clockFile, { force: true });
  writeFileSync(folder.clockFile, clockFileText(origin, paceWords(basename(folder.paceFile), poll_interval_ms)), {
    mode: 0o600,
  });
  const plc = await startPlcHere(options, { memory, clock });
  screen.line(
    clock.wall(),
    "plc",
    `${options.scenario.name} behind Modbus TCP at 127.0.0.1:${plc.port}: ${options.scenario.title}`,
  );
  const service = await startServiceHere(options, { memory, clock }).catch(async (error: unknown) => {
    await plc.stop();
    throw error;
  });
  screen.line(clock.wall(), "service", `HTTP at ${service.url}, MQTT at ${service.mqttUrl}`);
  const site = { options, memory, clock, plc, service };
  writeConfig(site);
  try {
    await Promise.all([
      keepAgent(site, signal),
      watch(site, signal),
      rememberTime(site, signal),
      setPace(site, signal),
    ]);
  } finally {
    await Promise.all([plc.stop(), service.stop()]);
    folder.remember({ ...memory, wall: clock.wall() });
    clock.close();
    screen.end();
  }
  return true;
}

/** Returns the memory of the last start or a new one; null: stopped before there was one. */
async function recall(options: SiteOptions, signal: AbortSignal): Promise<SiteMemory | null> {
  const { folder, scenario, seed, history_days, screen } = options;
  if (dropUnfinished(folder.gateway)) screen.plain("A history that was broken off before is dropped.");
  const before = folder.memory();
  if (history_days > 0 && before !== null && before.joint === undefined) {
    throw new FolderError(
      `${folder.path} holds a story already, which can't get a history afterwards: choose another folder with --data, or delete this one`,
    );
  }
  if (before !== null && before.scenario === scenario.name && before.seed === seed) return before;
  const wall = before?.wall ?? firstWall(scenario, history_days);
  const memory: SiteMemory = {
    serial: SERIAL,
    provision_key: newKey(),
    admin_key: newKey(),
    user_key: newKey(),
    ...before,
    scenario: scenario.name,
    seed,
    story_start: before === null ? wall - history_days * DAY_MS : wall,
    wall,
    ...(before === null && history_days > 0 ? { joint: wall } : {}),
  };
  if (before === null && history_days > 0 && !(await fillBox(options, memory, signal))) return null;
  folder.remember(memory);
  return memory;
}

/** Returns the first wall clock: today. A history ends on a day with the usual beats. */
function firstWall({ tz, on_weekday = {} }: Scenario, history_days: number): number {
  const today = localDate(tz, Date.now());
  if (history_days === 0) return instantOf(tz, today, FIRST_WALL);
  const days = Array.from({ length: DAYS_OF_A_WEEK }, (_, back) => addDays(today, -back));
  return instantOf(tz, days.find((day) => !(weekdayOf(day) in on_weekday)) ?? today, JOINT_WALL);
}

interface Story {
  readonly memory: SiteMemory;
  readonly clock: SitePace;
}

function startPlcHere({ scenario, seed, ports }: SiteOptions, { memory, clock }: Story): Promise<RunningPlc> {
  const profile = loadProfile(PROFILE);
  if (profile.protocol !== "modbus") throw new Error(`${PROFILE} is no Modbus profile`);
  const identity = { plc_serial: memory.serial };
  return startPlc({
    profile,
    scenario,
    seed,
    clock,
    port: ports.modbus,
    start: memory.story_start,
    identity,
  });
}

async function startServiceHere(
  { folder, scenario, ports }: SiteOptions,
  { memory, clock }: Story,
): Promise<RunningService> {
  const { http, mqtt, admin } = ports;
  const service = await startService({ dataDir: folder.service, port: http, mqttPort: mqtt, adminPort: admin, clock });
  const { account_id } = seedSite(service.db, {
    serial: memory.serial,
    tz: scenario.tz,
    provisionKey: memory.provision_key,
    adminKey: memory.admin_key,
    userKey: memory.user_key,
    now: memory.story_start,
  });
  seedAlerts(service.db, account_id, memory.story_start);
  return service;
}

function writeConfig({ options, memory, service, plc }: Site): void {
  const { folder } = options;
  writeFileSync(folder.keyFile, `${memory.provision_key}\n`, { mode: 0o600 });
  replaceFile(
    folder.configFile,
    gatewayConfig({
      folder,
      serviceUrl: service.url,
      modbusPort: plc.port,
      pagePort: options.ports.page,
      serial: memory.serial,
      tz: options.scenario.tz,
      poll: pollAt(options.speed),
    }),
  );
}

/** Keeps an agent running until the signal. Its log lines are printed on the screen. */
async function keepAgent(site: Site, signal: AbortSignal): Promise<void> {
  const { folder, screen } = site.options;
  const show = ({ level, event, text }: AgentLine): void => {
    // The page's address is printed together with its PIN.
    if (event === "page") return;
    const who = level === "info" ? "agent" : `agent ${level === "error" ? "!!" : "!"}`;
    screen.line(site.clock.wall(), who, text);
  };
  while (!isOver(signal)) {
    const agent = startAgentProcess(folder.configFile, show);
    screen.line(site.clock.wall(), "agent", `started as process ${agent.pid}, configuration ${folder.configFile}`);
    const ended = await Promise.race([agent.ended, stopAt(agent, signal)]);
    if (ended === null) return;
    // Ctrl-C reaches the agent too, so an agent that ends together with the site hasn't ended by itself.
    await pause(RESTART_AFTER_MS, signal);
    if (isOver(signal)) return;
    screen.line(site.clock.wall(), "agent !!", `ended by itself (${ended}); it is started again`);
  }
}

/** Stops the agent at the signal. Returns null when it has ended. */
async function stopAt(agent: AgentProcess, signal: AbortSignal): Promise<null> {
  await aborted(signal);
  await agent.stop();
  return null;
}

async function watch(site: Site, signal: AbortSignal): Promise<void> {
  const socket = socketIn(site.options.folder);
  let told = "";
  while (!isOver(signal)) {
    const status = await askStatus(socket);
    // Each agent has its own page and PIN, which are printed once.
    if (status !== null && told !== status.started_at.toString()) {
      const page = await askPage(socket);
      if (page !== null) {
        told = status.started_at.toString();
        const { screen } = site.options;
        screen.line(site.clock.wall(), "page", pageText(page));
        const { service, memory } = site;
        screen.line(
          site.clock.wall(),
          "owner",
          `${service.url}/owner/#key=${memory.user_key} shows what the owner sees of all shops`,
        );
      }
    }
    if (status !== null) site.options.screen.status(status);
    await pause(STATUS_EVERY_MS, signal);
  }
}

function pageText({ url, pin }: SeenPage): string {
  return url === null
    ? "its port is taken by another program"
    : `${url} shows the booth, as on the box itself; PIN to change things: ${pin}`;
}

/** A killed site continues at its next start from the saved time, at most a few seconds after its last time. */
/**
 * Saves a time slightly ahead: a killed site continues after a silence, and its clock and the PLC's uptime and meters
 * never go back.
 */
async function rememberTime(site: Site, signal: AbortSignal): Promise<void> {
  const { folder, speed } = site.options;
  while (!isOver(signal)) {
    folder.remember({ ...site.memory, wall: site.clock.wall() + 2 * REMEMBER_EVERY_MS * speed });
    await pause(REMEMBER_EVERY_MS, signal);
  }
}

async function setPace({ memory, options, clock }: Site, signal: AbortSignal): Promise<void> {
  const { folder, speed, screen, history_days } = options;
  const { poll_interval_ms } = pollAt(speed).fast;
  if (memory.joint === memory.wall) {
    // Until the service has the history, the booth's time runs at real speed, so that its day isn't over by then.
    clock.setSpeed(1);
    await deliverHistory({ clock, screen, socket: socketIn(folder), days: history_days }, signal);
    clock.setSpeed(speed);
  }
  await keepPace({ clock, screen, wished: speed, poll_interval_ms }, signal);
}

function socketIn({ runtime }: SiteFolder): string {
  return join(runtime, "agent.sock");
}
