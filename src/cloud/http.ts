import type { IncomingMessage } from "node:http";
import { withPublicRoots } from "./tls.ts";

/** An import of node:http would load its WebSocket, and with it undici: 14 MB and 40 ms of CPU. */
const { Agent: HttpAgent, request: httpRequest } = process.getBuiltinModule("node:http");
const { Agent: HttpsAgent, request: httpsRequest } = process.getBuiltinModule("node:https");

/** The whole exchange must be done within this. */
const TOTAL_TIMEOUT_MS = 30_000;
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

export interface HttpClient {
  /** One try. Rejects with an Error on network trouble, time-out, or an answer over its limit. */
  send(request: HttpRequest): Promise<HttpAnswer>;
  close(): void;
}

/** node:http with keep-alive: global fetch would cost 70 MB of memory. TLS is always verified. */
export function createHttpClient(options: { readonly baseUrl: string; readonly ca?: string }): HttpClient {
  const base = new URL(options.baseUrl);
  const secure = base.protocol === "https:";
  const agent = secure
    ? new HttpsAgent({
        keepAlive: true,
        maxSockets: 2,
        minVersion: "TLSv1.2",
        ...(options.ca === undefined ? {} : { ca: withPublicRoots(options.ca) }),
      })
    : new HttpAgent({ keepAlive: true, maxSockets: 2 });
  const open = secure ? httpsRequest : httpRequest;
  return {
    send: (request) =>
      new Promise((resolve, reject) => {
        const body = request.body === undefined ? undefined : JSON.stringify(request.body);
        const call = open(new URL(request.path, base), {
          method: request.method,
          agent,
          signal: AbortSignal.timeout(TOTAL_TIMEOUT_MS),
          headers: headersOf(request, body),
        });
        call.on("error", reject);
        call.on("response", (answer) => void readAnswer(answer).then(resolve, reject));
        call.end(body);
      }),
    close: () => agent.destroy(),
  };
}

function headersOf(request: HttpRequest, body: string | undefined): Record<string, string | number> {
  const content =
    body === undefined ? {} : { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) };
  return { Authorization: request.key, Accept: "application/json", ...content, ...request.headers };
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
