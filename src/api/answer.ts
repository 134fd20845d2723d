import { message } from "../domain/message.ts";
import { errorText } from "../domain/messages/message-error.ts";
import { rendered } from "../domain/messages/render.ts";
import { jsonOf } from "../domain/json.ts";
import { CLOSING, type LocalAnswer, type LocalOperation, Refusal } from "./operation.ts";
import type { Answering, Asking } from "./over-tls.ts";
import type { AskedReport, AskReport } from "./report.ts";

const MAX_BODY_BYTES = 16_384;
/** Levels of a body; none of the API's bodies has more. */
const MAX_DEPTH = 16;
/** Names that reach into JavaScript's own objects. */
const REFUSED_KEYS = new Set(["__proto__", "constructor", "prototype"]);

/** Sends a text as it is, anything else as JSON, with its messages in English. `said`: also with their codes and values. */
export function send(
  response: Answering,
  { status, body, headers = {} }: Extract<LocalAnswer, { readonly status: number }>,
  { said = false } = {},
): void {
  const isText = typeof body === "string";
  // HTTP/2 cannot end a connection by a header.
  const { Connection, ...rest } = headers;
  response.writeHead(status, {
    "Content-Type": isText ? "text/plain; version=0.0.4; charset=utf-8" : "application/json; charset=utf-8",
    "Cache-Control": "no-store",
    ...(Connection === undefined || "stream" in response ? rest : headers),
  });
  response.end(isText ? body : `${JSON.stringify(rendered(body, { said }))}\n`);
}

/** Sends an error. If the answer has started, ends the connection, so that the reader notices that it is not complete. */
export function sendFailure(response: Answering, error: unknown, { said = false } = {}): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const { status, headers } = error instanceof Refusal ? error : { status: 500, headers: {} };
  send(response, { status, body: { error: errorText(error) }, headers }, { said });
}

/** Reads the body as text. Rejects with a Refusal if it is too large. */
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

/** Returns a parser for bodies of this shape, which throws a Refusal that says what is needed. Shapes are loaded when they are needed. */
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

/** Parses a request body. Returns undefined if it isn't JSON, is nested too deep, or has a key that no shape accepts. */
export function bodyOf(text: string): unknown {
  const body = jsonOf(text, MAX_DEPTH);
  return hasRefusedKey(body) ? undefined : body;
}

/** Recurses at most `MAX_DEPTH` levels. */
function hasRefusedKey(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([key, inner]) => REFUSED_KEYS.has(key) || hasRefusedKey(inner));
}

/** Sends a report part by part, at the reader's pace. */
export async function sendReport(response: Answering, asked: AskedReport, ask: AskReport): Promise<void> {
  const report = await ask(asked);
  response.writeHead(report.status, { ...report.headers, "Cache-Control": "no-store" });
  for await (const part of report.body) await writePart(response, part);
  response.end();
}

/** Resolves once the kernel has the part, so that its memory may be reused. Rejects if the reader leaves, which ends the report. */
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
