import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { methodsOf, operationOf } from "../wire/operations.ts";
import { refusalOf, type Way } from "./access.ts";
import { readBody, send, sendFailure, TOO_LARGE } from "./answer.ts";
import { routeFields } from "./fields-route.ts";
import { routeHelp } from "./help-route.ts";
import { routeLend } from "./lend-route.ts";
import type { LiveFeed } from "./live.ts";
import { routeLook } from "./look-route.ts";
import { isPageFile, PAGE_HEADERS, sendPageFile } from "./page-files.ts";
import { isPlcTool, sendPlcTool } from "./plc-route.ts";
import { routePage } from "./page-route.ts";
import { routeFilters } from "./filter-routes.ts";
import { routeReconcile } from "./reconcile-route.ts";
import { routeRebuild } from "./rebuild-route.ts";
import { sendReport } from "./report-route.ts";
import { routeOf, type LocalAnswer } from "./routes.ts";
import type { Services } from "./services.ts";
import { routeSession } from "./session-route.ts";

/** One listener of the local server. */
export interface Entrance {
  readonly way: Way;
  readonly own_names: () => ReadonlySet<string>;
  /** Whether the address may ask once more now. */
  readonly allow: (address: string) => boolean;
  readonly feed: LiveFeed;
}

const EXPLAIN = /^\/api\/booths\/[^/]+\/explain$/;

/** Answers every request that comes in at the entrance; errors are `{error}` as at the service. */
export function handlerOf(services: Services, entrance: Entrance): RequestListener {
  return (request, response) => {
    answer({ request, response, services, entrance }).catch((error: unknown) => sendFailure(response, error));
  };
}

interface Call {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly services: Services;
  readonly entrance: Entrance;
}

async function answer(call: Call): Promise<void> {
  const { request, response, services, entrance } = call;
  const url = urlOf(request);
  if (entrance.way !== "socket")
    for (const [name, value] of Object.entries(PAGE_HEADERS)) response.setHeader(name, value);
  const refusal = url === null ? BAD_URL : refusalFor(call, url);
  if (url === null || refusal !== null) {
    send(response, { headers: { Connection: "close" }, ...(refusal ?? BAD_URL) });
    return;
  }
  const { pathname } = url;
  const method = request.method ?? "GET";
  if (entrance.way !== "socket" && isPageFile(method, pathname)) {
    const { "accept-encoding": encodings, "if-none-match": known } = request.headers;
    await sendPageFile(response, pathname, { encodings: encodings?.toString(), known });
  } else if (method === "GET" && pathname === "/events") {
    if (entrance.feed.attach(response, boothAsked(services, url))) return;
    send(response, { status: 503, body: { error: "too many pages are open; close one" } });
  } else if (isReport(method, pathname) && services.reports !== undefined) {
    await sendReport(response, url, { control: services.control, ask: services.reports });
  } else if (isPlcTool(method, pathname)) {
    await sendPlcTool(call, pathname, services);
  } else {
    send(response, await outcomeOf(call, url, method));
  }
}

const BAD_URL: LocalAnswer = { status: 400, body: { error: "that is no path" } };

function urlOf({ url = "/" }: IncomingMessage): URL | null {
  return url.startsWith("/") && URL.canParse(url, "http://agent") ? new URL(`http://agent${url}`) : null;
}

function refusalFor({ request, services, entrance }: Call, { pathname }: URL): LocalAnswer | null {
  const { origin, authorization } = request.headers;
  if (!entrance.allow(request.socket.remoteAddress ?? "")) {
    return { status: 429, body: { error: "too many requests" }, headers: { "Retry-After": "1", Connection: "close" } };
  }
  const method = request.method ?? "GET";
  const refusal = refusalOf({
    way: entrance.way,
    method,
    path: pathname,
    // Named twice it is nobody's name: proxies and browsers differ in which of them they take.
    host: request.headersDistinct["host"]?.join(", "),
    origin,
    fetch_site: request.headers["sec-fetch-site"]?.toString(),
    has_session: services.desk?.holds(authorization?.replace(/^Bearer /, "")) ?? false,
    is_page_file: isPageFile(method, pathname),
    own_names: entrance.own_names,
  });
  return refusal === null ? null : { status: refusal.status, body: { error: refusal.error } };
}

function isReport(method: string, path: string): boolean {
  return method === "GET" && (EXPLAIN.test(path) || (operationOf(method, path)?.local ?? null) !== null);
}

function boothAsked({ control }: Services, url: URL): string | null {
  const named = url.searchParams.get("booth");
  return control.status().booths.some(({ booth }) => booth === named) ? named : null;
}

async function outcomeOf({ request, services, entrance }: Call, url: URL, method: string): Promise<LocalAnswer> {
  const body = await readBody(request);
  if (body === null) return TOO_LARGE;
  const { pathname: path, searchParams } = url;
  const call = { method, path, body };
  if (path.startsWith("/filters/")) return routeFilters(call, services.control);
  if (path === "/reconcile") return routeReconcile(call, searchParams, services.control);
  if (path === "/rebuild") return routeRebuild(call, searchParams, services);
  if (path === "/booth_fields") return routeFields(call, searchParams, services);
  const lent = entrance.way === "socket" ? await routeLend(call, services.control) : null;
  if (lent !== null) return lent;
  // Who may open the door decides who gets the PIN.
  if (path === "/page" && entrance.way === "socket") return routePage(call, services);
  if (method === "POST" && path === "/api/authenticate") return routeSession(call, services);
  if (method === "POST" && path === "/api/help") return routeHelp(call, services);
  return (await routeLook(call, searchParams, services)) ?? notServed(method, path) ?? routeOf(call, services.control);
}

/** Paths of the service's interface that end here: its own operations, and methods that it has not. */
function notServed(method: string, path: string): LocalAnswer | null {
  if (!path.startsWith("/api/")) return null;
  const operation = operationOf(method, path);
  if (operation !== null) {
    return operation.local !== null && method !== "GET"
      ? null
      : { status: 501, body: { error: `the box doesn't serve ${method} ${path}: ask the service` } };
  }
  const allowed = methodsOf(path);
  if (allowed.length === 0) return { status: 404, body: { error: `there is no ${path}` } };
  return {
    status: 405,
    body: { error: `${path} takes ${allowed.join(", ")}` },
    headers: { Allow: allowed.join(", ") },
  };
}
