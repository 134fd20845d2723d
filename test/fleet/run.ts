import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import type { Account } from "../../simulators/fleet/account.ts";
import { liveLine, lookInto, placeFleet } from "../../simulators/fleet/cli.ts";
import { fleetClock } from "../../simulators/fleet/clock.ts";
import { type FleetState, type RanFleet, runFleet } from "../../simulators/fleet/fleet.ts";
import { storyOf } from "../../simulators/fleet/story.ts";
import { seededSequence } from "../../simulators/network/faults.ts";
import type { AtEnd } from "../support/temporary.ts";
import { freePort } from "../system/mosquitto.ts";
import { mosquittoPart, type Part, postgresPart, servicePart, usageOf } from "./parts.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

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
  readonly ran: RanFleet;
  /** By part: percent of a core during the story, and megabytes at the end. */
  readonly usage: readonly { readonly name: string; readonly cpu_percent: number; readonly mb: number }[];
}

interface Site {
  readonly parts: readonly Part[];
  readonly store: string;
  readonly urls: readonly string[];
}

/** Starts two brokers, PostgreSQL, and two processes of each role of the service on this machine. */
async function startSite({ folder, gateways, atEnd, told }: FleetRun): Promise<Site> {
  const brokers = [await mosquittoPart(folder, "broker-1", atEnd), await mosquittoPart(folder, "broker-2", atEnd)];
  const postgres = await postgresPart(folder, atEnd);
  for (const part of [...brokers, postgres]) await part.start();
  told(`two mosquitto and PostgreSQL run in ${folder}`);
  placeFleet(postgres.url, gateways, ADMIN_KEY);
  told(`${gateways} booths are placed`);
  const ports = [await freePort(), await freePort()];
  const named = brokers.flatMap(({ url }) => ["--broker", url.replace("//", "//service@")]);
  const role = (name: string, argv: readonly string[]): Part => {
    // PostgreSQL shows this name for the service's connections.
    const store = `${postgres.url}?application_name=${name}`;
    const kind = name.replace(/-.*/, "");
    const more = kind === "figures" ? argv : [...named, ...argv];
    return servicePart(name, ["--role", kind, "--store", store, ...more], { atEnd });
  };
  const workers = ["ingest-1", "ingest-2"].map((name) => role(name, []));
  const figures = ["figures-1", "figures-2"].map((name) => role(name, []));
  const http = ports.map((port, index) => role(`http-${index + 1}`, ["--port", port.toString()]));
  const roles = [...workers, ...figures, ...http];
  await Promise.all(roles.map((part) => part.start()));
  told("two each of ingest, figures and HTTP are ready");
  return {
    parts: [...brokers, postgres, ...roles],
    store: postgres.url,
    urls: ports.map((port) => `http://127.0.0.1:${port}`),
  };
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
  let isWarm = false;
  const show = (state: FleetState): void => {
    if (state.passed_ms > 0) killing.begin();
    if (!isWarm && state.passed_ms >= warm_up_ms) {
      isWarm = true;
      used.begin();
    }
    run.told(`${liveLine(state)}  kills ${killing.count()}`);
  };
  const clock = fleetClock(speed);
  let usage: FleetResult["usage"] = [];
  const [url = ""] = site.urls;
  const ran = await runFleet({
    url,
    clock,
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
    },
  });
  await killing.end();
  const look = await lookInto(site.store);
  let account: Awaited<ReturnType<typeof ran.account>>;
  try {
    account = await ran.account(look, Math.ceil(gateways / MAX_COMPARED));
  } finally {
    await look.close();
  }
  const { lost, doubled } = account;
  const { meter } = ran;
  const ack_p99_ms = meter.all.quantile(0.99);
  return { gateways, batches: meter.acked, kills: killing.count(), lost, doubled, ack_p99_ms, account, ran, usage };
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
