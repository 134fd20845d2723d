import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AgentControl } from "../domain/agent-control.ts";
import type { PageAccess } from "../domain/status.ts";
import { metricsOf } from "../contract/metrics.ts";
import { createRate, remember, senderOf } from "./crowd.ts";
import { processFigures, prometheusText } from "./metrics.ts";
import { secureServer, type PageCertificate } from "./server.ts";
import { monotonicMs } from "../monotonic.ts";
import { errorMessage } from "../domain/error-message.ts";

/**
 * `GET /metrics` on the network, for a scraper that shows a bearer token: the page's server and certificate, at a port of its own, so
 * that nothing of the page can be reached by it. Off unless it is configured; what is wrong with it costs this door alone.
 */

/** As long as 128 bits in hexadecimal digits. */
const LEAST_TOKEN = 32;
/** Wrong tokens of one sender; then nothing of it is looked at for a while, right or wrong. */
const WRONG = { per_s: 1 / 60, burst: 5 };
/** A scraper asks every 10 s, several may. */
const ASKED = { per_s: 5, burst: 50 };
const WAIT_S = 60;

interface ScrapeSetting {
  readonly port: number;
  /** Read anew at each request, so that a new token needs no restart. Throws where its file can't be used. */
  readonly token: () => string;
  readonly certificate: () => Promise<PageCertificate>;
  readonly control: Pick<AgentControl, "status" | "counts">;
}

export interface ScrapeListener {
  readonly state: NonNullable<PageAccess["scraped"]>;
  close(): void;
}

/** Never rejects: why it can't listen stands in its state. */
export async function openScrape(setting: ScrapeSetting): Promise<ScrapeListener> {
  const mono = monotonicMs;
  const gate = { setting, mayAsk: createRate(ASKED, mono), wrong: wrongTokens(mono) };
  try {
    tokenIn(setting);
    const { key, cert } = await setting.certificate();
    const server = secureServer({ key, cert }, (request, response) => {
      void answered(gate, request, response).catch(() => response.destroy());
    });
    const port = await server.listen({ port: setting.port });
    return { state: { port, trouble: "" }, close: server.close };
  } catch (error) {
    const trouble = errorMessage(error);
    return { state: { port: setting.port, trouble }, close: () => undefined };
  }
}

interface Gate {
  readonly setting: ScrapeSetting;
  readonly mayAsk: (sender: string) => boolean;
  readonly wrong: ReturnType<typeof wrongTokens>;
}

type Refused = readonly [status: number, headers: Readonly<Record<string, string>>];

async function answered(gate: Gate, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const refused = refusalOf(gate, request);
  if (refused !== null) {
    const [status, headers] = refused;
    response.writeHead(status, { ...headers, Connection: "close", "Content-Length": 0 }).end();
    return;
  }
  const { control } = gate.setting;
  const metrics = metricsOf(control.status(), control.counts(), await processFigures());
  const body = prometheusText(metrics);
  const headers = { "Content-Type": "text/plain; version=0.0.4; charset=utf-8", "Cache-Control": "no-store" };
  response.writeHead(200, { ...headers, "Content-Length": Buffer.byteLength(body) }).end(body);
}

/** Who may not look; what else there is at this door is told to who may. */
function refusalOf({ setting, mayAsk, wrong }: Gate, request: IncomingMessage): Refused | null {
  const sender = senderOf(request.socket.remoteAddress);
  if (!mayAsk(sender) || wrong.isLocked(sender)) return [429, { "Retry-After": WAIT_S.toString() }];
  if (!holdsToken(setting, request)) {
    wrong.note(sender);
    return [401, { "WWW-Authenticate": "Bearer" }];
  }
  if (request.url !== "/metrics") return [404, {}];
  return request.method === "GET" ? null : [405, { Allow: "GET" }];
}

/** A sender whose allowance of wrong tokens is used up waits until it grows again. */
function wrongTokens(mono: () => number) {
  const mayBeWrong = createRate(WRONG, mono);
  const locked = new Map<string, number>();
  return {
    isLocked: (sender: string) => (locked.get(sender) ?? 0) > mono(),
    note(sender: string): void {
      if (mayBeWrong(sender)) return;
      remember(locked, sender, mono() + WAIT_S * 1000);
    },
  };
}

function holdsToken(setting: ScrapeSetting, { headers: { authorization = "" } }: IncomingMessage): boolean {
  const [, shown] = /^Bearer (\S+)$/i.exec(authorization) ?? [];
  return shown !== undefined && timingSafeEqual(hashOf(shown), hashOf(tokenIn(setting)));
}

function tokenIn({ token }: ScrapeSetting): string {
  const text = token();
  if (text.length < LEAST_TOKEN)
    throw new Error(`the token of metrics.token_file has fewer than ${LEAST_TOKEN} characters: make a longer one`);
  return text;
}

/** Of one length, whatever was typed. */
function hashOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
