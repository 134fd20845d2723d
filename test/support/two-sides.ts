import { buildHttp } from "../../simulators/service/http/server.ts";
import { faultPlan } from "../../simulators/service/admin/faults.ts";
import { reportsHere } from "../../simulators/service/reports/reports.ts";
import { OPERATIONS } from "../../simulators/service/resources/table.ts";
import type { Service } from "../../simulators/service/http/operation.ts";
import { createSessions } from "../../src/api/sessions.ts";
import { answerReport } from "../../src/api/reports.ts";
import { serveLoopback } from "../../src/api/server.ts";
import { deriveFold } from "../../src/store/facts/derive-fold.ts";
import { followReader } from "../../src/store/reader.ts";
import { ask, sessionAt, type Reply } from "./box-http.ts";
import { ADMIN_KEY } from "./virtual-service.ts";
import type { VirtualSite } from "./virtual-site.ts";

const SESSION_MS = 3_600_000;

/** One of the two sides, as a client sees it over HTTP. */
export interface Side {
  get(path: string): Promise<Reply>;
  send(method: string, path: string, body: unknown): Promise<Reply>;
}

/** Box and service of a virtual site behind real sockets; its time stands still while they are asked. */
export interface TwoSides {
  readonly box: Side;
  readonly service: Side;
  /** The agent was started anew: the box's server is that of the new one. */
  enterAgain(): Promise<void>;
  close(): Promise<void>;
}

export async function twoSides(site: VirtualSite, folder: string): Promise<TwoSides> {
  let box = await boxOf(site, folder);
  const service = await serviceOf(site);
  return {
    get box() {
      return box.side;
    },
    service: service.side,
    async enterAgain() {
      box.close();
      box = await boxOf(site, folder);
    },
    close: async () => {
      box.close();
      await service.close();
    },
  };
}

function sideAt(url: string, key: string): Side {
  return {
    get: (path) => ask(`${url}${path}`, { key }),
    send: (method, path, body) => ask(`${url}${path}`, { method, key, body }),
  };
}

/** As the agent's own server; only that reports are made in this thread. */
async function boxOf(site: VirtualSite, folder: string): Promise<{ readonly side: Side; close(): void }> {
  const reader = followReader(folder, deriveFold);
  // Its sessions last as long as the test.
  const desk = createSessions(() => 0);
  const pin = desk.open(SESSION_MS);
  const listener = await serveLoopback(0, {
    control: site.control(),
    desk,
    help: { store: () => Promise.resolve("report-1") },
    reports: (request) => {
      const { status, headers, body } = reader.snapshot((at) => {
        const answer = answerReport(request, at);
        return { ...answer, body: typeof answer.body === "string" ? [answer.body] : [...answer.body] };
      });
      return Promise.resolve({ status, headers, body: bytesOf(body) });
    },
  });
  const url = `http://127.0.0.1:${listener.port.toString()}`;
  return { side: sideAt(url, await sessionAt(url, pin)), close: () => listener.close() };
}

async function* bytesOf(parts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield await Promise.resolve(Buffer.from(part));
}

/** As the service's own program. */
async function serviceOf(site: VirtualSite): Promise<{ readonly side: Side; close(): Promise<void> }> {
  const service: Service = {
    db: site.service.db,
    now: () => site.clock.truth(),
    mqttUrl: () => "mqtt://virtual",
    plain: false,
  };
  const app = buildHttp({ service, operations: OPERATIONS, reports: reportsHere(service), faults: faultPlan() });
  const url = await app.listen({ host: "127.0.0.1", port: 0 });
  return { side: sideAt(url, ADMIN_KEY), close: () => app.close() };
}
