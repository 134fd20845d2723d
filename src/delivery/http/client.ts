import type { ClientRequest, IncomingMessage } from "node:http";
import type { CertificatePair } from "../../credential-files.ts";
import { type Connections, type Counted, limitConcurrency, lineAgent, openLine } from "../line.ts";
import { explained, trustIn } from "../tls.ts";

/** `getBuiltinModule`, because an import of node:http would load its WebSocket and with it undici: 14 MB and 40 ms of CPU. */
const { request: httpRequest } = process.getBuiltinModule("node:http");
const { request: httpsRequest } = process.getBuiltinModule("node:https");

/** Deadline of the whole exchange. */
const TOTAL_TIMEOUT_MS = 30_000;
/** Deadline of the connection including TLS, and of a proxy's answer. */
const CONNECT_TIMEOUT_MS = 10_000;
/** Maximum number of connections, so that one gateway can't flood a small service. */
const MAX_CONNECTIONS = 2;
/** Size limit of an answer. Records have a few KiB. */
const MAX_ANSWER_BYTES = 1_048_576;
/** Size limit of an error's body. The rest is ignored. */
const MAX_ERROR_BYTES = 65_536;

export interface HttpRequest {
  readonly method: "GET" | "POST" | "PUT";
  readonly path: string;
  /** Value of the Authorization header; "": the request has no such header. */
  readonly key: string;
  /** Sent as JSON. Bytes are sent unchanged, with the content type of JSON. */
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
  /** Certificate of a site's own authority, PEM, which is trusted in addition to the public authorities. */
  readonly ca?: string;
  /** URL (http://HOST:PORT) of a proxy for an https:// service. */
  readonly proxy?: string;
  /** The gateway's certificate, for servers that request one. */
  readonly certificate?: CertificatePair;
  /** The meter for the connection's bytes. Absent: the bytes aren't counted. */
  readonly counted?: Counted;
  /** Deadline of the connection. Default: 10 s. */
  readonly connect_timeout_ms?: number;
  /** Deadline of the whole exchange. Default: 30 s. */
  readonly total_timeout_ms?: number;
}

/** The client was closed before an answer arrived. */
export class HttpClosed extends Error {
  constructor() {
    super("the gateway is stopping");
  }
}

export interface HttpClient {
  /** Sends a request once. Rejects with an Error after a network failure, after a timeout, or if the answer exceeds its size limit. */
  send(request: HttpRequest): Promise<HttpAnswer>;
  /** Ends all pending requests. They reject with HttpClosed, and so does every later request. */
  close(): void;
}

/** Returns a client over node:http with keep-alive; the global fetch would need 70 MB of memory. TLS certificates are always verified. */
export function createHttpClient(options: HttpClientOptions): HttpClient {
  const { baseUrl, total_timeout_ms = TOTAL_TIMEOUT_MS } = options;
  const connections = connectionsFor(options);
  const request = new URL(baseUrl).protocol === "https:" ? httpsRequest : httpRequest;
  // Requests in progress. They are ended one by one, because after agent.destroy() those that wait for a connection would open a new one.
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

/** Returns connections with TLS to the service, through the proxy if there is one. For a service on this machine, TLS is optional. */
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
