import { statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { tcpProxy, type TcpProxy } from "../../simulators/network/tcp-proxy.ts";
import { drain, isSameAtService } from "../support/delivered.ts";
import { memoryOf, openFilesOf } from "../support/process-figures.ts";
import { realSite, SERIAL, type RealSite } from "../support/real-site.ts";
import { seededRandom } from "../support/seeded-random.ts";
import type { AtEnd } from "../support/temporary.ts";
import { soakFaults, strike, type Lines } from "./faults.ts";
import { heapWatch, type HeapWatch } from "./heap.ts";
import { trendOf, troubles, type Look, type Trend } from "./fit.ts";

export interface SoakOptions {
  /** Time in which faults are injected and the agent is measured. */
  readonly seconds: number;
  /** Simulated seconds per second. */
  readonly speed: number;
  readonly seed: number;
  readonly atEnd: AtEnd;
  readonly onLook?: (look: Look, struck: number) => void;
}

export interface SoakResult {
  readonly options: Pick<SoakOptions, "seconds" | "speed" | "seed">;
  readonly looks: readonly Look[];
  readonly trend: Trend;
  /** Number of times that each fault started. */
  readonly struck: ReadonlyMap<string, number>;
  readonly polls: number;
  readonly records: number;
  /** Number of records that the gateway has and the service lacks. */
  readonly lost: number;
  /** Number of rows that the service has in addition to the gateway's. */
  readonly doubled: number;
  /** Failures as sentences; empty: the run passed. */
  readonly troubles: readonly string[];
}

/** With a thirteenth of a core the start took 25 s, nearly all of it for loading the agent. */
const STARTS_WITHIN_MS = 180_000;
const LAST_LINES = 20;
/** Maximum number of measurements. Each of them collects garbage, so that only live memory is measured. */
const MOST_LOOKS = 240;
const SHORTEST_LOOK_MS = 1_000;

/**
 * Runs the real agent as a process that polls and delivers over failing connections. Then checks whether all records
 * arrived.
 */
export async function soak(options: SoakOptions): Promise<SoakResult> {
  const { site, lines } = await siteWithLines(options);
  const agent = site.startAgent();
  const heap = await heapWatch(await agent.line(/Debugger listening/));
  options.atEnd(() => heap.close());
  // Waits for a log line, because hundreds of status requests a second would load a slow machine.
  await agent.line(/first records acked/, STARTS_WITHIN_MS).catch((cause: unknown) => {
    throw new Error(`no record was delivered; the agent said:\n${agent.lines.slice(-LAST_LINES).join("\n")}`, {
      cause,
    });
  });
  const counts = new Map<string, number>();
  const looks: Look[] = [];
  const over = new AbortController();
  const wait = (ms: number): Promise<void> => delay(ms, undefined, { signal: over.signal });
  const striking = strike({
    faults: soakFaults(site, lines),
    random: seededRandom(options.seed),
    wait,
    counts,
    mended: () => brokerThrough(site, lines.mqtt),
  }).catch(unlessOver(over.signal));
  try {
    await watch({ site, heap, pid: agent.pid, options }, (look) => {
      looks.push(look);
      options.onLook?.(look, sum(counts));
    });
  } finally {
    over.abort();
    await striking;
  }
  const survived = agent.isRunning();
  // A Node process with an attached inspector doesn't exit until the inspector is gone.
  heap.close();
  agent.signal("SIGTERM");
  const code = await agent.ended;
  await site.plc.offline();
  const own = await drain(site);
  const streams = site.service.oracle();
  const held = streams.reduce((all, { count }) => all + count, 0);
  const isSame = isSameAtService(site, own);
  const trend = trendOf(looks);
  const lost = Math.max(0, own.records.length - held);
  const doubled = Math.max(0, held - own.records.length);
  return {
    options,
    looks,
    trend,
    struck: counts,
    polls: site.plc.counts.requests,
    records: own.records.length,
    lost,
    doubled,
    troubles: [
      ...troubles(trend),
      ...(survived && code === 0 ? [] : [`the agent ended with ${code.toString()}`]),
      ...(lost + doubled === 0 ? [] : [`${lost} records lost, ${doubled} doubled`]),
      ...(isSame && streams.length === 1 ? [] : ["the service's records aren't the agent's"]),
    ],
  };
}

async function siteWithLines({ speed, atEnd }: SoakOptions): Promise<{ site: RealSite; lines: Lines }> {
  const proxies: Partial<Record<"plc" | "service", TcpProxy>> = {};
  const line = async (port: number): Promise<TcpProxy> => {
    const proxy = await tcpProxy({ target: { port } });
    atEnd(() => proxy.close());
    return proxy;
  };
  const site = await realSite({
    speed,
    serial: SERIAL,
    scenario: "busy-day",
    node: ["--inspect=127.0.0.1:0"],
    atEnd,
    through: async (port, peer) => {
      const proxy = await line(port);
      proxies[peer] = proxy;
      return proxy.port;
    },
  });
  const mqtt = await line(Number(new URL(site.service.mqttUrl).port));
  const { plc, service: http } = proxies;
  if (plc === undefined || http === undefined) throw new Error("the site was built without its lines");
  brokerThrough(site, mqtt);
  return { site, lines: { plc, http, mqtt } };
}

/** Gives the agent the proxy's address instead of the service's own broker. */
function brokerThrough(site: RealSite, { port }: TcpProxy): void {
  Object.assign(site.service.service, { mqttUrl: () => `mqtt://127.0.0.1:${port}` });
}

function unlessOver(signal: AbortSignal): (error: unknown) => void {
  return (error) => {
    if (!signal.aborted) throw error;
  };
}

interface Watched {
  readonly site: RealSite;
  readonly heap: HeapWatch;
  readonly pid: number;
  readonly options: SoakOptions;
}

async function watch({ site, heap, pid, options }: Watched, tell: (look: Look) => void): Promise<void> {
  const begun = performance.now();
  const every_ms = Math.max(SHORTEST_LOOK_MS, (options.seconds * 1_000) / MOST_LOOKS);
  for (let at_s = 0; at_s < options.seconds; at_s = (performance.now() - begun) / 1_000) {
    const status = await site.status();
    const log = status?.booths[0]?.log;
    tell({
      at_s,
      live_mb: await heap.live(),
      ...memoryOf(pid),
      files: openFilesOf(pid),
      wal_mb: statSync(join(site.dataDir, "store.db-wal")).size / 1_000_000,
      backlog: log === undefined ? 0 : log.newest_seq - log.acked_seq,
    });
    await delay(every_ms);
  }
}

function sum(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((all, count) => all + count, 0);
}
