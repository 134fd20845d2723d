import type { ClientRequest, IncomingMessage, RequestOptions } from "node:http";
import type { AgentOptions } from "node:https";
import { isIP } from "node:net";
import { PassThrough, type Duplex } from "node:stream";
import { connect as tlsConnect } from "node:tls";
import { type Connections, type Counted, lineAgent, secureWithin } from "../line.ts";
import type { CertificatePair } from "../../credential-files.ts";
import { explained, trustIn } from "../tls.ts";

/** An import of node:http would load its WebSocket, and with it undici: 14 MB and 40 ms of CPU. */
const { request: httpRequest } = process.getBuiltinModule("node:http");
const { Agent: HttpsAgent, request: httpsRequest } = process.getBuiltinModule("node:https");

/** The whole exchange must be done within this. */
const TOTAL_TIMEOUT_MS = 30_000;
/** The connection, TLS included, must stand within this. */
const CONNECT_TIMEOUT_MS = 10_000;
/** The proxy answers within this, or there is none. */
const TUNNEL_TIMEOUT_MS = 10_000;
/** A small service must not be flooded by one box. */
const MAX_CONNECTIONS = 2;
/** More of an answer is never read: records are a few KiB. */
const MAX_ANSWER_BYTES = 1_048_576;
/** Of an error's body only this much. */
const MAX_ERROR_BYTES = 65_536;

export interface HttpRequest {
  readonly method: "GET" | "POST" | "PUT";
  readonly path: string;
  /** "": nothing is shown. */
  readonly key: string;
  /** Sent as JSON; bytes are sent as they are, and said to be JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

export interface HttpClientOptions {
  readonly baseUrl: string;
  /** A site's own authority, PEM, beside the public ones. */
  readonly ca?: string;
  /** http://HOST:PORT of a proxy on the way to an https:// service. */
  readonly proxy?: string;
  /** Shown to a server that asks for one. */
  readonly certificate?: CertificatePair;
  /** Who counts its bytes; absent: nobody. */
  readonly counted?: Counted;
  /** Default 10 s. */
  readonly connect_timeout_ms?: number;
  /** Default 30 s. */
  readonly total_timeout_ms?: number;
}

/** Nobody waits for an answer any more. */
export class HttpClosed extends Error {
  constructor() {
    super("the gateway is stopping");
  }
}

export interface HttpClient {
  /** One try. Rejects with an Error on network trouble, time-out, or an answer over its limit. */
  send(request: HttpRequest): Promise<HttpAnswer>;
  /** Ends what is under way, which rejects with HttpClosed, as every later request does. */
  close(): void;
}

/** node:http with keep-alive: global fetch would cost 70 MB of memory. TLS is always verified. */
export function createHttpClient(options: HttpClientOptions): HttpClient {
  const base = new URL(options.baseUrl);
  const secure = base.protocol === "https:";
  const { total_timeout_ms = TOTAL_TIMEOUT_MS } = options;
  const connections = agentOf(options);
  const { agent } = connections;
  const open = secure ? httpsRequest : httpRequest;
  // The agent's own end would let requests that wait for a connection make one.
  const calls = new Set<ClientRequest>();
  const inRow = fewAtOnce(MAX_CONNECTIONS);
  let isClosed = false;
  const exchange = (request: HttpRequest): Promise<HttpAnswer> =>
    new Promise((resolve, reject) => {
      if (isClosed) {
        reject(new HttpClosed());
        return;
      }
      const body = bodyOf(request.body);
      const content =
        body === undefined ? {} : { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) };
      const call = open(new URL(request.path, base), {
        method: request.method,
        agent,
        signal: AbortSignal.timeout(total_timeout_ms),
        headers: { ...shown(request.key), Accept: "application/json", ...content, ...request.headers },
      });
      calls.add(call);
      call.on("close", () => calls.delete(call));
      call.on("error", (error) => reject(explained(error)));
      call.on("response", (answer) => void readAnswer(answer).then(resolve, reject));
      call.end(body);
    });
  return {
    send: (request) => inRow(() => exchange(request)),
    close: () => {
      isClosed = true;
      for (const call of calls) call.destroy(new HttpClosed());
      connections.close(new HttpClosed());
    },
  };
}

/** So many at a time. The agent's own bound doesn't count connections that are still to come. */
function fewAtOnce(most: number): <T>(act: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let busy = 0;
  return async (act) => {
    if (busy >= most) await new Promise<void>((resolve) => void waiting.push(resolve));
    else busy += 1;
    try {
      return await act();
    } finally {
      const next = waiting.shift();
      if (next === undefined) busy -= 1;
      else next();
    }
  };
}

function bodyOf(body: unknown): string | Uint8Array | undefined {
  return body === undefined || body instanceof Uint8Array ? body : JSON.stringify(body);
}

function shown(key: string): Readonly<Record<string, string>> {
  return key === "" ? {} : { Authorization: key };
}

/** TLS over lines that tell their bytes, through a proxy where there is one; without TLS for this machine alone. */
function agentOf({ baseUrl, ca, proxy, certificate, counted, ...options }: HttpClientOptions): Connections {
  const { connect_timeout_ms: within_ms = CONNECT_TIMEOUT_MS } = options;
  if (new URL(baseUrl).protocol !== "https:") return lineAgent(null, { within_ms, counted });
  const tls = {
    minVersion: "TLSv1.2" as const,
    ...certificate,
    ...(ca === undefined ? {} : trustIn(ca)),
  };
  if (proxy === undefined) return lineAgent(tls, { within_ms, counted });
  return tunnelAgent({ proxy: new URL(proxy), counted, within_ms }, { keepAlive: true, ...tls });
}

async function readAnswer(answer: IncomingMessage): Promise<HttpAnswer> {
  const status = answer.statusCode ?? 0;
  const limit = status < 400 ? MAX_ANSWER_BYTES : MAX_ERROR_BYTES;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit && status < 400) throw new Error(`the answer is larger than ${limit} bytes`);
    if (size <= limit) chunks.push(chunk);
  }
  return { status, headers: answer.headers, text: Buffer.concat(chunks).toString("utf8") };
}

/** Keep-alive connections through an HTTP proxy (CONNECT, RFC 9110, 9.3.6); TLS is with the service itself, verified as always. */
function tunnelAgent(way: Tunnel, options: AgentOptions): Connections {
  const agent = new HttpsAgent(options);
  // A tunnel that is still to come is in no agent's hands.
  const coming = new Set<ClientRequest>();
  agent.createConnection = (target, settle) => {
    const call = openTunnel(way, target, settle ?? (() => undefined));
    coming.add(call);
    call.once("close", () => coming.delete(call));
    return undefined;
  };
  return {
    agent,
    close(reason) {
      for (const call of coming) call.destroy(reason);
      agent.destroy();
    },
  };
}

interface Tunnel {
  readonly proxy: URL;
  readonly counted: Counted | undefined;
  readonly within_ms: number;
}

function openTunnel(
  { proxy, counted, within_ms }: Tunnel,
  options: RequestOptions,
  settle: (error: Error | null, stream: Duplex) => void,
): ClientRequest {
  const host = options.host ?? "";
  const target = `${host}:${String(options.port ?? 443)}`;
  const call = httpRequest({
    host: proxy.hostname,
    port: proxy.port === "" ? 80 : Number(proxy.port),
    method: "CONNECT",
    path: target,
    headers: { Host: target },
    timeout: TUNNEL_TIMEOUT_MS,
  });
  // The type wants a stream there; nobody looks at it beside an error.
  const fail = (error: Error): void => settle(error, new PassThrough());
  call.on("socket", (socket) => counted?.meter.count(socket, counted.purpose));
  call.on("timeout", () => call.destroy(new Error("the proxy doesn't answer")));
  call.on("error", fail);
  call.on("connect", ({ statusCode = 0 }, socket) => {
    // RFC 6066, 3: an address is no server name.
    const named = isIP(host) === 0 ? { servername: host } : {};
    if (statusCode === 200) {
      const secure = tlsConnect({ ...(options as object), socket, ...named });
      secureWithin(secure, within_ms);
      settle(null, secure);
    } else {
      socket.destroy();
      fail(new Error(`the proxy refuses the way to ${target} (${statusCode})`));
    }
  });
  call.end();
  return call;
}
