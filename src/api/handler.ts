import { message } from "../domain/message.ts";
import { wantsMessages } from "./wants-messages.ts";
import { hostname } from "node:os";
import { allAddresses, nameOnSite } from "../tools/own-addresses.ts";
import { refusalOf } from "./access.ts";
import { bodyReader, readBody, send, sendFailure, sendReport } from "./answer.ts";
import { senderOf } from "./crowd.ts";
import type { LiveFeed } from "./live.ts";
import {
  CLOSING,
  isSocket,
  type LocalAnswer,
  type LocalOperation,
  Refusal,
  type Services,
  type Channel,
} from "./operation.ts";
import { matchOf, nameOf, type Match } from "./operations.ts";
import type { Answering, Asking } from "./over-tls.ts";
import { isPageFile, PAGE_HEADERS, sendPageFile } from "./page-files.ts";

/** A listener of the local server, with everything that its handler needs. */
interface Entrance {
  readonly services: Services;
  readonly channel: Channel;
  /** Returns whether the sender may send another request now. */
  readonly allow: (sender: string) => boolean;
  readonly feed: LiveFeed;
}

interface Arrival extends Entrance {
  readonly request: Asking;
  readonly response: Answering;
  readonly method: string;
  /** The requested URL; null if the request line has no path. */
  readonly url: URL | null;
  readonly query: Readonly<Record<string, string>>;
  readonly sender: string;
  readonly token: string | undefined;
  readonly has_session: () => boolean;
}

/** Returns the request handler of a listener. It reports errors as `{error}`, as the service does. */
export function handlerOf(entrance: Entrance): (request: Asking, response: Answering) => void {
  return (request, response) => {
    const { url: path = "/", method = "GET", headers } = request;
    const url = path.startsWith("/") && URL.canParse(path, "http://agent") ? new URL(`http://agent${path}`) : null;
    const query = firstOfEach(url?.searchParams ?? new URLSearchParams());
    const sender = senderOf(request.socket.remoteAddress);
    const token = headers.authorization?.replace(/^Bearer /, "");
    const has_session = (): boolean => entrance.services.sessions?.isOpen(token) ?? false;
    answer({ ...entrance, request, response, method, url, query, sender, token, has_session }).catch((error: unknown) =>
      sendFailure(response, error, { said: wantsMessages(query) }),
    );
  };
}

async function answer(arrival: Arrival): Promise<void> {
  const { request, response, channel, method, url } = arrival;
  if (!isSocket(channel)) for (const [name, value] of Object.entries(PAGE_HEADERS)) response.setHeader(name, value);
  if (url === null) throw new Refusal(400, message("ask.no_path"), CLOSING);
  const { pathname } = url;
  const is_page_file = !isSocket(channel) && isPageFile(method, pathname);
  const match = matchOf(method, pathname);
  admit(arrival, pathname, is_page_file ? "anyone" : leastFor(match, method, pathname));
  if (is_page_file) {
    const { "accept-encoding": encodings, "if-none-match": known, "accept-language": languages } = request.headers;
    await sendPageFile(response, pathname, { encodings: encodings?.toString(), known, languages });
  } else await carryOut(arrival, match, pathname);
}

/**
 * Returns the lowest right that a request needs. Unknown paths below /api need the right to read figures, and any others a session, so that
 * strangers can't find out which paths exist.
 */
export function leastFor(match: Match, method: string, path: string): LocalOperation["access"] {
  if (match.kind === "here") return match.operation.access;
  return path.startsWith("/api/") && (method === "GET" || method === "HEAD") ? "loopback" : "session";
}

/** Throws a Refusal if the request must not be answered. */
function admit(arrival: Arrival, path: string, least: LocalOperation["access"]): void {
  const { request, channel, allow, sender, has_session } = arrival;
  if (!allow(sender)) throw new Refusal(429, message("ask.too_many"), { "Retry-After": "1", ...CLOSING });
  const refusal = refusalOf({
    channel,
    least,
    host: hostOf(request),
    origin: request.headers.origin,
    fetch_site: request.headers["sec-fetch-site"]?.toString(),
    has_session: has_session(),
    is_front: path === "/",
    own_names: () => new Set([...allAddresses(), hostname().toLowerCase(), nameOnSite()]),
  });
  if (refusal !== null) throw refusal;
}

/**
 * Returns the host that was asked for. Two different hosts are joined and then match no name, because proxies and browsers disagree on
 * which one is valid.
 */
function hostOf(request: Asking): string | undefined {
  if ("headersDistinct" in request) return request.headersDistinct["host"]?.join(", ");
  const { authority, headers } = request;
  return [...new Set([authority, headers.host].filter((name) => name !== undefined))].join(", ");
}

async function carryOut(arrival: Arrival, match: Match, path: string): Promise<void> {
  const { request, response, services, channel, query, method } = arrival;
  if (match.kind === "here" && match.operation.runs.kind !== "control" && services.reports !== undefined) {
    await sendReport(response, { operation: nameOf(match.operation), params: match.params, query }, services.reports);
    return;
  }
  const text = await readBody(request, match.kind === "here" ? match.operation.most_bytes : undefined);
  // Treats an operation that is reserved for the sockets as unknown elsewhere.
  const isThere = match.kind === "here" && (match.operation.access !== "socket" || isSocket(channel));
  if (!isThere) throw notServed(match, method, path);
  const outcome = await runControl(arrival, match, text);
  if ("writes" in outcome) await outcome.writes(response);
  else send(response, outcome, { said: wantsMessages(query) });
}

async function runControl(
  arrival: Arrival,
  { operation: { runs, body }, params }: Extract<Match, { kind: "here" }>,
  text: string,
): Promise<LocalAnswer> {
  const { request, services, channel, has_session } = arrival;
  // Refuses a report, because this agent has no reports thread.
  if (runs.kind !== "control") throw serviceOnly(arrival.method, arrival.url?.pathname ?? "/");
  const [control, read] = await Promise.all([runs.load(), bodyReader(body)]);
  return control(
    {
      ...arrival,
      device: request.headers["user-agent"] ?? "",
      params,
      sees_all: () => isSocket(channel) || has_session(),
      // This cast is safe, because the table of operations pairs each control with the body of its own row.
      body: () => read(text) as never,
    },
    services,
  );
}

/** Returns the error for an operation that only the service has, for a method that the path doesn't support, or for an unknown path. */
function notServed(match: Match, method: string, path: string): Refusal {
  if (match.kind === "service") return serviceOnly(method, path);
  if (match.kind === "method") {
    const Allow = match.allowed.join(", ");
    return new Refusal(405, message("ask.method", { path, methods: Allow }), { Allow });
  }
  const isApi = path.startsWith("/api/");
  return new Refusal(
    404,
    isApi ? message("ask.unknown_path", { path }) : message("ask.unknown_operation", { method, path }),
  );
}

function serviceOnly(method: string, path: string): Refusal {
  return new Refusal(501, message("ask.service_only", { method, path }));
}

function firstOfEach(params: URLSearchParams): Readonly<Record<string, string>> {
  return Object.fromEntries([...params].toReversed());
}
