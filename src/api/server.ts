import { chmodSync, mkdirSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { dirname } from "node:path";
import type { AgentControl, Rebuilds } from "../ports.ts";
import { routeFilters } from "./filter-routes.ts";
import { routeRebuild } from "./rebuild-route.ts";
import { sendReport, type AskReport } from "./report-route.ts";
import { routeOf, type LocalAnswer } from "./routes.ts";

const MAX_BODY_BYTES = 16_384;
const HEADERS_TIMEOUT_MS = 5_000;
const REQUEST_TIMEOUT_MS = 10_000;
/** sun_path of Linux holds 108 bytes with its end. */
const MAX_SOCKET_PATH = 107;

/** What the socket serves beside the agent itself; what is absent answers 501. */
export interface MoreServices {
  readonly reports?: AskReport;
  readonly rebuilds?: Rebuilds;
}

type Services = MoreServices & { readonly control: AgentControl };

/**
 * The agent's socket: who may open it (its group) may ask anything, no key needed. Rejects where the path is too long for a
 * socket, or the folder can't be written.
 */
export async function serveSocket(path: string, control: AgentControl, more: MoreServices = {}): Promise<Server> {
  if (Buffer.byteLength(path) > MAX_SOCKET_PATH) {
    throw new Error(
      `${path} is too long for a socket (${MAX_SOCKET_PATH.toString()} bytes at most): set runtime_dir to a shorter path`,
    );
  }
  mkdirSync(dirname(path), { recursive: true, mode: 0o750 });
  rmSync(path, { force: true });
  const server = createServer(
    { headersTimeout: HEADERS_TIMEOUT_MS, requestTimeout: REQUEST_TIMEOUT_MS },
    (request, response) => {
      void answer(request, response, { ...more, control });
    },
  );
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, resolve);
  });
  chmodSync(path, 0o660);
  return server;
}

async function answer(request: IncomingMessage, response: ServerResponse, services: Services): Promise<void> {
  const { control, reports } = services;
  const url = new URL(request.url ?? "/", "http://agent");
  const isReport = request.method === "GET" && url.pathname.startsWith("/api/");
  try {
    if (isReport && reports !== undefined) await sendReport(response, url, { control, ask: reports });
    else send(response, await outcomeOf(request, url, services));
  } catch (error) {
    // Half an answer can't be taken back: the connection ends, and its reader sees that it is not whole.
    if (response.headersSent) response.destroy();
    else send(response, { status: 500, body: { error: error instanceof Error ? error.message : String(error) } });
  }
}

function send(response: ServerResponse, { status, body }: LocalAnswer): void {
  response.writeHead(status, { "Content-Type": "application/json; charset=utf-8", "Cache-Control": "no-store" });
  response.end(`${JSON.stringify(body)}\n`);
}

async function outcomeOf(request: IncomingMessage, url: URL, services: Services): Promise<LocalAnswer> {
  const body = await readBody(request);
  if (body === null) return { status: 413, body: { error: `the body is over ${MAX_BODY_BYTES.toString()} bytes` } };
  const call = { method: request.method ?? "GET", path: url.pathname, body };
  if (call.path === "/rebuild") return routeRebuild(call, url.searchParams, services);
  if (call.path.startsWith("/filters/")) return routeFilters(call, services.control);
  return routeOf(call, services.control);
}

/** The body as text; null where it is too large. */
async function readBody(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
