import type { AddressInfo } from "node:net";
import { createServer } from "node:http";

const HOST = "127.0.0.1";
/** Load balancers ask every few seconds. */
const LATELY_MS = 30_000;

/** State and metrics of a part of the service. */
export interface Vital {
  /** Reason why the process isn't ready; "": it is ready. */
  readonly trouble?: () => string;
  /**
   * Returns Prometheus metrics by name and labels: `name{label="x"}`. A metric whose name ends in _total never
   * decreases.
   */
  readonly metrics?: () => Readonly<Record<string, number>>;
}

/** The HTTP server for operators, load balancers and metrics of a process. */
interface Vitals {
  readonly url: string;
  /**
   * Reports not ready, so that a load balancer sends no new work. Returns whether one asked for readiness lately.
   */
  drain(): boolean;
  stop(): Promise<void>;
}

/**
 * Starts the server: GET /live: the process answers. GET /ready: it does its work; 503 with the reason if it can't or
 * is about to end. GET /metrics. It listens on loopback, unless a host is given.
 */
export async function startVitals(
  vitals: readonly Vital[],
  { port, host = HOST }: { readonly port: number; readonly host?: string | undefined },
): Promise<Vitals> {
  let draining = false;
  let asked_at = -Infinity;
  const answers: Readonly<Record<string, () => readonly [number, string]>> = {
    "/live": () => [200, "live\n"],
    "/ready": () => {
      asked_at = performance.now();
      const troubles = [draining ? "it is about to end" : "", ...vitals.map(({ trouble }) => trouble?.() ?? "")];
      const told = troubles.filter((text) => text !== "");
      return told.length === 0 ? [200, "ready\n"] : [503, `${told.join("; ")}\n`];
    },
    "/metrics": () => [200, metricsText([processMetrics, ...vitals.map(({ metrics }) => metrics ?? (() => ({})))])],
  };
  const server = createServer((request, response) => {
    const answer = request.method === "GET" ? answers[(request.url ?? "").split("?")[0] ?? ""] : undefined;
    const [status, text] = answer?.() ?? ([404, "there are /live, /ready and /metrics\n"] as const);
    response.writeHead(status, { "content-type": "text/plain; version=0.0.4; charset=utf-8" }).end(text);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => resolve());
  });
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}`,
    drain: () => {
      draining = true;
      return performance.now() - asked_at < LATELY_MS;
    },
    async stop() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function processMetrics(): Readonly<Record<string, number>> {
  const { user, system } = process.cpuUsage();
  return {
    process_cpu_seconds_total: (user + system) / 1_000_000,
    process_resident_memory_bytes: process.memoryUsage.rss(),
  };
}

function metricsText(all: readonly (() => Readonly<Record<string, number>>)[]): string {
  const values = all.flatMap((metrics) => Object.entries(metrics()));
  const typed = new Set<string>();
  const lines = values.flatMap(([name, value]) => {
    const family = name.split("{")[0] ?? name;
    const type = `# TYPE ${family} ${family.endsWith("_total") ? "counter" : "gauge"}`;
    const head = typed.has(family) ? [] : [type];
    typed.add(family);
    return [...head, `${name} ${value}`];
  });
  return `${lines.join("\n")}\n`;
}
