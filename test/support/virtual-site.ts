import { startAgent, type Agent } from "../../src/runtime/agent.ts";
import type { AgentSetup } from "../../src/runtime/gateway.ts";
import type { HttpClient } from "../../src/delivery/http/client.ts";
import { createServiceApi } from "../../src/delivery/http/service-api.ts";
import { findProfile } from "../../src/config/profile.ts";
import { createServiceTime } from "../../src/acquisition/clock.ts";
import { parametersOf } from "../../src/config/parameters.ts";
import type { BoothConfig } from "../../src/config/port.ts";
import type { Profile } from "../../src/domain/profile.ts";
import type { TakenEntry } from "../../src/domain/taken.ts";
import { openSealer } from "../../src/runtime/secrets.ts";
import { systemdNotify } from "../../src/runtime/service-manager.ts";
import type { AgentControl } from "../../src/domain/agent-control.ts";
import type { Clock, Notify } from "../../src/domain/machine.ts";
import type { Driver, PlcPasswords } from "../../src/acquisition/port.ts";
import type { ServiceLink } from "../../src/delivery/port.ts";
import type { ServiceTime } from "../../src/domain/service-time.ts";
import type { RowSizes, StoreBudget } from "../../src/domain/storage.ts";
import { deriveFold } from "../../src/store/facts/fold.ts";
import type { Fold } from "../../src/store/facts/fold.ts";
import { openIdentity } from "../../src/store/identity/identity.ts";
import { inlineIdentity, inlineStore } from "../../simulators/virtual/store.ts";
import { keepStore, StoreRefusal, type KeptStore } from "../../src/store/thread/keeper.ts";
import { boothFor } from "../../simulators/plc/start.ts";
import { findScenario } from "../../simulators/plc/scenarios/all.ts";
import { virtualDriver, virtualLink, type VirtualLink } from "../../simulators/virtual/driver.ts";
import type { Booth } from "../../simulators/plc/model/booth.ts";
import type { Scenario } from "../../simulators/plc/model/scenario.ts";
import { seededRandom } from "./seeded-random.ts";
import { virtualClock, type VirtualClock } from "../../simulators/virtual/clock.ts";
import { ownFigures, collectingLogger, memoryTail, mortalClock, nowAndThen } from "./virtual-parts.ts";
import { PROVISION_KEY, SERIAL, virtualService, type Facility, type VirtualService } from "./virtual-service.ts";

export interface VirtualSiteOptions {
  readonly folder: string;
  /** A scenario's name, or a scenario of the test itself. */
  readonly scenario: string | Scenario;
  /** Default: click-booth. */
  readonly profile?: Profile;
  /** Facts about the facility at the service. Default: the scenario's zone, Monday to Friday 08:00-17:30. */
  readonly facility?: Partial<Facility>;
  readonly seed?: number;
  /** Epoch ms at which the story and the clock start. */
  readonly start: number;
  /** Uptime of the gateway at the start, in ms. Default: 1,000 s. */
  readonly uptime_ms?: number;
  readonly booth?: Partial<BoothConfig>;
  /** The booth has no serial number in its configuration. */
  readonly unnamed?: boolean;
  /** Replaces the virtual service with real sockets, for tests of the wire format. */
  readonly way?: (
    clock: Clock,
    service_time: ServiceTime,
    life: Life,
  ) => { readonly http: HttpClient; readonly link: ServiceLink };
  /** Broker address in the service's records, which may be absent. */
  readonly broker_url?: string;
  /** The maximum number of backlog records a second. */
  readonly backlog_rate?: number;
  /** The smallest backlog that gets a lane of its own. Default: the agent's own. */
  readonly least_backlog?: number;
  /** Sizes of the store's rows. Default: the store's own. */
  readonly sizes?: RowSizes;
  /** Adds this gateway to another site: same clock, booth and service, but its own PLC link and disk. */
  readonly beside?: VirtualSite;
  /** Default: 10 s, as in the agent. A longer interval makes simulated days faster. */
  readonly commit_interval_ms?: number;
  /**
   * Maximum age of the summary after a commit. A summary copies the whole state, and only pages and heartbeats show it.
   */
  readonly summary_interval_ms?: number;
  /** Default: 1 min, as in the agent. */
  readonly heartbeat_interval_ms?: number;
  /** The reason why the configuration's file isn't in use. Default: the file is in use. */
  readonly config_refused?: string;
  /** Called at each connection with the passwords that the driver would have. */
  readonly passwords?: (known: readonly string[]) => void;
  /** Returns the first key. Default: the service's key. */
  readonly first_key?: () => string;
  /** The service manager. Default: not present. */
  readonly notify?: Notify;
  /** Default: the store's own. */
  readonly budget?: StoreBudget;
  /** Changes the setup of each process before it starts. `life.dead` is true after a kill. */
  readonly given?: (parts: AgentSetup, life: Life) => AgentSetup | Promise<AgentSetup>;
  /** The store's fold. Default: the derivation. */
  readonly fold?: Fold;
}

/** A process scans its whole store this long after its start. */
const LOOK_AFTER_MS = 10_000;

/** The life of a process, from its start to its end. */
export interface Life {
  readonly dead: boolean;
}

/** A PLC, an agent and a service in one process under virtual time. The store uses real files. */
export interface VirtualSite {
  readonly clock: VirtualClock;
  readonly booth: Booth;
  readonly plc: VirtualLink;
  readonly service: VirtualService;
  readonly lines: readonly string[];
  /** Starts an agent on the files that the previous agent left. */
  start(): Promise<Agent>;
  /** Returns the control interface of the running agent. */
  control(): AgentControl;
  /** Sends SIGTERM: the agent commits its records and ends. */
  stop(): Promise<void>;
  /** Sends SIGTERM if the caller drives the clock itself. Resolves when the agent has ended. */
  stopping(): Promise<void>;
  /** Simulates kill -9: the agent stops at once; store and tail stay as they are. */
  kill(): void;
  /** Simulates a power cut: like `kill`, and the contents of memory are lost too. */
  cutPower(): void;
  /** Ends all parts at once. */
  close(): void;
}

interface Process {
  readonly stopping: AbortController;
  /** null: the agent is still starting. */
  agent: Agent | null;
  readonly life: { dead: boolean };
  /** Closes the files in order, as after SIGTERM. */
  readonly close: () => void;
  /** Releases the files, as the kernel does after a kill. */
  readonly end: () => void;
}

export function virtualSite(options: VirtualSiteOptions): VirtualSite {
  const scenario = scenarioOf(options.scenario);
  const profile = options.profile ?? findProfile("click-booth");
  const { beside } = options;
  const clock = beside?.clock ?? virtualClock({ wall: options.start, mono: options.uptime_ms ?? 1_000_000 });
  const identity = { plc_serial: SERIAL };
  const booth =
    beside?.booth ?? boothFor({ profile, scenario, seed: options.seed ?? 1, start: options.start, identity });
  const plc = virtualLink();
  // The PLC and the service use true time, whatever the gateway's clock shows.
  const outside = { ...clock, wall: () => clock.truth(), mono: () => clock.mono() };
  const service = beside?.service ?? virtualService(outside, { tz: scenario.tz, ...options.facility });
  const random = seededRandom(options.seed ?? 1);
  const lines: string[] = [];
  const config: BoothConfig = {
    id: "booth-1",
    ...(options.unnamed === true ? {} : { serial: SERIAL }),
    profile: profile.name,
    modbus: { host: "127.0.0.1", port: 502 },
    poll: {},
    bay_count: 1,
    filters: {},
    tz: scenario.tz,
    working_hours: [],
    ...options.booth,
  } as BoothConfig;
  let tailLeft: readonly TakenEntry[] = [];
  let process: Process | null = null;

  const start = async (): Promise<Agent> => {
    const life = { dead: false };
    const stopping = new AbortController();
    const own = mortalClock(clock, life);
    const service_time = createServiceTime();
    service.way.listener = service_time;
    const writer = keepStore({
      dataDir: options.folder,
      ballast_bytes: 0,
      fold: options.fold ?? deriveFold,
      ...(options.budget === undefined ? {} : { budget: options.budget }),
      ...(options.sizes === undefined ? {} : { sizes: options.sizes }),
      uuid: () => random.uuid(),
      now: () => clock.mono(),
      wall: () => clock.wall(),
    });
    void own.sleep(LOOK_AFTER_MS).then(() => {
      if (!life.dead && !stopping.signal.aborted) lookThrough(writer);
    });
    const identityFile = openIdentity(options.folder, () => random.uuid());
    const tail = memoryTail(tailLeft, (left) => {
      if (!life.dead) tailLeft = left;
    });
    const { http, link } = options.way?.(own, service_time, life) ?? service;
    const makeDriver = (passwords: PlcPasswords): Driver => {
      options.passwords?.(passwords());
      return virtualDriver({ booth, profile, clock: { ...own, wall: () => clock.truth() }, link: plc });
    };
    const sealer = openSealer(options.folder);
    const parts: AgentSetup = {
      clock: own,
      random,
      log: collectingLogger(lines),
      notify: options.notify ?? systemdNotify({}),
      store: inlineStore(writer),
      identity: inlineIdentity(identityFile),
      tail,
      service_time,
      version: "0.0.0",
      service_url: "http://service",
      commit_interval_ms: options.commit_interval_ms ?? 10_000,
      heartbeat_interval_ms: options.heartbeat_interval_ms ?? 60_000,
      broker_url: options.broker_url ?? null,
      backlog_rate: options.backlog_rate ?? null,
      least_backlog: options.least_backlog,
      config: () => ({ config_refused: options.config_refused ?? null, needs_restart: [] }),
      summaryOf: nowAndThen(options.summary_interval_ms ?? 0),
      figures: (booth, day, status) => ownFigures(options.folder, booth, day, status),
      secrets: { firstKey: options.first_key ?? (() => PROVISION_KEY), wipeFirstKey: () => null },
      sealer,
      api: createServiceApi({
        http,
        clock: own,
        random,
        service_time,
        sealer,
        agentVersion: "0.0.0",
        hardwareId: "virtual",
      }),
      link,
      booths: [{ config, profile, parameters: parametersOf(profile, config), address: "virtual", makeDriver }],
    };
    const born: Process = {
      stopping,
      agent: null,
      life,
      close: () => writer.close(),
      end: () => {
        writer.abandon();
        identityFile.close();
      },
    };
    process = born;
    const agent = await startAgent((await options.given?.(parts, life)) ?? parts, stopping.signal);
    born.agent = agent;
    agent.finished.catch((error: unknown) => {
      if (!life.dead) lines.push(`FAILED ${String(error)}`);
    });
    return agent;
  };

  const kill = (): void => {
    if (process === null) return;
    process.life.dead = true;
    process.end();
    process = null;
  };
  return {
    clock,
    booth,
    plc,
    service,
    lines,
    start,
    control() {
      if (process === null || process.agent === null) throw new Error("no agent runs");
      return process.agent;
    },
    kill,
    cutPower() {
      kill();
      tailLeft = [];
    },
    async stop() {
      const ended = endOf(process);
      await clock.runUntil(() => ended.yes, 60_000);
      process = null;
    },
    stopping: () => endOf(process).done.then(() => void (process = null)),
    close() {
      kill();
      if (beside === undefined) service.close();
    },
  };
}

/** Scans the store like the store thread, but without pauses. */
function lookThrough(writer: KeptStore): void {
  try {
    while (writer.check());
  } catch (error) {
    if (!(error instanceof StoreRefusal)) throw error;
  }
}

function scenarioOf(given: string | Scenario): Scenario {
  if (typeof given !== "string") return given;
  const scenario = findScenario(given);
  if (scenario === undefined) throw new Error(`no scenario ${given}`);
  return scenario;
}

/** Ends the process as SIGTERM does. */
function endOf(process: Process | null): { readonly yes: boolean; readonly done: Promise<void> } {
  if (process === null || process.agent === null) return { yes: true, done: Promise.resolve() };
  const { stopping, agent, close, end } = process;
  const ended = { yes: false };
  stopping.abort(new Error("stopped"));
  const finish = (): void => {
    close();
    end();
    ended.yes = true;
  };
  const done = agent.finished.then(finish, finish);
  return {
    get yes() {
      return ended.yes;
    },
    done,
  };
}
