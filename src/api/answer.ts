import type { IncomingMessage, ServerResponse } from "node:http";
import type { LocalAnswer } from "./routes.ts";

const MAX_BODY_BYTES = 16_384;

/** A text as it is, anything else as JSON. */
export function send(response: ServerResponse, { status, body, headers = {} }: LocalAnswer): void {
  const isText = typeof body === "string";
  response.writeHead(status, {
    "Content-Type": isText ? "text/plain; version=0.0.4; charset=utf-8" : "application/json; charset=utf-8",
    "Cache-Control": "no-store",
    ...headers,
  });
  response.end(isText ? body : `${JSON.stringify(body)}\n`);
}

/** Half an answer can't be taken back: the connection ends, and its reader sees that it is not whole. */
export function sendFailure(response: ServerResponse, error: unknown): void {
  if (response.headersSent) response.destroy();
  else send(response, { status: 500, body: { error: error instanceof Error ? error.message : String(error) } });
}

/** The body as text; null where it is too large. */
export async function readBody(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

export const TOO_LARGE: LocalAnswer = {
  status: 413,
  body: { error: `the body is over ${MAX_BODY_BYTES.toString()} bytes` },
  headers: { Connection: "close" },
};
