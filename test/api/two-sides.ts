import { buildHttp } from "../../simulators/service/serve.ts";
import { faultPlan } from "../../simulators/service/faults/faults.ts";
import { reportsHere } from "../../simulators/service/reports/reports.ts";
import { OPERATIONS } from "../../simulators/service/resources/table.ts";
import type { Service } from "../../simulators/service/http/operation.ts";
import { requestOf } from "../../src/api/report.ts";
import { createSessions } from "../../src/api/sessions.ts";
import { serveLoopback } from "../../src/api/server.ts";
import { followReader } from "../../src/store/reader.ts";
import { answerReport } from "../support/figures.ts";
import { ask, sessionAt, type Reply } from "./box-http.ts";
import { ADMIN_KEY } from "../support/virtual-service.ts";
import type { VirtualSite } from "../support/virtual-site.ts";
import { ordered } from "../scenarios/figures.ts";

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
  /** Opens the box's server again after a restart of the agent. */
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

/** Serves the box as the agent does, except that reports are made on this thread. */
async function boxOf(site: VirtualSite, folder: string): Promise<{ readonly side: Side; close(): void }> {
  const reader = followReader(folder);
  // The sessions are valid for the whole test.
  const sessions = createSessions(() => 0);
  const pin = sessions.open(SESSION_MS);
  const listener = await serveLoopback(0, {
    control: site.control(),
    sessions,
    storeHelp: () => Promise.resolve("report-1"),
    reports: (asked) => {
      const { status, headers, body } = reader.snapshot((at) => {
        const answer = answerReport(requestOf(asked, site.control().status()), at);
        return { ...answer, body: typeof answer.body === "string" ? [answer.body] : [...answer.body] };
      });
      return Promise.resolve({ status, headers, body: bytesOf(body) });
    },
  });
  const url = `http://127.0.0.1:${listener.port}`;
  return { side: sideAt(url, await sessionAt(url, pin)), close: () => listener.close() };
}

async function* bytesOf(parts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield await Promise.resolve(Buffer.from(part));
}

/** Serves the service as its own program does. */
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

type Body = Readonly<Record<string, unknown>>;

/** Fields that differ: the box names a booth by its configuration, and has the time of its binding. */
const OWN_OF_BOOTH = ["name", "created_at"] as const;
const CONTEXT = 60;
const SHOWN = 220;

/** Returns each GET whose answers differ, with the first difference. */
export async function differing({ box, service }: TwoSides, paths: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const path of paths) {
    const mine = await box.get(path);
    const theirs = await service.get(path);
    const a = comparable(path, mine);
    const b = comparable(path, theirs, mine);
    if (a !== b) found.push(`${path}\n  box     ${around(a, b)}\n  service ${around(b, a)}`);
  }
  return found;
}

/** Returns status, type and body in a fixed order of fields, without the differences that docs/reference/local-api.md lists. */
function comparable(path: string, { status, headers, body, text }: Reply, other?: Reply): string {
  const head = `${status} ${headers.get("content-type") ?? ""} ${headers.get("deprecation") ?? ""}`;
  if (typeof body !== "object" || body === null) return `${head} ${text}`;
  if (status !== 200) return `${head} ${ordered(body)}`;
  if (path.startsWith("/api/booths_provisioning/")) return `${head} ${ordered(knownToBox(body, other?.body ?? body))}`;
  if (/^\/api\/booths(?:\/b-1)?(?:\?|$)/.test(path)) return `${head} ${ordered(withoutOwn(body))}`;
  return `${head} ${ordered(body)}`;
}

function withoutOwn(body: object): unknown {
  if ("data" in body && Array.isArray(body.data)) return { ...body, data: (body.data as Body[]).map(withoutOwn) };
  return Object.fromEntries(Object.entries(body).filter(([name]) => !OWN_OF_BOOTH.some((own) => own === name)));
}

/** Keeps the fields that the box's record of a binding has. */
function knownToBox(body: object, box: unknown): unknown {
  const names = Object.keys(box as Body);
  return Object.fromEntries(Object.entries(body).filter(([name]) => names.includes(name)));
}

function around(text: string, other: string): string {
  let at = 0;
  while (at < text.length && text[at] === other[at]) at += 1;
  const from = Math.max(0, at - CONTEXT);
  return `${text.slice(0, 3)} ${text.slice(from, from + SHOWN)}`;
}
