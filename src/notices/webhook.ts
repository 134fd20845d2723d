import { message } from "../domain/message.ts";
import { createHmac } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { FileError } from "../credential-files.ts";
import { tlsReason, type Trust, trustInFile } from "../delivery/tls.ts";
import { systemErrorText } from "../domain/system-error.ts";
import { faultOfCode, tlsFaultOf } from "../domain/link-error.ts";
import type { NoticeOutcome } from "../domain/notice.ts";
import { HOUR_MS } from "../domain/time.ts";
import type { Milliseconds } from "../domain/units.ts";
import { failure } from "./failure.ts";
import type { OpenChannel } from "./port.ts";

/** Node's HTTP client, loaded without `import`: an import would also load WebSocket and undici, which cost 14 MB and 40 ms of CPU. */
const { request: httpRequest } = process.getBuiltinModule("node:http");
const { request: httpsRequest } = process.getBuiltinModule("node:https");

const TOTAL_MS: Milliseconds = 30_000;
/** The maximum number of characters to read of an answer. A secret that the answer quotes can only be found if it is complete. */
const ANSWER_CHARS = 4_096;
/** The longest wait that a server may ask for, because an alarm must not wait for a day. */
const MOST_AGAIN_MS: Milliseconds = HOUR_MS;

/** Sends notices as a POST request with a JSON document. */
export const openWebhook: OpenChannel = (machine, { webhook }) => {
  if (webhook === undefined) throw new Error("a notice without a webhook is none by webhook");
  const { url, secret_file, ca_file } = webhook;
  return async ({ id, document }, signal) => {
    try {
      const body = JSON.stringify(document);
      const signature =
        secret_file === undefined ? {} : { "X-Signature": signatureOf(body, machine.secret(secret_file)) };
      const answer = await post(url, body, {
        headers: { "X-Notice-Id": id, ...signature },
        signal: AbortSignal.any([signal, AbortSignal.timeout(TOTAL_MS)]),
        ...(ca_file === undefined ? {} : trustInFile(ca_file)),
      });
      return outcomeOf(answer);
    } catch (error) {
      return failed(error);
    }
  };
};

/** Returns the signature of a body. Signs the time `t` too, so that a receiver can reject a replayed request. */
function signatureOf(body: string, secret: string): string {
  const t = Math.floor(Date.now() / 1000).toString();
  return `t=${t},sha256=${createHmac("sha256", secret).update(`${t}.${body}`).digest("hex")}`;
}

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly again_ms: number | null;
}

function post(
  url: string,
  body: string,
  {
    headers,
    ...rest
  }: { readonly headers: Readonly<Record<string, string>>; readonly signal: AbortSignal } & Partial<Trust>,
): Promise<Answer> {
  const open = url.startsWith("https:") ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const content = { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) };
    const call = open(url, {
      ...rest,
      method: "POST",
      // Uses a new connection for each request, because notices are few.
      agent: false,
      minVersion: "TLSv1.2",
      headers: { ...content, "User-Agent": "booth-gateway", ...headers },
    });
    call.on("error", reject);
    call.on("response", (answer) => void readAnswer(answer).then(resolve, reject));
    call.end(body);
  });
}

/** Reads an answer. If its body breaks off, the status still counts. */
async function readAnswer(answer: IncomingMessage): Promise<Answer> {
  answer.setEncoding("utf8");
  let text = "";
  try {
    for await (const chunk of answer as AsyncIterable<string>) {
      text += chunk;
      if (text.length > ANSWER_CHARS) break;
    }
  } catch {
    // Continues without the rest of the body, because the status has arrived.
  }
  answer.destroy();
  const after = Number(answer.headers["retry-after"]);
  const again_ms = Number.isFinite(after) && after > 0 ? Math.min(after * 1000, MOST_AGAIN_MS) : null;
  const plain = text
    .slice(0, ANSWER_CHARS)
    .replaceAll(/\p{Cc}+/gu, " ")
    .trim();
  return { status: answer.statusCode ?? 0, text: plain, again_ms };
}

function outcomeOf({ status, text, again_ms }: Answer): NoticeOutcome {
  const answer = `HTTP ${status}${text === "" ? "" : `: ${text}`}`;
  if (status >= 200 && status < 300) return { kind: "delivered", answer };
  const isLater = status >= 500 || status === 408 || status === 429;
  const fault = isLater ? "later" : status === 401 || status === 403 ? "credential" : "refused";
  // Treats 5xx as unknown, because the request may have arrived before a failure behind the server.
  const kind = status >= 500 ? "unknown" : "not_delivered";
  return { ...failure(kind, fault, message("notice.server_says", { answer })), isPermanent: !isLater, again_ms };
}

function failed(error: unknown): NoticeOutcome {
  const reason = tlsReason(error) ?? (error instanceof Error ? systemErrorText(error) : String(error));
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  // Reports "not delivered" only for a missing name, connection or certificate, which prove that nothing was sent.
  const fault = code === "ECONNRESET" ? null : (tlsFaultOf(error) ?? faultOfCode(code));
  if (fault !== null && fault !== "closed") return failure("not_delivered", fault, reason);
  return error instanceof FileError ? failure("not_delivered", "file", reason) : failure("unknown", "closed", reason);
}
