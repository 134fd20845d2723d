import type { ClientRequest, IncomingMessage } from "node:http";
import type { CertificatePair } from "../../credential-files.ts";
import { type Connections, type Counted, limitConcurrency, lineAgent, openLine } from "../line.ts";
import { explained, trustIn } from "../tls.ts";

/** Without an import of node:http, which would load its WebSocket and with it undici: 14 MB and 40 ms of CPU. */
const { request: httpRequest } = process.getBuiltinModule("node:http");
const { request: httpsRequest } = process.getBuiltinModule("node:https");

/** Time for the whole exchange. */
const TOTAL_TIMEOUT_MS = 30_000;
/** Time for the connection, TLS included, and for the answer of a proxy. */
const CONNECT_TIMEOUT_MS = 10_000;
/** A small service must not be flooded by one box. */
const MAX_CONNECTIONS = 2;
/** Limit of an answer: records are a few KiB. */
const MAX_ANSWER_BYTES = 1_048_576;
/** Limit of an error's body; the rest is ignored. */
const MAX_ERROR_BYTES = 65_536;

export interface HttpRequest {
  readonly method: "GET" | "POST" | "PUT";
  readonly path: string;
  /** "": the request has no Authorization header. */
  readonly key: string;
  /** Sent as JSON; bytes are sent unchanged, with the content type of JSON. */
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
  /** A site's own authority, PEM, in addition to the public ones. */
  readonly ca?: string;
  /** http://HOST:PORT of a proxy for an https:// service. */
  readonly proxy?: string;
  /** Presented to a server that asks for one. */
  readonly certificate?: CertificatePair;
  /** Absent: the bytes aren't counted. */
  readonly counted?: Counted;
  /** Default 10 s. */
  readonly connect_timeout_ms?: number;
  /** Default 30 s. */
  readonly total_timeout_ms?: number;
}

/** The client was closed before an answer came. */
export class HttpClosed extends Error {
  constructor() {
    super("the gateway is stopping");
  }
}

export interface HttpClient {
  /** Tries once. Rejects with an Error on network trouble, on a timeout, or if the answer is over its limit. */
  send(request: HttpRequest): Promise<HttpAnswer>;
  /** Ends all requests under way, which reject with HttpClosed, as every later request does. */
  close(): void;
}

/** Returns a client over node:http with keep-alive; global fetch would cost 70 MB of memory. TLS is always verified. */
export function createHttpClient(options: HttpClientOptions): HttpClient {
  const { baseUrl, total_timeout_ms = TOTAL_TIMEOUT_MS } = options;
  const connections = connectionsFor(options);
  const request = new URL(baseUrl).protocol === "https:" ? httpsRequest : httpRequest;
  // agent.destroy() would let requests that wait for a connection open a new one.
  const calls = new Set<ClientRequest>();
  const limited = limitConcurrency(MAX_CONNECTIONS);
  let isClosed = false;
  const exchange = ({ method, path, key, body, headers }: HttpRequest): Promise<HttpAnswer> =>
    new Promise((resolve, reject) => {
      if (isClosed) {
        reject(new HttpClosed());
        return;
      }
      const bytes = body === undefined || body instanceof Uint8Array ? body : JSON.stringify(body);
      const content =
        bytes === undefined ? {} : { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(bytes) };
      const authorization = key === "" ? {} : { Authorization: key };
      const call = request(new URL(path, baseUrl), {
        method,
        agent: connections.agent,
        signal: AbortSignal.timeout(total_timeout_ms),
        headers: { ...authorization, Accept: "application/json", ...content, ...headers },
      });
      calls.add(call);
      call.on("close", () => calls.delete(call));
      call.on("error", (error) => reject(explained(error)));
      call.on("response", (answer) => void readAnswer(answer).then(resolve, reject));
      call.end(bytes);
    });
  return {
    send: (sent) => limited(() => exchange(sent)),
    close() {
      isClosed = true;
      for (const call of calls) call.destroy(new HttpClosed());
      connections.close(new HttpClosed());
    },
  };
}

/** TLS to the service, through the proxy if there is one. Without TLS only for a service on this machine. */
function connectionsFor({ baseUrl, ca, proxy, certificate, counted, ...options }: HttpClientOptions): Connections {
  const opening = { counted, within_ms: options.connect_timeout_ms ?? CONNECT_TIMEOUT_MS };
  if (new URL(baseUrl).protocol !== "https:") return lineAgent(null, opening);
  const tls = {
    minVersion: "TLSv1.2" as const,
    ...certificate,
    ...(ca === undefined ? {} : trustIn(ca)),
  };
  return lineAgent(tls, opening, proxy === undefined ? openLine : tunnelBy(new URL(proxy)));
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

/** Returns a function that opens connections through an HTTP proxy (CONNECT, RFC 9110, 9.3.6). */
function tunnelBy(proxy: URL): (...args: Parameters<typeof openLine>) => ClientRequest {
  return ({ host, port, within_ms, counted }, settle) => {
    const target = `${host}:${port}`;
    const call = httpRequest({
      host: proxy.hostname,
      port: proxy.port === "" ? 80 : Number(proxy.port),
      method: "CONNECT",
      path: target,
      headers: { Host: target },
      timeout: Math.min(within_ms, CONNECT_TIMEOUT_MS),
    });
    call.on("socket", (socket) => counted?.meter.count(socket, counted.purpose));
    call.on("timeout", () => call.destroy(new Error("the proxy doesn't answer")));
    call.on("error", (error) => settle(error));
    call.on("connect", ({ statusCode = 0 }, socket) => {
      if (statusCode === 200) settle(null, socket);
      else {
        socket.destroy();
        settle(new Error(`the proxy refuses the way to ${target} (${statusCode})`));
      }
    });
    call.end();
    return call;
  };
}
