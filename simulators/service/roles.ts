import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import { faultPlan } from "./faults/faults.ts";
import { openDb } from "./storage/open.ts";
import { startEvaluator } from "./events/evaluator.ts";
import type { Service } from "./http/operation.ts";
import { buildHttp } from "./serve.ts";
import type { RunningBroker } from "./mqtt/deliver.ts";
import { startHttpBackend } from "./mqtt/http-backend.ts";
import { SERVICE_USER } from "./mqtt/users.ts";
import { joinBrokers } from "./mqtt/external.ts";
import type { Downlink } from "./ingest/uplink.ts";
import { type Reports, reportsThreads } from "./reports/reports.ts";
import { OPERATIONS } from "./resources/table.ts";
import type { Uplinks } from "./storage/port.ts";
import { startFigures } from "./fleet/figures.ts";
import { watchFleet } from "./fleet/watch.ts";
import { startIngest } from "./fleet/ingest.ts";
import { settingsOf } from "./storage/postgres/settings.ts";
import { startVitals, type Vital } from "./vitals.ts";
import { errorMessage } from "../../src/domain/error-message.ts";

/** The roles of a fleet's service. Each may run in many processes, on as many machines. */
export const ROLES = ["http", "ingest", "figures"] as const;
export type Role = (typeof ROLES)[number];

/**
 * Threads that wait for PostgreSQL, by role. HTTP has many requests; ingest and figures need few statements of this
 * kind.
 */
const THREADS: Readonly<Record<Role, number>> = { http: 4, ingest: 2, figures: 1 };
/** Interval at which the store is asked whether it answers. */
const LOOK_MS = 2_000;
/** Database lock of the one figures process that evaluates events and alerts. */
const EVALUATOR_LOCK = 7_021_966;
const LEAD_AGAIN_MS = 5_000;
/** Longer than two checks of config/fleet/haproxy.cfg, one second apart. */
const LINGER_MS = 4_000;

export interface RoleOptions {
  readonly role: Role;
  /** postgres:// */
  readonly store: string;
  /** Brokers for this process. Required for ingest. */
  readonly brokers: readonly string[];
  readonly brokerPassword?: string | undefined;
  /** Brokers for gateways; each gateway gets one of them. */
  readonly gatewayBrokers: readonly string[];
  readonly host: string;
  /** Addresses and networks of proxies whose X-Forwarded-For is believed. */
  readonly trustedProxies?: readonly string[] | undefined;
  /** Port of HTTP. */
  readonly port: number;
  /** Port of /live, /ready and /metrics; 0: any free port. */
  readonly vitalsPort: number;
  /** Port of RabbitMQ's HTTP backend, served by the HTTP role; absent: not served. */
  readonly brokerAuthPort?: number | undefined;
  /** Retention of records, by the figures role; absent: all are kept. */
  readonly keepDays?: number | undefined;
  /** Folder of the mails. */
  readonly dataDir: string;
  readonly clock: { wall(): number };
  readonly log?: ((line: string) => void) | undefined;
}

export interface RunningRole {
  /** URL of HTTP; "": not served. */
  readonly url: string;
  readonly vitalsUrl: string;
  /** Accepts no new work, finishes the present work, then ends. */
  readonly stop: () => Promise<void>;
}

interface Parts {
  readonly options: RoleOptions;
  readonly service: Service;
  readonly reports: Reports;
  /** Functions that stop the parts, the last one first. */
  readonly started: (() => Promise<unknown>)[];
  readonly vitals: Vital[];
}

/** Starts a role on PostgreSQL. Rejects if the database, all brokers, or a port are not available. */
export async function startRole(options: RoleOptions): Promise<RunningRole> {
  const { role, store, dataDir, clock, host, vitalsPort } = options;
  const db = openDb(store, dataDir);
  const service: Service = {
    db,
    plain: false,
    strict: false,
    now: () => clock.wall(),
    mqttUrl: () => options.gatewayBrokers.join(" "),
  };
  const reports = reportsThreads(service, { where: store, folder: dataDir }, THREADS[role]);
  const closed = (): Promise<void> => {
    db.close();
    return Promise.resolve();
  };
  const started = [closed, reports.stop];
  const parts: Parts = { options, service, reports, started, vitals: [] };
  const stop = async (): Promise<void> => {
    for (const end of started.splice(0).reverse()) await end();
  };
  try {
    watchStore(parts);
    const url = await START[role](parts);
    const vitals = await startVitals(parts.vitals, { port: vitalsPort, host });
    const stopAll = async (): Promise<void> => {
      // Until the load balancer has noticed, HTTP serves as before: a refused connection is a 502 or a 503 for a user.
      if (vitals.drain() && role === "http") await sleep(LINGER_MS);
      await stop();
      await vitals.stop();
    };
    return { url, vitalsUrl: vitals.url, stop: stopAll };
  } catch (cause) {
    await stop();
    throw cause;
  }
}

/** Starts each role. Resolves with the URL of HTTP; "": not served. */
const START: Readonly<Record<Role, (parts: Parts) => Promise<string>>> = {
  http: startHttp,
  ingest: startWorker,
  figures: startFolding,
};

async function startHttp({ options, service, reports, started }: Parts): Promise<string> {
  const { host, port, trustedProxies, log, brokerAuthPort, brokerPassword = "" } = options;
  if (brokerAuthPort !== undefined) {
    const callerOf = (key: string) => reports.callerOf(key, service.now());
    const own = { name: SERVICE_USER, password: brokerPassword };
    const backend = await startHttpBackend({ callerOf, service: own, host, port: brokerAuthPort, log });
    started.push(backend.stop);
  }
  const app = buildHttp({ service, operations: OPERATIONS, reports, faults: faultPlan(), trustedProxies, log });
  started.push(() => app.close());
  await app.listen({ host, port });
  return `http://${host}:${(app.server.address() as AddressInfo).port}`;
}

async function startWorker({ options, service, reports, started, vitals }: Parts): Promise<string> {
  const { store, brokers, brokerPassword: password, log } = options;
  const ingest = startIngest({ url: store, alone: reports.uplink });
  started.push(ingest.stop);
  const { uplinks, vital } = counted(ingest);
  const faults = faultPlan();
  const joined = await joinBrokers(brokers, { service, faults, uplinks, password, log, isShared: true });
  started.push(joined.stop);
  vitals.push(vital, brokerVital(joined));
  return "";
}

/** Starts the computation of facts, events and alerts. */
function startFolding(parts: Parts): Promise<string> {
  const { options, reports, started, vitals } = parts;
  started.push(startFigures({ url: options.store, keep_days: options.keepDays, log: options.log }).stop);
  const leading = lead(options.store, () => startEvaluator(reports, options.log));
  started.push(leading.stop);
  const watching = watchFleet(options.store, () => options.clock.wall());
  started.push(watching.stop);
  vitals.push({ metrics: () => ({ booth_service_evaluates: leading.leads() ? 1 : 0 }) }, { metrics: watching.metrics });
  return Promise.resolve("");
}

function brokerVital(broker: RunningBroker): Vital {
  const isJoined = (): boolean => broker.joined();
  return {
    trouble: () => (isJoined() ? "" : "no broker is joined"),
    metrics: () => ({ booth_service_broker_joined: isJoined() ? 1 : 0 }),
  };
}

/** Counts the uplink messages and their results. */
function counted(uplinks: Uplinks<Downlink>): { readonly uplinks: Uplinks<Downlink>; readonly vital: Vital } {
  const counts = new Map<string, number>();
  const add = (name: string, by = 1): void => void counts.set(name, (counts.get(name) ?? 0) + by);
  const take: Uplinks<Downlink>["take"] = async (uplink) => {
    const began = performance.now();
    add(`booth_service_uplinks_total{topic="${uplink.topic}"}`);
    try {
      const downlink = await uplinks.take(uplink);
      if (downlink.ack !== undefined) add(`booth_service_acks_total{error="${downlink.ack.error ?? ""}"}`);
      return downlink;
    } catch (error) {
      add("booth_service_uplinks_failed_total");
      throw error;
    } finally {
      add("booth_service_uplink_seconds_total", (performance.now() - began) / 1_000);
    }
  };
  const metrics = (): Record<string, number> => ({
    booth_service_uplinks_waiting: uplinks.waiting(),
    ...Object.fromEntries([...counts].sort(([one], [other]) => (one < other ? -1 : 1))),
  });
  return { uplinks: { ...uplinks, take }, vital: { metrics } };
}

/** Asks the store regularly whether it answers, independent of requests. */
function watchStore({ options, reports, started, vitals }: Parts): void {
  const ending = new AbortController();
  let trouble = "the store hasn't answered yet";
  const look = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      trouble = await Promise.resolve(reports.callerOf("-", options.clock.wall())).then(
        () => "",
        (error: unknown) => `the store doesn't answer: ${errorMessage(error)}`,
      );
      await sleep(LOOK_MS, undefined, { signal: ending.signal, ref: false }).catch(() => undefined);
    }
  };
  const looking = look();
  started.push(() => {
    ending.abort();
    return looking;
  });
  vitals.push({ trouble: () => trouble, metrics: () => ({ booth_service_store_up: trouble === "" ? 1 : 0 }) });
}

/** Runs work in only one of several processes: the one that has a lock of the database while its connection is open. */
function lead(
  store: string,
  act: () => { readonly stop: () => Promise<void> },
): { readonly leads: () => boolean; readonly stop: () => Promise<void> } {
  const ending = new AbortController();
  let leads = false;
  const once = async (): Promise<void> => {
    const client = new Client(settingsOf(store));
    const lost = new Promise<void>((resolve) => client.once("end", resolve));
    client.on("error", () => undefined);
    try {
      await client.connect();
      const { rows } = await client.query<{ ours: string }>("SELECT pg_try_advisory_lock($1)::text AS ours", [
        EVALUATOR_LOCK,
      ]);
      if (rows[0]?.ours !== "true") return;
      leads = true;
      const acting = act();
      const ended = new Promise<void>((resolve) => ending.signal.addEventListener("abort", () => resolve()));
      await Promise.race([lost, ended]);
      await acting.stop();
    } catch {
      // The store can't be reached; its own monitoring reports that.
    } finally {
      leads = false;
      await client.end().catch(() => undefined);
    }
  };
  const leading = (async () => {
    while (!ending.signal.aborted) {
      await once();
      await sleep(LEAD_AGAIN_MS, undefined, { signal: ending.signal, ref: false }).catch(() => undefined);
    }
  })();
  return {
    leads: () => leads,
    stop() {
      ending.abort();
      return leading;
    },
  };
}
