import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { methodsOf, operationOf } from "../contract/operations.ts";
import { EXPLAIN, isSocket, refusalOf, type Way } from "./access.ts";
import { readBody, send, sendFailure, TOO_LARGE } from "./answer.ts";
import { routeFields } from "./fields-route.ts";
import type { LiveFeed, LiveView } from "./live.ts";
import { routeLook } from "./look-route.ts";
import { isPageFile, PAGE_HEADERS, sendPageFile } from "./page-files.ts";
import { isPlcTool, sendPlcTool } from "./plc-route.ts";
import { routeFilters } from "./filter-routes.ts";
import { routeReconcile } from "./reconcile-route.ts";
import { sendReport } from "./report-route.ts";
import { bad, boothOf, type LocalAnswer, type LocalRequest, routeOf } from "./routes.ts";
import { senderOf } from "./sender.ts";
import type { Services } from "./services.ts";
import { routeSession } from "./session-route.ts";
import {
  localHelpShape,
  localPageShape,
  type LocalPlcAnswer,
  localPlcAskShape,
  localRebuildShape,
} from "../contract/local.ts";
import { jsonOf } from "./json-body.ts";
import { supportReport } from "./support-report.ts";
import { LinkError } from "../domain/link-error.ts";
import type { AgentControl } from "../domain/agent-control.ts";
import type { Rebuilds } from "../store/port.ts";

/** One listener of the local server. */
export interface Entrance {
  readonly way: Way;
  readonly own_names: () => ReadonlySet<string>;
  /** Whether the sender may ask once more now. */
  readonly allow: (sender: string) => boolean;
  readonly feed: LiveFeed;
}

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
  if (!isSocket(entrance.way))
    for (const [name, value] of Object.entries(PAGE_HEADERS)) response.setHeader(name, value);
  const refusal = url === null ? BAD_URL : refusalFor(call, url);
  if (url === null || refusal !== null) {
    send(response, { headers: { Connection: "close" }, ...(refusal ?? BAD_URL) });
    return;
  }
  const { pathname } = url;
  const method = request.method ?? "GET";
  if (!isSocket(entrance.way) && isPageFile(method, pathname)) {
    const { "accept-encoding": encodings, "if-none-match": known } = request.headers;
    await sendPageFile(response, pathname, { encodings: encodings?.toString(), known });
  } else if (method === "GET" && pathname === "/events") {
    if (entrance.feed.attach(response, viewOf(call, url))) return;
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
  if (!entrance.allow(senderOf(request.socket.remoteAddress))) {
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
    has_session: hasSession(services, authorization),
    is_page_file: isPageFile(method, pathname),
    own_names: entrance.own_names,
  });
  return refusal === null ? null : { status: refusal.status, body: { error: refusal.error } };
}

function hasSession({ desk }: Services, authorization: string | undefined): boolean {
  return desk?.holds(authorization?.replace(/^Bearer /, "")) ?? false;
}

/** A page on this machine may look at the status without a session; on the network nothing goes on once it has ended. */
function viewOf({ request, services, entrance: { way } }: Call, url: URL): LiveView {
  const { authorization } = request.headers;
  const without = way === "lan" ? "nothing" : "status";
  return {
    sender: senderOf(request.socket.remoteAddress),
    booth: boothAsked(services, url),
    sees: () => (isSocket(way) || hasSession(services, authorization) ? "all" : without),
  };
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
  const call = { method, path, body, way: entrance.way };
  if (path.startsWith("/filters/")) return routeFilters(call, services.control);
  if (path === "/reconcile") return routeReconcile(call, searchParams, services.control);
  if (path === "/rebuild") return routeRebuild(call, searchParams, services);
  if (path === "/booth_fields") return routeFields(call, searchParams, services);
  const lent = isSocket(entrance.way) ? await routeSharedLink(call, services.control) : null;
  if (lent !== null) return lent;
  // Who may open the door decides who gets the PIN.
  if (path === "/page" && isSocket(entrance.way)) return routePage(call, services);
  if (method === "POST" && path === "/api/authenticate")
    return routeSession({ ...call, sender: senderOf(request.socket.remoteAddress) }, services);
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

/** POST /api/help: keeps the question with a report of the box's state, for whoever comes to help. */
export async function routeHelp({ body }: LocalRequest, services: Services): Promise<LocalAnswer> {
  if (services.help === undefined) return { status: 501, body: { error: "this agent keeps no reports" } };
  const parsed = localHelpShape.safeParse(jsonOf(body));
  if (!parsed.success) return bad("subject is needed, up to 200 characters; message up to 4000");
  const report = { ...parsed.data, ...supportReport(services) };
  return { status: 201, body: { id: await services.help.store(`${JSON.stringify(report, null, 2)}\n`) } };
}

/** What tools at the PLC ask over the socket, so that they need no connection beside the agent's; null: something else. */
export async function routeSharedLink(
  { method, path, body }: LocalRequest,
  control: AgentControl,
): Promise<LocalAnswer | null> {
  if (method === "GET" && path === "/plc/links") return { status: 200, body: { links: control.lentLinks() } };
  if (method !== "POST" || path !== "/plc/ask") return null;
  const parsed = localPlcAskShape.safeParse(jsonOf(body));
  if (!parsed.success) return bad("POST {link, unit, pdu}: a link of /plc/links, a unit id, and a reading PDU in hex");
  const { link, unit, pdu } = parsed.data;
  return { status: 200, body: await answerOf(control.askPlc(link, { unit, pdu: Buffer.from(pdu, "hex") })) };
}

function answerOf(asked: Promise<Uint8Array>): Promise<LocalPlcAnswer> {
  return asked.then(
    (pdu) => ({ kind: "answer", pdu: Buffer.from(pdu).toString("hex") }),
    (error: unknown) => {
      if (!(error instanceof LinkError)) throw error;
      return { kind: "failed", why: error.kind, message: error.message };
    },
  );
}

/** GET /page tells where the page is; POST /page makes a PIN, opens it on the network, or closes it. Over the socket alone. */
export async function routePage({ method, body }: LocalRequest, { door }: Services): Promise<LocalAnswer> {
  if (door === undefined) return { status: 501, body: { error: "this agent serves no page" } };
  if (method === "GET") return { status: 200, body: door.state() };
  const parsed = localPageShape.safeParse(body === "" ? {} : jsonOf(body));
  if (method !== "POST" || !parsed.success) {
    return bad("POST {for_ms, lan} opens the page for one minute to twelve hours, {close: true} closes it");
  }
  const { close, ...how } = parsed.data;
  if (close) {
    door.close();
    return { status: 200, body: door.state() };
  }
  try {
    return { status: 200, body: await door.open(how) };
  } catch (error) {
    return { status: 409, body: { error: error instanceof Error ? error.message : String(error) } };
  }
}

/** POST /rebuild starts a rebuild (202, or 409 with the reason), GET /rebuild tells how the last one stands. */
export async function routeRebuild(
  request: LocalRequest,
  query: URLSearchParams,
  { control, rebuilds }: { readonly control: AgentControl; readonly rebuilds?: Rebuilds },
): Promise<LocalAnswer> {
  if (rebuilds === undefined) return { status: 501, body: { error: "this agent can't rebuild" } };
  if (request.method === "GET") {
    const stream = streamOf(control, query.get("booth") ?? undefined);
    if (stream === null) return unnamed();
    return { status: 200, body: (await rebuilds.progress(stream)) ?? { kind: "none" } };
  }
  const parsed = localRebuildShape.safeParse(request.body === "" ? {} : jsonOf(request.body));
  if (request.method !== "POST" || !parsed.success) return bad("POST {booth, current} starts a rebuild");
  const stream = streamOf(control, parsed.data.booth);
  if (stream === null) return unnamed();
  try {
    return { status: 202, body: await rebuilds.start(stream, parsed.data.current) };
  } catch (error) {
    return { status: 409, body: { error: error instanceof Error ? error.message : String(error) } };
  }
}

function unnamed(): LocalAnswer {
  return bad("name the booth: this gateway serves several, or none of that name");
}

function streamOf(control: AgentControl, named: string | undefined): string | null {
  const booth = boothOf(control, named);
  return control.status().booths.find((one) => one.booth === booth)?.log.stream ?? null;
}
