import { metricsText, type ProcessFigures } from "./metrics.ts";
import { bad, boothOf, type LocalAnswer, type LocalRequest } from "./routes.ts";
import type { Services } from "./services.ts";
import { supportReport } from "./support-report.ts";
import { readFile } from "node:fs/promises";

/** What can be looked at and changes nothing; null: no path of these. */
export async function routeLook(
  { method, path }: LocalRequest,
  query: URLSearchParams,
  services: Services,
): Promise<LocalAnswer | null> {
  const { control } = services;
  if (method !== "GET") return null;
  switch (path) {
    case "/status":
      return { status: 200, body: control.status() };
    case "/backlog":
      return { status: 200, body: await control.backlog() };
    case "/healthz":
      return health(services);
    case "/metrics":
      return { status: 200, body: metricsText(control.status(), control.counts(), await processFigures()) };
    case "/readings": {
      const booth = boothOf(control, query.get("booth") ?? undefined);
      return booth === null
        ? bad("name the booth: this gateway serves several, or none of that name")
        : { status: 200, body: { booth, readings: control.readings(booth) } };
    }
    case "/log":
      return { status: 200, body: { lines: services.log?.() ?? [] } };
    case "/support.json":
      return {
        status: 200,
        body: supportReport(services),
        headers: { "Content-Disposition": 'attachment; filename="booth-gateway-report.json"' },
      };
    case "/api/openapi.json":
      return { status: 200, body: await openApiOf(control.status().agent_version) };
    default:
      return null;
  }
}

/** Loaded when somebody asks: the shapes of all answers are of no use to the agent itself. */
async function openApiOf(version: string): Promise<unknown> {
  const { openApi } = await import("../contract/openapi.ts");
  return openApi(version);
}

/** 503 where a booth's readings can't be committed: what a watchdog of others should wake somebody for. */
function health({ control }: Services): LocalAnswer {
  const troubled = control.status().booths.filter(({ log }) => log.trouble !== "");
  if (troubled.length === 0) return { status: 200, body: { status: "ok" } };
  const error = troubled.map(({ booth, log }) => `${booth}: ${log.trouble}`).join("; ");
  return { status: 503, body: { status: "failing", error } };
}

export async function processFigures(): Promise<ProcessFigures> {
  const { rss, heapUsed } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  return {
    resident_bytes: rss,
    heap_bytes: heapUsed,
    cpu_seconds: (user + system) / 1e6,
    written_bytes: await writtenBytes(),
  };
}

/** proc(5), /proc/pid/io: bytes that the process caused to be sent to the storage layer. Closed to some hardened units. */
async function writtenBytes(): Promise<number | null> {
  const text = await readFile("/proc/self/io", "utf8").catch(() => "");
  const found = /^write_bytes: (\d+)$/m.exec(text)?.[1];
  return found === undefined ? null : Number(found);
}
