import type { ClientRequest, IncomingMessage, RequestOptions } from "node:http";
import type { Agent, AgentOptions } from "node:https";
import { isIP, type Socket } from "node:net";
import { PassThrough, type Duplex } from "node:stream";
import { connect as tlsConnect } from "node:tls";
import { withPublicRoots } from "../tls.ts";

/** An import of node:http would load its WebSocket, and with it undici: 14 MB and 40 ms of CPU. */
const { Agent: HttpAgent, request: httpRequest } = process.getBuiltinModule("node:http");
const { Agent: HttpsAgent, request: httpsRequest } = process.getBuiltinModule("node:https");

/** The whole exchange must be done within this. */
const TOTAL_TIMEOUT_MS = 30_000;
/** The connection, TLS included, must stand within this. */
const CONNECT_TIMEOUT_MS = 10_000;
/** The proxy answers within this, or there is none. */
const TUNNEL_TIMEOUT_MS = 10_000;
/** More of an answer is never read: records are a few KiB. */
const MAX_ANSWER_BYTES = 1_048_576;
/** Of an error's body only this much. */
const MAX_ERROR_BYTES = 65_536;

export interface HttpRequest {
  readonly method: "GET" | "POST" | "PUT";
  readonly path: string;
  readonly key: string;
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
  /** Default 10 s. */
  readonly connect_timeout_ms?: number;
  /** Default 30 s. */
  readonly total_timeout_ms?: number;
}

/** The gateway is stopping: nobody waits for an answer any more. */
export class HttpClosed extends Error {}

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
  const { connect_timeout_ms = CONNECT_TIMEOUT_MS, total_timeout_ms = TOTAL_TIMEOUT_MS } = options;
  const agent = secure ? secureAgent(options) : new HttpAgent({ keepAlive: true, maxSockets: 2 });
  const open = secure ? httpsRequest : httpRequest;
  // The agent's own end would let requests that wait for a connection make one.
  const calls = new Set<ClientRequest>();
  let isClosed = false;
  return {
    send: (request) =>
      new Promise((resolve, reject) => {
        if (isClosed) {
          reject(new HttpClosed("the gateway is stopping"));
          return;
        }
        const body = request.body === undefined ? undefined : JSON.stringify(request.body);
        const content =
          body === undefined ? {} : { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) };
        const call = open(new URL(request.path, base), {
          method: request.method,
          agent,
          signal: AbortSignal.timeout(total_timeout_ms),
          headers: { Authorization: request.key, Accept: "application/json", ...content, ...request.headers },
        });
        calls.add(call);
        call.on("close", () => calls.delete(call));
        call.on("error", reject);
        call.on("socket", (socket) => connectWithin(call, socket, { secure, connect_timeout_ms }));
        call.on("response", (answer) => void readAnswer(answer).then(resolve, reject));
        call.end(body);
      }),
    close: () => {
      isClosed = true;
      for (const call of calls) call.destroy(new HttpClosed("the gateway is stopping"));
      agent.destroy();
    },
  };
}

function secureAgent({ ca, proxy }: HttpClientOptions): Agent {
  const options = {
    keepAlive: true,
    maxSockets: 2,
    minVersion: "TLSv1.2" as const,
    ...(ca === undefined ? {} : { ca: withPublicRoots(ca) }),
  };
  return proxy === undefined ? new HttpsAgent(options) : tunnelAgent(new URL(proxy), options);
}

/** A host that swallows packets must not hold a request for the whole of its time. */
function connectWithin(
  call: ClientRequest,
  socket: Socket,
  { secure, connect_timeout_ms }: { readonly secure: boolean; readonly connect_timeout_ms: number },
): void {
  if (!socket.connecting) return;
  const timer = setTimeout(
    () => call.destroy(new Error(`no connection within ${(connect_timeout_ms / 1000).toString()} s`)),
    connect_timeout_ms,
  );
  socket.once(secure ? "secureConnect" : "connect", () => clearTimeout(timer));
  socket.once("close", () => clearTimeout(timer));
}

async function readAnswer(answer: IncomingMessage): Promise<HttpAnswer> {
  const status = answer.statusCode ?? 0;
  const limit = status < 400 ? MAX_ANSWER_BYTES : MAX_ERROR_BYTES;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit && status < 400) throw new Error(`the answer is larger than ${limit.toString()} bytes`);
    if (size <= limit) chunks.push(chunk);
  }
  return { status, headers: answer.headers, text: Buffer.concat(chunks).toString("utf8") };
}

/** Keep-alive connections through an HTTP proxy (CONNECT, RFC 9110, 9.3.6); TLS is with the service itself, verified as always. */
function tunnelAgent(proxy: URL, options: AgentOptions): Agent {
  const agent = new HttpsAgent(options);
  agent.createConnection = (target, settle) => {
    openTunnel(proxy, target, settle ?? (() => undefined));
    return undefined;
  };
  return agent;
}

function openTunnel(proxy: URL, options: RequestOptions, settle: (error: Error | null, stream: Duplex) => void): void {
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
  call.on("timeout", () => call.destroy(new Error("the proxy doesn't answer")));
  call.on("error", fail);
  call.on("connect", ({ statusCode = 0 }, socket) => {
    // RFC 6066, 3: an address is no server name.
    const named = isIP(host) === 0 ? { servername: host } : {};
    if (statusCode === 200) settle(null, tlsConnect({ ...(options as object), socket, ...named }));
    else {
      socket.destroy();
      fail(new Error(`the proxy refuses the way to ${target} (${statusCode.toString()})`));
    }
  });
  call.end();
}
