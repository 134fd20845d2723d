import { message } from "../domain/message.ts";
import { errorText } from "../domain/messages/message-error.ts";
import { rendered } from "../domain/messages/render.ts";
import { jsonOf } from "../domain/json.ts";
import { CLOSING, type LocalAnswer, type LocalOperation, Refusal } from "./operation.ts";
import type { Answering, Asking } from "./over-tls.ts";
import type { AskedReport, AskReport } from "./report.ts";

const MAX_BODY_BYTES = 16_384;
/** Maximum nesting of a request body. No body of the API is nested deeper. */
const MAX_DEPTH = 16;
/** Names of keys that would change JavaScript's own objects. */
const REFUSED_KEYS = new Set(["__proto__", "constructor", "prototype"]);

/** Sends a text unchanged and any other body as JSON, with messages in English. `said`: adds the messages' codes and values. */
export function send(
  response: Answering,
  { status, body, headers = {} }: Extract<LocalAnswer, { readonly status: number }>,
  { said = false } = {},
): void {
  const isText = typeof body === "string";
  // `Connection` is sent over HTTP/1.1 only, because HTTP/2 does not allow this header.
  const { Connection, ...rest } = headers;
  response.writeHead(status, {
    "Content-Type": isText ? "text/plain; version=0.0.4; charset=utf-8" : "application/json; charset=utf-8",
    "Cache-Control": "no-store",
    ...(Connection === undefined || "stream" in response ? rest : headers),
  });
  response.end(isText ? body : `${JSON.stringify(rendered(body, { said }))}\n`);
}

/** Sends an error. If the answer has already started, closes the connection, so that the client notices that the answer is incomplete. */
export function sendFailure(response: Answering, error: unknown, { said = false } = {}): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const { status, headers } = error instanceof Refusal ? error : { status: 500, headers: {} };
  send(response, { status, body: { error: errorText(error) }, headers }, { said });
}

/** Reads a request body as text. Rejects with a Refusal if the body is too large. */
export async function readBody(request: Asking, most_bytes = MAX_BODY_BYTES): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > most_bytes) throw new Refusal(413, message("ask.too_large", { bytes: most_bytes.toString() }), CLOSING);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Loads the schema of a body. Returns a parser, which throws a Refusal that says what is needed. */
export async function bodyReader(name: LocalOperation["body"]): Promise<(text: string) => unknown> {
  if (name === undefined) return () => undefined;
  const { BODIES } = await import("../contract/local.ts");
  const body: (typeof BODIES)[typeof name] & { readonly may_be_empty?: true } = BODIES[name];
  return (text) => {
    const parsed = body.shape.safeParse(text === "" && body.may_be_empty === true ? {} : bodyOf(text));
    if (!parsed.success) throw new Refusal(400, body.needs);
    return parsed.data;
  };
}

/** Parses a request body. Returns undefined if the body is not JSON, is nested too deep, or has a forbidden key. */
export function bodyOf(text: string): unknown {
  const body = jsonOf(text, MAX_DEPTH);
  return hasRefusedKey(body) ? undefined : body;
}

/** Returns whether an object has a forbidden key at any level. Recursion is at most `MAX_DEPTH` levels deep. */
function hasRefusedKey(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([key, inner]) => REFUSED_KEYS.has(key) || hasRefusedKey(inner));
}

/** Sends a report part by part, as fast as the reader receives it. */
export async function sendReport(response: Answering, asked: AskedReport, ask: AskReport): Promise<void> {
  const report = await ask(asked);
  response.writeHead(report.status, { ...report.headers, "Cache-Control": "no-store" });
  for await (const part of report.body) await writePart(response, part);
  response.end();
}

/**
 * Writes a part. Resolves once the kernel has it, so that its memory can be reused. Rejects if the reader disconnects, which ends the
 * report.
 */
function writePart(response: Answering, part: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    const left = (): void => reject(new Error("the reader has gone"));
    response.once("close", left);
    response.write(part, (error) => {
      response.off("close", left);
      if (error) reject(error);
      else resolve();
    });
  });
}
