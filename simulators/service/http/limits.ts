import type { Socket } from "node:net";
import { STATUS_CODES } from "node:http";
import type { Server } from "node:http";
import type { FastifyHttpOptions } from "fastify";
import { textOf } from "../base/utf8.ts";
import { HttpError } from "../base/errors.ts";

/** Largest request body, bytes. */
const BODY_LIMIT = 256 * 1024;
/** Deeper than any body of the interface; beyond some thousands, writing such a value back would exhaust the stack. */
const MAX_DEPTH = 32;
/** Time within which a whole request with its body must arrive. A slower one gets 408. */
const REQUEST_MS = 10_000;
/** Interval at which connections are checked for slow requests. */
const LOOK_OVER_MS = 500;

/** Limits of a request's size and time, and the answer to broken HTTP in the service's form. */
export const LIMITS = {
  bodyLimit: BODY_LIMIT,
  requestTimeout: REQUEST_MS,
  http: { connectionsCheckingInterval: LOOK_OVER_MS, headersTimeout: REQUEST_MS },
  clientErrorHandler: answerBrokenHttp,
} satisfies FastifyHttpOptions<Server>;

const BROKEN: Readonly<Record<string, number>> = { ERR_HTTP_REQUEST_TIMEOUT: 408, HPE_HEADER_OVERFLOW: 431 };

/** Answers bytes that are not an HTTP request, and closes the connection. */
function answerBrokenHttp(error: { readonly code: string }, socket: Socket): void {
  if (error.code === "ECONNRESET" || socket.destroyed) return;
  // A second answer would be taken for that to the next request, if the body of an answered request broke off.
  if (socket.bytesWritten > 0) {
    socket.destroySoon();
    return;
  }
  const status = BROKEN[error.code] ?? 400;
  const reason = STATUS_CODES[status] ?? "";
  const body = JSON.stringify({ error: reason.toLowerCase() });
  const head = `HTTP/1.1 ${status} ${reason}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
  if (socket.writable) socket.write(`${head}Connection: close\r\n\r\n${body}`);
  socket.destroySoon();
}

/**
 * Parses the body's JSON; null for an empty body, because a POST without a body may still have the JSON content type.
 * Throws an HttpError: 400.
 */
export function readJson(body: Uint8Array): unknown {
  const text = utf8(body);
  if (text === "") return null;
  if (depthOf(text) > MAX_DEPTH) throw new HttpError(400, "the body is nested too deeply");
  const value = parsed(text);
  // Only an escape can bring a NUL into a JSON text. PostgreSQL can't store one.
  if (text.includes("\\u0000") && hasNul(value)) throw new HttpError(400, "a text in the body has a NUL");
  return value;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new HttpError(400, "the body is not JSON");
  }
}

function hasNul(value: unknown): boolean {
  if (typeof value === "string") return value.includes("\0");
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([name, inner]) => name.includes("\0") || hasNul(inner));
}

function utf8(body: Uint8Array): string {
  try {
    return textOf(body);
  } catch {
    throw new HttpError(400, "the body is not UTF-8");
  }
}

/** Returns the nesting depth of brackets outside of strings. */
function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  let isQuoted = false;
  for (let i = 0; i < text.length; i += 1) {
    const letter = text[i];
    if (letter === '"') isQuoted = !isQuoted;
    else if (isQuoted) i += letter === "\\" ? 1 : 0;
    else if (letter === "{" || letter === "[") deepest = Math.max(deepest, ++depth);
    else if (letter === "}" || letter === "]") depth -= 1;
  }
  return deepest;
}
