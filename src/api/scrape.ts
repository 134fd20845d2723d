import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AgentControl } from "../domain/agent-control.ts";
import { message } from "../domain/message.ts";
import { errorText, MessageError } from "../domain/messages/message-error.ts";
import type { PageAccess } from "../domain/status.ts";
import { monotonicMs } from "../monotonic.ts";
import { createRate, remember, senderOf } from "./crowd.ts";
import { metricsText } from "./looks.ts";
import { secureServer, type PageCertificate } from "./server.ts";

/** Minimum length of a token: 32 hex digits hold 128 bits. */
const LEAST_TOKEN = 32;
/** Rate of wrong tokens per sender. Beyond it, all requests of the sender are rejected for `WAIT_S`. */
const WRONG = { per_s: 1 / 60, burst: 5 };
/** Rate of requests per sender; a scraper sends one every 10 s. */
const ASKED = { per_s: 5, burst: 50 };
const WAIT_S = 60;

interface ScrapeSetting {
  readonly port: number;
  /** Reads the token. It is read at each request, so that a new token needs no restart. Throws if the token's file can't be used. */
  readonly token: () => string;
  readonly certificate: () => Promise<PageCertificate>;
  readonly control: Pick<AgentControl, "status" | "counts">;
}

export interface ScrapeListener {
  readonly state: NonNullable<PageAccess["scraped"]>;
  close(): void;
}

/**
 * Serves `GET /metrics` on the network to a scraper with a bearer token. It uses the page's certificate, but a separate port that gives no
 * access to the page. Never rejects: if it can't listen, `state` has the reason.
 */
export async function openScrape(setting: ScrapeSetting): Promise<ScrapeListener> {
  try {
    tokenIn(setting);
    const { key, cert } = await setting.certificate();
    const refusalFor = createGate(setting);
    const server = secureServer({ key, cert }, (request, response) => {
      void answer(setting, refusalFor(request), response).catch(() => response.destroy());
    });
    const port = await server.listen({ port: setting.port });
    return { state: { port, trouble: "" }, close: server.close };
  } catch (error) {
    return { state: { port: setting.port, trouble: errorText(error) }, close: () => undefined };
  }
}

type Refused = readonly [status: number, headers: Readonly<Record<string, string>>];

async function answer({ control }: ScrapeSetting, refused: Refused | null, response: ServerResponse): Promise<void> {
  if (refused !== null) {
    const [status, headers] = refused;
    response.writeHead(status, { ...headers, Connection: "close", "Content-Length": 0 }).end();
    return;
  }
  const body = await metricsText(control);
  const headers = { "Content-Type": "text/plain; version=0.0.4; charset=utf-8", "Cache-Control": "no-store" };
  response.writeHead(200, { ...headers, "Content-Length": Buffer.byteLength(body) }).end(body);
}

/**
 * Returns a function that checks a request and returns the error to send, or null. Without the right token, every path gets the same error.
 */
function createGate(setting: ScrapeSetting): (request: IncomingMessage) => Refused | null {
  const mayAsk = createRate(ASKED, monotonicMs);
  const mayBeWrong = createRate(WRONG, monotonicMs);
  const locked_until = new Map<string, number>();
  return ({ socket, url, method, headers: { authorization = "" } }) => {
    const sender = senderOf(socket.remoteAddress);
    const isLocked = (locked_until.get(sender) ?? 0) > monotonicMs();
    if (!mayAsk(sender) || isLocked) return [429, { "Retry-After": WAIT_S.toString() }];
    const [, token] = /^Bearer (\S+)$/i.exec(authorization) ?? [];
    if (token === undefined || !timingSafeEqual(hashOf(token), hashOf(tokenIn(setting)))) {
      if (!mayBeWrong(sender)) remember(locked_until, sender, monotonicMs() + WAIT_S * 1000);
      return [401, { "WWW-Authenticate": "Bearer" }];
    }
    if (url !== "/metrics") return [404, {}];
    return method === "GET" ? null : [405, { Allow: "GET" }];
  };
}

function tokenIn({ token }: ScrapeSetting): string {
  const text = token();
  if (text.length < LEAST_TOKEN) throw new MessageError(message("serve.token", { least: LEAST_TOKEN }));
  return text;
}

/** Returns the hash of a token. Hashes have the same length, as `timingSafeEqual` requires. */
function hashOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
