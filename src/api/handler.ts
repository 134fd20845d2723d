import { hostname } from "node:os";
import { allAddresses, nameOnSite } from "../tools/own-addresses.ts";
import { refusalOf } from "./access.ts";
import { bodyReader, readBody, send, sendFailure, sendReport } from "./answer.ts";
import { wantsSaid, withSaid } from "./said.ts";
import type { LiveFeed } from "./live.ts";
import {
  CLOSING,
  isSocket,
  type LocalAnswer,
  type LocalOperation,
  Refusal,
  type Services,
  type Way,
} from "./operation.ts";
import { matchOf, nameOf, type Match } from "./operations.ts";
import { isPageFile, PAGE_HEADERS, sendPageFile } from "./page-files.ts";
import { senderOf } from "./crowd.ts";
import type { Answering, Asking } from "./over-tls.ts";
import { say } from "../domain/sentences.ts";

/** One listener of the local server, and what it answers from. */
interface Entrance {
  readonly services: Services;
  readonly way: Way;
  /** Whether the sender may ask once more now. */
  readonly allow: (sender: string) => boolean;
  readonly feed: LiveFeed;
}

/** A request as it came in. */
interface Arrival extends Entrance {
  readonly request: Asking;
  readonly response: Answering;
}

/** Answers every request that comes in at the entrance; errors are `{error}` as at the service. */
export function handlerOf(entrance: Entrance): (request: Asking, response: Answering) => void {
  return (request, response) => {
    answer({ ...entrance, request, response }).catch((error: unknown) =>
      sendFailure(response, error, { said: saidIsWanted(request) }),
    );
  };
}

type Here = Extract<Match, { kind: "here" }>;

async function answer(arrival: Arrival): Promise<void> {
  const { request, response, way } = arrival;
  const url = urlOf(request);
  if (!isSocket(way)) for (const [name, value] of Object.entries(PAGE_HEADERS)) response.setHeader(name, value);
  if (url === null) throw new Refusal(400, "that is no path", CLOSING);
  const { pathname } = url;
  const method = request.method ?? "GET";
  const is_page_file = !isSocket(way) && isPageFile(method, pathname);
  const match = matchOf(method, pathname);
  admit(arrival, pathname, is_page_file ? "anyone" : leastFor(match, method, pathname));
  if (is_page_file) {
    const { "accept-encoding": encodings, "if-none-match": known, "accept-language": languages } = request.headers;
    await sendPageFile(response, pathname, { encodings: encodings?.toString(), known, languages });
  } else await carryOut(arrival, match, url);
}

function saidIsWanted(request: Asking): boolean {
  return wantsSaid(firstOfEach(urlOf(request)?.searchParams ?? new URLSearchParams()));
}

function urlOf({ url = "/" }: Asking): URL | null {
  return url.startsWith("/") && URL.canParse(url, "http://agent") ? new URL(`http://agent${url}`) : null;
}

/** Who may look at figures may hear that there is none; of other paths nothing is told to who isn't let in. */
export function leastFor(match: Match, method: string, path: string): LocalOperation["way"] {
  if (match.kind === "here") return match.operation.way;
  return path.startsWith("/api/") && (method === "GET" || method === "HEAD") ? "loopback" : "session";
}

/** Throws a Refusal where the request may not be answered. */
function admit({ request, services, way, allow }: Arrival, path: string, least: LocalOperation["way"]): void {
  const { origin, authorization } = request.headers;
  if (!allow(senderOf(request.socket.remoteAddress))) {
    throw new Refusal(429, say("ask.too_many"), { "Retry-After": "1", ...CLOSING });
  }
  const refusal = refusalOf({
    way,
    least,
    host: hostOf(request),
    origin,
    fetch_site: request.headers["sec-fetch-site"]?.toString(),
    has_session: hasSession(services, authorization),
    is_front: path === "/",
    own_names: ownNames,
  });
  if (refusal !== null) throw refusal;
}

/** Named twice it is nobody's name: proxies and browsers differ in which of them they take. */
function hostOf(request: Asking): string | undefined {
  if ("headersDistinct" in request) return request.headersDistinct["host"]?.join(", ");
  const { authority, headers } = request;
  return [...new Set([authority, headers.host].filter((name) => name !== undefined))].join(", ");
}

function hasSession({ sessions }: Services, authorization: string | undefined): boolean {
  return sessions?.holds(tokenOf(authorization)) ?? false;
}

function tokenOf(authorization: string | undefined): string | undefined {
  return authorization?.replace(/^Bearer /, "");
}

async function carryOut(arrival: Arrival, match: Match, url: URL): Promise<void> {
  const { request, response, services, way } = arrival;
  if (match.kind === "here" && match.operation.runs.kind !== "control" && services.reports !== undefined) {
    const asked = { operation: nameOf(match.operation), params: match.params, query: firstOfEach(url.searchParams) };
    await sendReport(response, asked, services.reports);
    return;
  }
  const text = await readBody(request, match.kind === "here" ? match.operation.most_bytes : undefined);
  // What is for the socket alone isn't there for others.
  const isThere = match.kind === "here" && (match.operation.way !== "socket" || isSocket(way));
  if (!isThere) throw notServed(match, request.method ?? "GET", url.pathname);
  const outcome = await controlled(arrival, match, { url, text });
  if ("writes" in outcome) await outcome.writes(response);
  else send(response, saidIsWanted(request) ? { ...outcome, body: withSaid(outcome.body) } : outcome);
}

async function controlled(
  { request, services, way, feed }: Arrival,
  { operation, params }: Here,
  { url, text }: { readonly url: URL; readonly text: string },
): Promise<LocalAnswer> {
  const { runs, body: name } = operation;
  if (runs.kind !== "control") throw serviceOnly(operation.method, url.pathname);
  const { authorization } = request.headers;
  const [control, read] = await Promise.all([runs.load(), bodyReader(name)]);
  return control(
    {
      way,
      sender: senderOf(request.socket.remoteAddress),
      device: request.headers["user-agent"] ?? "",
      token: tokenOf(authorization),
      params,
      query: firstOfEach(url.searchParams),
      feed,
      sees_all: () => isSocket(way) || hasSession(services, authorization),
      // The table gives each control the body of its own row.
      body: () => read(text) as never,
    },
    services,
  );
}

/** The service's own operations, methods that it has not, and what nobody has. */
function notServed(match: Match, method: string, path: string): Refusal {
  if (match.kind === "service") return serviceOnly(method, path);
  if (match.kind === "method") {
    const Allow = match.allowed.join(", ");
    return new Refusal(405, `${path} takes ${Allow}`, { Allow });
  }
  return new Refusal(404, path.startsWith("/api/") ? `there is no ${path}` : `there is no ${method} ${path} here`);
}

function serviceOnly(method: string, path: string): Refusal {
  return new Refusal(501, `the box doesn't serve ${method} ${path}: ask the service`);
}

function firstOfEach(params: URLSearchParams): Readonly<Record<string, string>> {
  return Object.fromEntries([...params].toReversed());
}

/** What this machine is called on the network: names and addresses, lower case. */
function ownNames(): ReadonlySet<string> {
  return new Set([...allAddresses(), hostname().toLowerCase(), nameOnSite()]);
}
