import type { AddressInfo } from "node:net";
import type { FastifyInstance } from "fastify";
import { faultPlan, type FaultPlan } from "./faults/faults.ts";
import { oracle, type OracleStream } from "./admin/oracle.ts";
import { buildAdmin } from "./admin/server.ts";
import { type Db } from "./storage/db.ts";
import { isPostgres, openDb } from "./storage/open.ts";
import { startEvaluator } from "./events/evaluator.ts";
import type { Service } from "./http/operation.ts";
import { buildHttp } from "./serve.ts";
import { startBroker } from "./mqtt/broker.ts";
import type { RunningBroker } from "./mqtt/deliver.ts";
import { startHttpBackend } from "./mqtt/http-backend.ts";
import { SERVICE_USER } from "./mqtt/users.ts";
import { joinBrokers } from "./mqtt/external.ts";
import { type Downlink, uplinksHere } from "./ingest/uplink.ts";
import { type Place, type Reports, reportsHere, reportsThread, reportsThreads } from "./reports/reports.ts";
import { OPERATIONS } from "./resources/table.ts";
import type { Uplinks } from "./storage/port.ts";
import { startIngest } from "./fleet/ingest.ts";

const HOST = "127.0.0.1";
/** Threads that answer from PostgreSQL, each with its own connection. */
const POSTGRES_THREADS = 4;

interface ServiceOptions {
  /** Folder of the database and of mails, created if necessary. ":memory:" stores nothing. */
  readonly dataDir: string;
  /** postgres:// URL of a database that replaces the folder's. */
  readonly store?: string | undefined;
  /** 0: any free port. */
  readonly port: number;
  readonly mqttPort: number;
  /** Existing brokers that replace the service's own. */
  readonly broker?: { readonly urls: readonly string[]; readonly password?: string | undefined };
  /** Port of RabbitMQ's HTTP backend; absent: not served. */
  readonly brokerAuthPort?: number | undefined;
  /** Absent: no admin port. */
  readonly adminPort?: number;
  readonly clock: { wall(): number };
  /**
   * Offers only the interface document and what was observed: no generation, no acks. strict: also rejects everything
   * that it may reject.
   */
  readonly plain?: boolean | "strict";
  /** Addresses and networks of proxies whose X-Forwarded-For is believed. */
  readonly trustedProxies?: readonly string[] | undefined;
  /** Called with a line per notable event, without secrets. */
  readonly log?: (line: string) => void;
}

export interface RunningService {
  /** Base of /api. */
  readonly url: string;
  readonly mqttUrl: string;
  /** "" without an admin port. */
  readonly adminUrl: string;
  readonly db: Db;
  readonly service: Service;
  readonly faults: FaultPlan;
  readonly oracle: () => OracleStream[];
  /** Publishes on a gateway's down/cmd. */
  readonly send: RunningBroker["send"];
  readonly disconnect: RunningBroker["disconnect"];
  readonly joined: RunningBroker["joined"];
  readonly stop: () => Promise<void>;
}

/** Starts the reference service on loopback. Rejects if a port is occupied or the folder can't be written. */
export async function startService(options: ServiceOptions): Promise<RunningService> {
  const place = placeOf(options);
  const db = openDb(place.where, place.folder);
  const started: (() => Promise<unknown>)[] = [];
  const stop = async (): Promise<void> => {
    for (const end of started.splice(0).reverse()) await end();
    if (db.open) db.close();
  };
  try {
    return await startParts(options, { db, place, started, stop });
  } catch (cause) {
    await stop();
    throw cause;
  }
}

function placeOf({ store, dataDir }: ServiceOptions): Place {
  if (store === undefined) return { where: dataDir, folder: undefined };
  if (!isPostgres(store)) throw new Error(`the store is no postgres:// URL: ${store}`);
  return { where: store, folder: dataDir === ":memory:" ? undefined : dataDir };
}

/** Returns the parts that answer requests and take messages in, as the store allows. */
function storeParts(service: Service, place: Place): { reports: Reports; uplinks: Uplinks<Downlink> } {
  if (isPostgres(place.where)) {
    const reports = reportsThreads(service, place, POSTGRES_THREADS);
    return { reports, uplinks: startIngest({ url: place.where, alone: reports.uplink }) };
  }
  const { db } = service;
  const reports = place.where === ":memory:" ? reportsHere(service) : reportsThread(service, place.where);
  return { reports, uplinks: uplinksHere(db) };
}

interface Parts {
  readonly db: Db;
  readonly place: Place;
  readonly started: (() => Promise<unknown>)[];
  readonly stop: () => Promise<void>;
}

async function startParts(options: ServiceOptions, { db, place, started, stop }: Parts): Promise<RunningService> {
  const faults = faultPlan();
  let mqttUrl = "";
  const service: Service = {
    db,
    now: () => options.clock.wall(),
    mqttUrl: () => mqttUrl,
    plain: options.plain !== undefined && options.plain !== false,
    strict: options.plain === "strict",
  };
  const { log } = options;
  const { reports, uplinks } = storeParts(service, place);
  started.push(reports.stop, uplinks.stop);
  const { callerOf } = reports;
  if (options.brokerAuthPort !== undefined) {
    const own = { name: SERVICE_USER, password: options.broker?.password ?? "" };
    const asked = { callerOf: (key: string) => callerOf(key, service.now()), service: own };
    // The broker asks already when the service itself joins it.
    started.push((await startHttpBackend({ ...asked, host: HOST, port: options.brokerAuthPort, log })).stop);
  }
  const broker =
    options.broker === undefined
      ? await startBroker({ service, faults, uplinks, callerOf, port: options.mqttPort, log })
      : await joinBrokers(options.broker.urls, { service, faults, uplinks, password: options.broker.password, log });
  started.push(broker.stop);
  mqttUrl = broker.url;
  started.push(startEvaluator(reports, log).stop);
  const { trustedProxies } = options;
  const url = await listen(buildHttp({ service, operations: OPERATIONS, reports, faults, trustedProxies, log }), {
    port: options.port,
    started,
  });
  const admin = { service, faults, broker };
  const adminUrl =
    options.adminPort === undefined ? "" : await listen(buildAdmin(admin), { port: options.adminPort, started });
  log?.(`service ${url}, broker ${mqttUrl}`);
  const { send, disconnect, joined } = broker;
  return { url, mqttUrl, adminUrl, db, service, faults, oracle: () => oracle(db), send, disconnect, joined, stop };
}

async function listen(
  app: FastifyInstance,
  { port, started }: { port: number; started: (() => Promise<unknown>)[] },
): Promise<string> {
  started.push(() => app.close());
  await app.listen({ host: HOST, port });
  return `http://${HOST}:${(app.server.address() as AddressInfo).port}`;
}
