import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import type { Account } from "../../simulators/fleet/account.ts";
import { liveLine, placeFleet } from "../../simulators/fleet/cli.ts";
import type { FleetFigures, FleetState } from "../../simulators/fleet/fleet.ts";
import { storyOf } from "../../simulators/fleet/story.ts";
import { runFleetInThreads } from "../../simulators/fleet/threads.ts";
import { seededSequence } from "../../simulators/network/faults.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";
import type { AtEnd } from "../support/temporary.ts";
import { testAuthority } from "../support/tls-files.ts";
import { freePort } from "../system/mosquitto.ts";
import { haproxyPart } from "./haproxy.ts";
import { type Part, postgresPart, servicePart, usageOf } from "./parts.ts";
import { BROKER_PASSWORD, shippedMosquitto } from "./shipped-brokers.ts";

const ADMIN_KEY = "fleet-admin";
/** Maximum time for which a killed part stays down: as long as a service manager takes to restart it. */
const AWAY_MS = 2_000;
/** Maximum number of booths whose records are compared one by one. */
const MAX_COMPARED = 200;

export interface FleetRun {
  readonly folder: string;
  readonly gateways: number;
  /** Length of the story in the fleet's time. */
  readonly minutes: number;
  readonly seed: number;
  readonly speed: number;
  /** Start of the measurement of CPU and memory, in the fleet's time. */
  readonly warm_up_minutes?: number;
  /** Real time between two kills; null: no kills. */
  readonly kill_every_ms: number | null;
  /** Length of the outage of all gateways in the fleet's time. */
  readonly outage_minutes: number;
  readonly outage_pace?: number;
  readonly calm?: boolean;
  /** Gateways reach brokers and HTTP through HAProxy. */
  readonly proxy?: boolean;
  /** Time of the restart of a broker, in the fleet's time. Absent: none. */
  readonly restart_minutes?: number | undefined;
  /** Threads of the generator. */
  readonly threads: number;
  readonly drain_ms: number;
  readonly hasten?: number;
  readonly atEnd: AtEnd;
  readonly told: (line: string) => void;
  readonly signal: AbortSignal;
}

export interface FleetResult {
  readonly gateways: number;
  readonly batches: number;
  readonly kills: number;
  readonly lost: number;
  readonly doubled: number;
  readonly ack_p99_ms: number;
  readonly account: Account;
  readonly ran: FleetFigures;
  /** Real seconds from a broker's restart until every gateway had a session; null: not reached, or no restart. */
  readonly back_s: number | null;
  /** By part: percent of a core during the story, and megabytes at the end. */
  readonly usage: readonly { readonly name: string; readonly cpu_percent: number; readonly mb: number }[];
}

interface Site {
  readonly parts: readonly Part[];
  readonly brokers: readonly Part[];
  readonly store: string;
  readonly url: string;
  readonly ca: string;
}

/**
 * Starts two brokers with the shipped configuration and TLS, the commands that keep their users, PostgreSQL, two
 * processes of each role of the service, and, if wanted, HAProxy.
 */
async function startSite({ folder, gateways, proxy = false, signal, atEnd, told }: FleetRun): Promise<Site> {
  const postgres = await postgresPart(folder, atEnd);
  const authority = testAuthority(folder, "authority");
  const made = { folder, authority, atEnd };
  const brokers = [
    await shippedMosquitto({ ...made, name: "broker-1" }),
    await shippedMosquitto({ ...made, name: "broker-2" }),
  ];
  await postgres.start();
  placeFleet(postgres.url, gateways, ADMIN_KEY);
  told(`${gateways} booths are placed in PostgreSQL`);
  const users = brokers.map((broker) => broker.usersOf(["--store", postgres.url]));
  // A broker needs its file of users.
  for (const part of [...users, ...brokers]) await startUnless(signal, part);
  told(`two mosquitto with TLS run in ${folder}`);
  const http = await Promise.all([1, 2].map(async () => ({ port: await freePort(), vitals: await freePort() })));
  const ports = brokers.map(({ url }) => Number(new URL(url).port));
  const haproxy = proxy ? await haproxyPart({ ...made, brokers: ports, http }) : null;
  const named = brokers.flatMap(({ url }) => ["--broker", url.replace("//", "//service@")]);
  const gatewaysTo = haproxy === null ? brokers.map(({ url }) => url) : [haproxy.brokers];
  const env = { BROKER_PASSWORD, NODE_EXTRA_CA_CERTS: authority.ca_file };
  const role = (name: string, argv: readonly string[]): Part => {
    // PostgreSQL shows this name for the service's connections.
    const store = `${postgres.url}?application_name=${name}`;
    return servicePart(name, ["--role", name.replace(/-.*/, ""), "--store", store, ...argv], { atEnd, env });
  };
  const roles = [
    ...["ingest-1", "ingest-2"].map((name) => role(name, named)),
    ...["figures-1", "figures-2"].map((name) => role(name, [])),
    ...http.map(({ port, vitals }, nth) => {
      const own = ["--port", port.toString(), "--vitals-port", vitals.toString()];
      return role(`http-${nth + 1}`, [...own, ...gatewaysTo.flatMap((url) => ["--gateways-to", url])]);
    }),
  ];
  await Promise.all([...roles, ...(haproxy === null ? [] : [haproxy])].map((part) => startUnless(signal, part)));
  told(`two each of ingest, figures and HTTP are ready${haproxy === null ? "" : ", behind HAProxy"}`);
  const parts = [...brokers, ...users, postgres, ...roles, ...(haproxy === null ? [] : [haproxy])];
  const url = haproxy?.service ?? `http://127.0.0.1:${http[0]?.port ?? 0}`;
  return { parts, brokers, store: postgres.url, url, ca: authority.ca };
}

async function startUnless(signal: AbortSignal, part: Part): Promise<void> {
  signal.throwIfAborted();
  await part.start();
}

/** Plays a fleet's story at a service on real engines while its parts are killed, and then counts all records. */
export async function rideFleet(run: FleetRun): Promise<FleetResult> {
  const site = await startSite(run);
  const { gateways, seed, speed, calm = false } = run;
  const length_ms = run.minutes * MINUTE_MS;
  const told = storyOf({ seed, gateways, length_ms, outage_ms: run.outage_minutes * MINUTE_MS });
  const story = calm ? told.filter(({ kind }) => kind === "outage") : told;
  const killing = killer(run, site);
  const used = measure(site);
  const warm_up_ms = (run.warm_up_minutes ?? 0) * MINUTE_MS;
  const restart = restartOf(run, site);
  let isWarm = false;
  const show = (state: FleetState): void => {
    if (state.passed_ms > 0) killing.begin();
    if (!isWarm && state.passed_ms >= warm_up_ms) {
      isWarm = true;
      used.begin();
    }
    restart.look(state);
    run.told(`${liveLine(state)}  kills ${killing.count()}`);
  };
  let usage: FleetResult["usage"] = [];
  const ran = await runFleetInThreads(run.threads, {
    url: site.url,
    ca: site.ca,
    speed,
    story,
    length_ms,
    show,
    gateways,
    seed,
    booths_per: 1,
    key: ADMIN_KEY,
    drain_ms: run.drain_ms,
    ...(run.hasten === undefined ? {} : { hasten: run.hasten }),
    ...(run.outage_pace === undefined ? {} : { outage_pace: run.outage_pace }),
    signal: run.signal,
    told: run.told,
    async draining() {
      usage = await used.end();
      await killing.end();
      await restart.done();
    },
  });
  await killing.end();
  run.signal.throwIfAborted();
  const account = await ran.account(site.store, Math.ceil(gateways / MAX_COMPARED));
  const { lost, doubled } = account;
  const { meter } = ran;
  const ack_p99_ms = meter.all.quantile(0.99);
  const back_s = restart.back_s();
  return {
    gateways,
    batches: meter.acked,
    kills: killing.count(),
    lost,
    doubled,
    ack_p99_ms,
    back_s,
    account,
    ran,
    usage,
  };
}

/** Restarts the first broker once, and measures the time until every gateway has a session again. */
function restartOf({ restart_minutes, gateways, told }: FleetRun, { brokers }: Site) {
  let restarting: Promise<void> | null = null;
  let began: number | null = null;
  let wasAway = false;
  let back_s: number | null = null;
  const restart = async (broker: Part): Promise<void> => {
    told(`kill -9 ${broker.name}, which starts again at once`);
    await broker.kill();
    began = performance.now();
    await broker.start();
  };
  return {
    look({ passed_ms, connected }: FleetState): void {
      const [broker] = brokers;
      if (restart_minutes === undefined || broker === undefined) return;
      if (restarting === null && passed_ms >= restart_minutes * MINUTE_MS) restarting = restart(broker);
      if (began === null || back_s !== null) return;
      wasAway ||= connected < gateways;
      if (!wasAway || connected < gateways) return;
      back_s = Math.round((performance.now() - began) / 100) / 10;
      told(`all ${gateways} gateways are back ${back_s} s after the restart of a broker`);
    },
    back_s: () => back_s,
    done: async (): Promise<void> => void (await restarting),
  };
}

/** Kills a running part each time, chosen by the seed, and restarts it some time later. */
function killer({ kill_every_ms, seed, told }: FleetRun, { parts }: Site) {
  const next = seededSequence(seed);
  const stopping = new AbortController();
  const away = new Map<Part, Promise<void>>();
  let count = 0;
  let killing = null as Promise<void> | null;
  const strike = async (part: Part): Promise<void> => {
    await part.kill();
    await sleep(next() * AWAY_MS);
    await part.start();
    away.delete(part);
  };
  const go = async (every_ms: number): Promise<void> => {
    for (;;) {
      await sleep(every_ms, undefined, { signal: stopping.signal }).catch(() => undefined);
      const standing = parts.filter((part) => !away.has(part));
      const part = standing[Math.floor(next() * standing.length)];
      if (stopping.signal.aborted || part === undefined) break;
      told(`kill -9 ${part.name}`);
      count += 1;
      away.set(part, strike(part));
    }
    await Promise.all(away.values());
  };
  return {
    begin: (): void => void (kill_every_ms !== null && (killing ??= go(kill_every_ms))),
    async end(): Promise<void> {
      stopping.abort();
      await killing;
    },
    count: () => count,
  };
}

/**
 * Returns the CPU seconds of the figures workers' connections in PostgreSQL. These are also part of PostgreSQL's own
 * sum.
 */
async function figuresInPostgres(store: string): Promise<number> {
  const client = new Client({ connectionString: store });
  try {
    await client.connect();
    const sql = "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'figures%'";
    const { rows } = await client.query<{ pid: number }>(sql);
    return rows.reduce((sum, { pid }) => sum + usageOf(pid).cpu_s, 0);
  } catch {
    // PostgreSQL was just killed.
    return 0;
  } finally {
    await client.end().catch(() => undefined);
  }
}

function measure({ parts, store }: Site) {
  const own = (): number => (process.cpuUsage().user + process.cpuUsage().system) / 1_000_000;
  const look = async () => ({
    at: performance.now(),
    parts: parts.map((part) => part.cpu()),
    own: own(),
    figures: await figuresInPostgres(store),
  });
  let before = look();
  return {
    begin: (): void => void (before = look()),
    async end(): Promise<FleetResult["usage"]> {
      const was = await before;
      const is = await look();
      const percent = (cpu_s: number): number => Math.round((cpu_s / (is.at - was.at)) * 1_000_000) / 10;
      const mb = (bytes: number): number => Math.round(bytes / 1_000_000);
      const of = (name: string, cpu_s: number, bytes: number) => ({ name, cpu_percent: percent(cpu_s), mb: mb(bytes) });
      return [
        ...parts.map((part, nth) => of(part.name, (is.parts[nth] ?? 0) - (was.parts[nth] ?? 0), part.memory())),
        of("generator", is.own - was.own, process.memoryUsage.rss()),
        of("of postgres, for figures", Math.max(0, is.figures - was.figures), 0),
      ];
    },
  };
}
